"""The interpreter that stays: state lasts, crashes are told, and between calls nothing of it runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.acting import content, execute, listing, repl

from mlagentbench import Environment
from mlagentbench.environment import Environment as Env
from mlagentbench.environment.making import recorded_setup
from mlagentbench.record.folder import RunFolder
from mlagentbench.workspace import read as read_snapshot

ANEW = "[The interpreter was started anew; what was defined in it before is gone.]"


def test_names_imports_and_the_current_folder_last_from_call_to_call(env: Environment) -> None:
    assert env.step(repl("import math\nx = 40\ndef more(n): return n + 2")).text == "[no output]"
    assert env.step(repl("more(x)")).text == "42"
    assert env.step(repl("math.floor(2.5)")).text == "2"
    assert env.step(
        repl("import os; os.mkdir('inner'); os.chdir('inner'); open('f.txt', 'w').write('here') and None")
    ).ok
    assert env.step(repl("open('f.txt').read()")).text == "'here'"
    assert content(env, "inner/f.txt") == "here"


def test_a_last_expression_is_shown_and_none_is_not(env: Environment) -> None:
    assert env.step(repl("a = 1\na")).text == "1"
    assert env.step(repl("None")).text == "[no output]"
    assert env.step(repl("for i in range(3):\n    print(i)")).text == "0\n1\n2"
    assert env.step(repl("")).ok


def test_an_error_is_told_as_a_traceback_and_the_state_stays(env: Environment) -> None:
    env.step(repl("x = 1"))
    said = env.step(repl("print('before')\ny = 2\nraise ValueError('of y')"))
    assert not said.ok and "before" in said.text and said.text.rstrip().endswith("ValueError: of y")
    assert "repl_driver" not in said.text and "_execute" not in said.text
    assert env.step(repl("x + y")).text == "3"
    syntax = env.step(repl("def f(:"))
    assert not syntax.ok and "SyntaxError" in syntax.text
    assert env.step(repl("x + y")).text == "3"


def test_exit_and_interrupts_are_survived(env: Environment) -> None:
    env.step(repl("x = 5"))
    assert not env.step(repl("import sys; sys.exit(3)")).ok
    assert not env.step(repl("raise KeyboardInterrupt")).ok
    assert not env.step(repl("sys.stdout.close(); 1/0")).ok
    assert env.step(repl("sys.stdout = sys.__stdout__ = open(1, 'w', closefd=False); print(x)")).ok


def test_a_crash_is_told_and_the_next_call_starts_anew_and_says_so(env: Environment) -> None:
    env.step(repl("x = 5"))
    crashed = env.step(repl("import os; print('last words', flush=True); os._exit(9)"))
    assert not crashed.ok
    assert "last words" in crashed.text and "[exit status 9;" in crashed.text and "has ended" in crashed.text
    anew = env.step(repl("'x' in globals()"))
    assert anew.text == f"{ANEW}\nFalse"
    assert env.step(repl("2 + 2")).text == "4"


def test_a_call_that_takes_too_long_is_stopped_and_the_next_one_starts_anew(
    open_env: Callable[..., Environment],
) -> None:
    env = open_env(limits={"execution_time": 1.0})
    said = env.step(repl("print('looping', flush=True)\nwhile True: pass"))
    assert not said.ok and "looping" in said.text and "longer than the limit of 1.00 s" in said.text
    assert env.step(repl("1 + 1")).text == f"{ANEW}\n2"


def test_the_time_limit_is_of_one_call_not_of_the_interpreters_life(
    open_env: Callable[..., Environment],
) -> None:
    env = open_env(limits={"execution_time": 1.0})
    for i in range(4):
        said = env.step(repl(f"import time; time.sleep(0.4); {i}"))
        assert said.text == str(i)


def test_between_calls_nothing_of_it_runs(env: Environment) -> None:
    """A thread that counts as fast as it can: what it had counted when the call ended is what the next steps see."""
    env.step(
        repl(
            "import threading, os\nn = 0\ndef count():\n    global n\n    while True:\n        n += 1\n"
            "        if n % 1000 == 0: os.pwrite(f, b'%12d' % n, 0)\n"
            "f = os.open('counter', os.O_RDWR | os.O_CREAT)\nthreading.Thread(target=count, daemon=True).start()\n"
            "import time\nwhile not os.path.getsize('counter'): time.sleep(0.01)"
        )
    )
    counter = env.folder.workspace / "counter"
    stopped_at = counter.read_bytes()
    assert int(stopped_at) > 0
    execute(env, "for _ in range(3 * 10**6): pass")
    assert counter.read_bytes() == stopped_at
    assert env.history[-1].changes == ()
    env.step(repl(f"while n < {int(stopped_at)} + 10**5: time.sleep(0.01)"))
    assert int(counter.read_bytes()) > int(stopped_at)


def test_output_of_a_thread_that_comes_after_the_call_is_no_harm(env: Environment) -> None:
    env.step(
        repl(
            "import threading, sys, time\ndef talk():\n    while True:\n        print('t' * 200, flush=True)\n"
            "        time.sleep(0.0005)\n"
            "threading.Thread(target=talk, daemon=True).start()"
        )
    )
    for i in range(15):
        assert env.step(repl(f"print('call {i}')")).ok
        assert env.step(listing()).ok
    env.step(repl("import os; os._exit(0)"))
    assert env.step(repl("'alive'")).text == f"{ANEW}\n'alive'"


def test_long_output_is_cut_and_kept_like_any_other(env: Environment) -> None:
    said = env.step(repl("for i in range(30_000): print('row', i)"))
    assert said.text.startswith("row 0\n") and said.text.endswith("row 29999") and len(said.text) < 21_000
    assert (env.folder.outputs / said.output).read_text().count("\n") == 30_000


def test_it_runs_in_the_sandbox_on_the_tasks_interpreter(env: Environment) -> None:
    assert "ModuleNotFoundError" in env.step(repl("import mlagentbench")).text
    assert not env.step(repl("open('train.csv', 'a')")).ok
    assert "MLAGENTBENCH" not in env.step(repl("import os; sorted(os.environ)")).text


def test_input_is_empty_and_the_commands_cannot_be_read_from_it(env: Environment) -> None:
    assert "EOFError" in env.step(repl("input()")).text
    assert env.step(repl("import sys; sys.stdin.read()")).text == "''"


def test_after_a_resume_it_starts_anew_and_says_so(env: Environment, runs: Path) -> None:
    env.step(repl("x = 1"))
    folder = env.folder.path
    env.suspend()
    again = Env(recorded_setup(RunFolder.open(folder), replays=False))
    again.reset()
    assert again.step(repl("'x' in globals()")).text == f"{ANEW}\nFalse"
    again.suspend()


def test_a_run_that_never_used_it_is_not_told_that_it_started_anew(env: Environment) -> None:
    env.step(listing())
    folder = env.folder.path
    env.suspend()
    again = Env(recorded_setup(RunFolder.open(folder), replays=False))
    again.reset()
    assert again.step(repl("1")).text == "1"
    again.suspend()


def test_a_change_through_mapped_memory_is_in_the_snapshot(env: Environment) -> None:
    """Writing to a mapped page that is dirty already changes neither the size nor the times of its file."""
    env.step(
        repl(
            "import mmap; f = open('m', 'w+b'); f.write(b'a' * 4096); f.flush(); m = mmap.mmap(f.fileno(), 0)"
        )
    )
    env.step(repl("m[0:1] = b'b'"))
    env.step(repl("m[0:1] = b'c'"))
    assert content(env, "m")[0] == "c"
    kept = read_snapshot(env.folder.store(), env.history[-1].snapshot, "m", 10_000)
    assert kept[:1] == b"c"
