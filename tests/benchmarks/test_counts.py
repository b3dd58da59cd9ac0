"""What a step costs, in counts that no busy machine can change: flushes, folders listed, bytes, modules loaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from copying_way import CopyingWay
from fifty import mixed_steps
from measuring import on_disk, stat_pass
from places import Ready
from steps import KINDS, cycle, take
from tiny_task import SCRIPT

from mlagentbench import Action, Environment
from mlagentbench.record import log
from mlagentbench.sandbox import watcher

Count = Callable[[Callable[[], object]], int]

HEAVY = {
    *("asyncio", "concurrent.futures", "http.client", "logging", "numpy", "pip", "rich", "ssl"),
    *("mlagentbench.evaluation", "mlagentbench.grading.grader", "mlagentbench.model.hosted"),
}
"""What the way to the first action has no need of."""


@pytest.fixture
def flushes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every descriptor that is flushed to the disk from now on."""
    flushed: list[int] = []
    for module, name in ((os, "fsync"), (os, "fdatasync"), (log, "_sync")):
        monkeypatch.setattr(module, name, flushed.append)
    return flushed


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_that_executes_nothing_scans_nothing(
    kind: str, ready: Ready, started: Environment, count_listings: Count
):
    *before, action = _up_to(ready, kind)
    for step in before:
        take(started, step)
    assert count_listings(lambda: take(started, action)) == (1 if kind == "List Files" else 0)


def test_a_step_that_executes_scans_each_folder_once(
    started: Environment, count_listings: Count, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(watcher, "_FIRST_COUNT", 3600.0)  # its own count of files is due after a while only
    folders = 1 + sum(path.is_dir() for path in started.folder.workspace.rglob("*"))
    execute = Action("Execute Script", {"script_name": SCRIPT})
    assert count_listings(lambda: take(started, execute)) == folders


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_flushed_once_and_what_it_wrote_once_more(
    kind: str, ready: Ready, started: Environment, flushes: list[int]
):
    for step in cycle(ready.shape):
        take(started, step)
    *before, action = _up_to(ready, kind)
    for step in before:
        take(started, step)
    flushes.clear()
    take(started, action)
    assert len(flushes) == (2 if kind in ("Write File", "Append File") else 1)


def test_a_step_records_no_more_later_than_early(ready: Ready, started: Environment):
    sizes: list[int] = []
    for _ in range(25):
        before = started.folder.events_file.stat().st_size
        for step in cycle(ready.shape):
            take(started, step)
        sizes.append(started.folder.events_file.stat().st_size - before)
    assert max(sizes) - min(sizes) < 200, "lines differ by more than their numbers"


def test_fifty_steps_leave_on_disk_what_they_changed(ready: Ready):
    for runs, actions in (("nothing", []), ("fifty", mixed_steps(ready.shape.inner))):
        env = ready.start(runs)
        for action in actions:
            take(env, action)
        env.close()
    nothing, fifty = ready.folder / "nothing", ready.folder / "fifty"
    assert stat_pass(fifty) - stat_pass(nothing) < 80, (
        "one object for each file and folder that a step changed"
    )
    assert on_disk(fifty) - on_disk(nothing) < 5 * ready.shape.size, "fifty copies would take ten times that"


def test_the_copying_way_copies_everything_each_time(ready: Ready, tmp_path: Path):
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "data.txt").write_text("x" * 1_000)
    (workspace / SCRIPT).write_text("print('hello')\n")
    way = CopyingWay(workspace, tmp_path / "log", ready.interpreter.python)
    told = way.step(Action("Execute Script", {"script_name": SCRIPT}))
    way.step(Action("Append File", {"file_name": "data.txt", "content": "y" * 24}))
    assert told == "hello\n"
    assert way.copied == 1_015 + 1_039
    trace = json.loads((tmp_path / "log" / "trace.json").read_text())
    assert [step["action"]["name"] for step in trace["steps"]] == ["Execute Script", "Append File"]


def test_nothing_heavy_is_loaded_on_the_way_to_the_first_action(ready: Ready, tmp_path: Path):
    (tmp_path / "telling.py").write_text(
        "import json, os, sys\n"
        "class Telling:\n"
        "    def run(self, env):\n"
        "        print(json.dumps(sorted(sys.modules)), file=sys.__stderr__)\n"
    )
    argv = [
        str(Path(sys.executable).with_name("mlagentbench")),
        "run",
        str(ready.task),
        "-a",
        "telling:Telling",
    ]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    ended = subprocess.run(argv, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    (line,) = (line for line in ended.stderr.splitlines() if line.startswith("["))
    loaded = set(json.loads(line))
    assert "mlagentbench.environment.environment" in loaded
    assert loaded & HEAVY == set()


def _up_to(ready: Ready, kind: str) -> list[Action]:
    steps = list(cycle(ready.shape))
    return steps[: [step.name for step in steps].index(kind) + 1]
