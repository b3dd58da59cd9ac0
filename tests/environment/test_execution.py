"""Running what the agent wrote: everything it printed, how it ended and what it used are told, and its limits hold."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from support.acting import content, execute, executing, reading, steps_of, writing

from mlagentbench import Environment
from mlagentbench.environment.watch import Silence


def test_a_script_runs_in_the_workspace_and_its_files_stay(env: Environment) -> None:
    said = execute(
        env, "import os; print(open('train.csv').readline().strip()); open('out.txt', 'w').write('made')"
    )
    assert said.ok and said.text.startswith("id,speed,angle,wind,distance\n[exit status 0; ")
    assert content(env, "out.txt") == "made"
    assert [change.path for change in env.history[-2].changes] == ["out.txt"]


def test_time_and_memory_that_were_used_are_told_and_kept(env: Environment) -> None:
    said = execute(
        env,
        "data = bytearray(60_000_000); data[::4096] = b'x' * len(data[::4096])\nfor _ in range(10**6): pass",
    )
    assert re.search(r"\[exit status 0; [\d.]+ s wall, [\d.]+ s CPU, [\d.]+ MB peak memory\]$", said.text)
    assert said.execution is not None
    assert said.execution.wall_seconds > 0 and said.execution.cpu_seconds > 0
    assert 55_000_000 < said.execution.peak_memory < 300_000_000


@pytest.mark.parametrize("status", [1, 7, 255])
def test_on_failure_both_streams_and_the_exit_status_are_told(env: Environment, status: int) -> None:
    said = execute(env, f"import sys; print('out'); print('err', file=sys.stderr); sys.exit({status})")
    assert not said.ok
    assert "out\n" in said.text and "err\n" in said.text and f"[exit status {status};" in said.text


def test_a_traceback_is_told_with_what_was_printed_before_it(env: Environment) -> None:
    said = execute(env, "print('before', flush=True)\nraise ValueError('of x')")
    assert not said.ok and said.text.index("before") < said.text.index("ValueError: of x")


def test_the_two_streams_keep_the_order_in_which_they_were_written(env: Environment) -> None:
    said = execute(
        env,
        "import sys\nfor i in range(200):\n    print(i, file=(sys.stdout, sys.stderr)[i % 2], flush=True)",
    )
    assert said.text.splitlines()[:-1] == [str(i) for i in range(200)]


def test_a_signal_that_ended_it_is_told(env: Environment) -> None:
    said = execute(env, "import os; print('going', flush=True); os.kill(os.getpid(), 11)")
    assert not said.ok and "going" in said.text and "killed by signal 11" in said.text


def test_progress_bars_are_shown_as_a_terminal_would_show_them_last(env: Environment) -> None:
    said = execute(
        env,
        "import sys\nfor i in range(101):\n    sys.stderr.write(f'\\r{i:3d}%|' + '#' * i); sys.stderr.flush()\n"
        "sys.stderr.write('\\n')\nprint('\\x1b[31mred\\x1b[0m')\nprint('dos\\r')\n",
    )
    assert said.text.splitlines()[:-1] == ["100%|" + "#" * 100, "red", "dos"]


def test_a_progress_bar_without_newline_over_a_full_pipe_ends(env: Environment) -> None:
    said = execute(
        env,
        "import sys\nfor i in range(40_000):\n    sys.stderr.write(f'\\rstep {i}'); sys.stdout.write('.')\n"
        "sys.stdout.write('\\nend\\n')",
    )
    assert said.ok and "end" in said.text


def test_of_a_long_output_head_and_tail_are_shown_and_all_of_it_is_kept(env: Environment) -> None:
    said = execute(env, "print('BEGIN')\nfor i in range(50_000): print('line', i)\nprint('END')")
    assert said.text.startswith("BEGIN\nline 0\n") and "\nline 49999\nEND\n[exit status 0;" in said.text
    assert len(said.text) < 21_000
    left_out = re.search(r"\[… ([\d,]+) characters left out here …\]", said.text)
    kept = (env.folder.outputs / said.output).read_text()
    assert kept == "BEGIN\n" + "".join(f"line {i}\n" for i in range(50_000)) + "END\n"
    assert left_out is not None
    shown = said.text.replace(f"\n{left_out[0]}\n", "").rpartition("[exit")[0]
    assert int(left_out[1].replace(",", "")) == len(kept) - len(shown)


def test_of_one_endless_line_head_and_tail_are_shown_too(env: Environment) -> None:
    said = execute(env, "print('BEGIN' + 'x' * 300_000 + 'END')")
    assert said.text.startswith("BEGINxxx") and "xxxEND\n[exit" in said.text and len(said.text) < 21_000


def test_a_short_output_leaves_no_file_behind(env: Environment) -> None:
    said = execute(env, "print('short')")
    assert said.output == "" and list(env.folder.outputs.iterdir()) == []


def test_bytes_that_are_not_text_are_shown_as_far_as_they_can_be(env: Environment) -> None:
    said = execute(env, "import sys; sys.stdout.buffer.write(b'a\\xff\\x00\\x07\\xe2\\x82b\\n')")
    assert said.ok and said.text.startswith("a\ufffd\ufffdb\n")
    assert steps_of(env.folder.path)[-1].observation == said


def test_output_is_seen_live_while_the_script_still_runs(open_env: Callable[..., Environment]) -> None:
    seen: list[str] = []

    class Watching(Silence):
        """Answers the script, which waits for it: so what it printed was seen before it ended."""

        def output(self, text: str) -> None:
            seen.append(text)
            if "waiting" in text:
                (env.folder.workspace / "answer").write_text("seen")

    env = open_env(watch=Watching(), limits={"execution_time": 20})
    said = execute(
        env,
        "import os, time\nprint('waiting', flush=True)\n"
        "while not os.path.exists('answer'): time.sleep(0.01)\nprint('answered')",
    )
    assert said.ok and "".join(seen) == "waiting\nanswered\n"


def test_a_script_gets_an_empty_input_and_a_bare_environment(
    open_env: Callable[..., Environment], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    env = open_env(seed=17)
    said = execute(
        env, "import os, sys; print(repr(sys.stdin.read()), os.environ['SEED'], sorted(os.environ))"
    )
    assert said.ok and said.text.startswith("'' 17 [") and "KEY" not in said.text


@pytest.mark.parametrize("script", ["missing.py", ".", "train.csv/x.py", ""])
def test_a_script_that_is_not_there_is_refused_in_words_and_nothing_runs(
    env: Environment, script: str
) -> None:
    said = env.step(executing(script))
    assert not said.ok and said.execution is None and "status" not in said.text


class TestLimitsOfOneExecution:
    def test_time(self, open_env: Callable[..., Environment]) -> None:
        env = open_env(limits={"execution_time": 0.5})
        said = execute(env, "print('started', flush=True)\nwhile True: pass")
        assert not said.ok and "started" in said.text
        assert "stopped: it ran longer than the limit of 0.50 s" in said.text
        assert execute(env, "print('next')").ok

    def test_output(self, open_env: Callable[..., Environment]) -> None:
        env = open_env(limits={"output": 100_000, "execution_time": 60})
        said = execute(env, "while True: print('y' * 1000)")
        assert not said.ok and "printed more than the limit of 100 KB" in said.text
        assert (env.folder.outputs / said.output).stat().st_size <= 1_000_000

    def test_memory(self, open_env: Callable[..., Environment]) -> None:
        env = open_env(limits={"memory": 100_000_000, "execution_time": 60})
        said = execute(
            env,
            "import time\nkept = []\nwhile True:\n    kept.append(bytearray(b'x') * 10_000_000); time.sleep(0.01)",
        )
        assert not said.ok and (
            "more memory than the limit of 100 MB" in said.text or "MemoryError" in said.text
        )
        assert execute(env, "print('next')").ok

    def test_disk(self, open_env: Callable[..., Environment]) -> None:
        env = open_env(limits={"disk": 20_000_000, "execution_time": 60})
        said = execute(
            env,
            "import time\nfor i in range(2000):\n    open(f'part{i}', 'wb').write(bytes(1_000_000)); time.sleep(0.005)",
        )
        assert not said.ok and ("limit of 20 MB" in said.text or "OSError" in said.text)

    def test_processes(self, open_env: Callable[..., Environment]) -> None:
        env = open_env(limits={"processes": 20, "execution_time": 30})
        said = execute(
            env,
            "import os, time\nfor i in range(200):\n    if os.fork() == 0:\n        time.sleep(60); os._exit(0)\n"
            "time.sleep(60)",
        )
        assert not said.ok and ("limit of 20" in said.text or "BlockingIOError" in said.text)

    def test_nothing_of_it_outlives_the_step(self, open_env: Callable[..., Environment]) -> None:
        """A daemon that left its session and its parents is gone: its counter stands still, step after step."""
        env = open_env()
        said = execute(
            env,
            "import os, sys, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
            "        for fd in (0, 1, 2): os.close(fd)\n        n = 0\n        while True:\n            n += 1\n"
            "            open('counter', 'w').write(str(n))\n    os._exit(0)\n"
            "while not os.path.exists('counter'): time.sleep(0.01)\nprint('daemon counts')",
        )
        assert said.ok, said.text
        first = content(env, "counter")
        execute(env, "for _ in range(10**6): pass")
        assert content(env, "counter") == first
        assert env.step(reading("counter")).ok

    def test_a_step_that_was_stopped_is_recorded_like_any_other(
        self, open_env: Callable[..., Environment]
    ) -> None:
        env = open_env(limits={"execution_time": 0.3})
        env.step(
            writing(
                "loop.py", "open('half.txt', 'w').write('half'); print('x', flush=True)\nwhile True: pass"
            )
        )
        said = env.step(executing("loop.py"))
        step = steps_of(env.folder.path)[-1]
        assert step.observation == said and said.execution is not None
        assert "0.30 s" in said.execution.limit and said.execution.exit_status is None
        assert [change.path for change in step.changes] == ["half.txt"]
