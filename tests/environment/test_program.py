"""A program that is the agent: kept whenever its files settle, standing still meanwhile, held to the run's limits."""

from __future__ import annotations

import secrets
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.acting import content, writing
from support.killing import processes_marked

from mlagentbench import Action, Environment, Observation
from mlagentbench.environment.settling import Settling
from mlagentbench.workspace import entries

OPEN = Callable[..., Environment]
ACTIONS = ("Run Program", "Let Program Run")


@pytest.fixture
def opened(open_env: OPEN) -> OPEN:
    return lambda **options: open_env(show_actions=ACTIONS, **options)


def start(env: Environment, code: str, **rhythm: Any) -> Observation:
    """Run Python code as the agent."""
    command = f"exec python -c {shlex.quote(code)}"
    return env.step(Action("Run Program", {"command": command, "settle": 0.3, **rhythm}))


def go_on(env: Environment) -> Observation:
    return env.step(Action("Let Program Run"))


WRITES_TWICE = """
import time
for number in "first", "second":
    open(number, "w").write(number)
    print("wrote", number, flush=True)
    while not __import__("os").path.exists(f"after-{number}"):
        time.sleep(0.05)
"""


def test_each_settled_state_is_a_step_with_its_files_and_its_output(opened: OPEN, backend: str):
    env = opened(sandbox=backend)
    first = start(env, WRITES_TWICE)
    assert (first.text, first.execution) == ("wrote first", None)
    env.step(writing("after-first", ""))
    second = go_on(env)
    assert (second.text, second.execution) == ("wrote second", None)
    assert [change.path for change in env.history[-1].changes] == ["second"]
    env.step(writing("after-second", ""))
    last = go_on(env)
    assert last.ok and last.execution is not None and last.execution.exit_status == 0
    assert env.terminated, "a program that ends well has submitted what it leaves"


def test_nothing_of_it_runs_between_two_steps(opened: OPEN, backend: str):
    env = opened(sandbox=backend)
    code = """
import os, time
os.fork()
while True:
    open(f"ticks-{os.getpid()}", "a").write("x")
    time.sleep(0.01)
"""
    start(env, code, longest=0.5)
    kept = env.history[-1].snapshot
    ticks = [entry for entry in entries(env.folder.store(), kept) if entry.path.startswith("ticks")]
    assert len(ticks) == 2
    time.sleep(0.2)
    for entry in ticks:
        assert len(content(env, entry.path)) == entry.size
    go_on(env)
    assert len(env.history[-1].changes) == 2


def test_it_finds_the_problem_and_what_it_has_to_know(opened: OPEN, backend: str):
    env = opened(sandbox=backend, limits={"time": 1000}, seed=5)
    code = """
import os, sys
print(open(os.environ["MLAGENTBENCH_PROBLEM"]).read() == open("expected").read())
for name in "TASK", "SUBMISSION", "STARTS":
    print(os.environ["MLAGENTBENCH_" + name])
print(os.environ["SEED"], 0 < float(os.environ["MLAGENTBENCH_SECONDS_LEFT"]) <= 1000, repr(sys.stdin.read()))
print([name for name in os.environ if "CONTROL" in name or "MODEL" in name or "OPENAI" in name])
try:
    open(os.environ["MLAGENTBENCH_PROBLEM"], "w")
except OSError:
    print("read-only")
"""
    env.step(writing("expected", env.problem))
    told = start(env, code)
    assert told.text.startswith("True\nball@1\nsubmission.csv\n1\n5 True ''\n[]\nread-only\n"), told.text


@pytest.mark.parametrize(
    ("code", "limits", "words"),
    [
        ("import time; time.sleep(600)", {"time": 10.0}, "it ran longer than the limit of"),
        (
            "x = [bytearray(10**8) for _ in range(40)]",
            {"memory": 3 * 10**8},
            "more memory than the limit of 300 MB",
        ),
        ("while True: print('x' * 1000)", {"output": 10**6}, "it printed more than the limit of 1 MB"),
        ("open('big', 'wb').write(b'x' * 10**8)", {"disk": 5 * 10**7}, "limit of 50 MB"),
        (
            "import os, time\nfor _ in range(60):\n    os.fork() or time.sleep(600)\ntime.sleep(600)",
            {"processes": 20},
            "",
        ),
    ],
    ids=["time", "memory", "output", "disk", "processes"],
)
def test_a_limit_ends_it_and_what_it_left_is_kept(
    opened: OPEN, backend: str, code: str, limits: dict[str, Any], words: str
):
    env = opened(sandbox=backend, limits=limits)
    mark = secrets.token_hex(8)
    told = start(env, f"open('left', 'w').write('{mark}')\n{code}", settle=60)
    assert told.execution is not None and not told.ok
    assert words in told.text
    assert not env.terminated
    assert processes_marked(mark) == []
    assert "left" in {entry.path for entry in entries(env.folder.store(), env.history[-1].snapshot)}
    assert env.done == ("time" in limits)


def test_what_it_leaves_running_ends_with_it(opened: OPEN, backend: str):
    env = opened(sandbox=backend)
    mark = secrets.token_hex(8)
    daemon = f"import os, time\nif os.fork() == 0:\n    os.setsid()\n    os.fork()\n    time.sleep(600)  # {mark}\n"
    told = start(env, daemon)
    assert told.ok, told.text
    assert processes_marked(mark) == []


def test_the_end_of_the_run_ends_it(opened: OPEN, backend: str):
    env = opened(sandbox=backend, limits={"steps": 1})
    mark = secrets.token_hex(8)
    start(env, f"import time\nopen('file', 'w')\ntime.sleep(600)  # {mark}")
    assert env.done and env.truncated
    env.close()
    assert processes_marked(mark) == []


def test_one_that_is_not_there_is_told_in_a_sentence(opened: OPEN, backend: str):
    env = opened(sandbox=backend)
    told = env.step(Action("Run Program", {"command": "no-such-program --fast"}))
    assert told.execution is not None and told.execution.exit_status == 127
    assert "not found in the sandbox" in told.text and "--mount" in told.text


def test_agents_that_are_not_shown_it_cannot_start_one(env: Environment):
    assert "There is no action" in env.step(Action("Run Program", {"command": "true"})).text


def test_nothing_can_go_on_that_was_not_started(opened: OPEN):
    assert "No program is running" in go_on(opened()).text


def test_after_many_steps_files_settle_later(opened: OPEN, monkeypatch: pytest.MonkeyPatch):
    """Or a program that writes for hours would make thousands of them."""
    waited: list[float] = []

    class Noting(Settling):
        def __init__(self, workspace: Path, quiet: float, longest: float) -> None:
            waited.append(quiet)
            super().__init__(workspace, quiet, longest)

    monkeypatch.setattr("mlagentbench.environment.program.Settling", Noting)
    env = opened(limits={"steps": None})
    start(env, "open('file', 'w')\n__import__('time').sleep(600)", settle=0.3)
    env._steps = 499
    env.step(writing("file", "again"))
    env.step(Action("Run Program", {"command": "true", "settle": 0.3}))
    assert waited == [0.3, pytest.approx(0.3 * 501 / 50)]
