"""A run whose whole process group is killed, at any instant, loses nothing that was acknowledged: it is resumed to the
same end, and nothing of it is left behind but its record."""

from __future__ import annotations

import os
import random
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.acting import (
    actions_file,
    appending,
    copying,
    executing,
    listing,
    repl,
    steps_of,
    submitting,
    undoing,
    writing,
)
from support.killing import Victim, processes_marked, start, wait_until_gone
from support.trees import tree

from mlagentbench import Action, verify
from mlagentbench.environment import Environment
from mlagentbench.environment.making import recorded_setup
from mlagentbench.record.events import RunEnded, StepTaken
from mlagentbench.record.folder import RunFolder, find_runs
from mlagentbench.record.grades import read_grades
from mlagentbench.workspace import materialise, remove_tree

KILLS = 100
BATCH = 5
READ_ONLY = {"train.csv", "test.csv"}
RECORD = {"run.json", "signature.json", "events.jsonl", "grades.json", "summary.json", "lock", "outputs"}

WORK = """
import os, sys, time
os.makedirs('made', exist_ok=True)
for i in range(int(sys.argv[1])):
    open(f'made/{sys.argv[2]}-{i}.txt', 'w').write(f'{sys.argv[2]} {i}\\n' * 50)
    print('part', i, flush=True)
    time.sleep(0.02)
open('large.bin', 'wb').write(sys.argv[2].encode() * 60_000)
if sys.argv[2] == 'talk':
    print('much\\n' * 20_000)
"""


def story() -> list[Action]:
    """Every kind of step: of the harness's own hands, of scripts, of the interpreter that stays."""
    return [
        writing("work.py", WORK),
        executing("work.py", "10", "one"),
        writing("notes.txt", "first"),
        repl("open('from-repl.txt', 'w').write('x' * 100_000)"),
        appending("notes.txt", "and second"),
        listing(),
        executing("work.py", "6", "talk"),
        copying("made", "kept"),
        writing("../outside", "refused"),
        undoing("notes.txt"),
        repl("import os; os.path.getsize('from-repl.txt')"),
        executing("train.py"),
        listing("kept"),
        submitting("Done."),
    ]


@dataclass
class Undisturbed:
    steps: list[StepTaken]
    score: float
    seconds: float


@dataclass
class Scene:
    """Where one run is made and killed; its mark is in the environment or the arguments of all its processes."""

    mark: str
    folder: Path
    task: Path

    @property
    def runs(self) -> Path:
        return self.folder / f"runs-{self.mark}"

    def run(self, die: str = "") -> Victim:
        actions = actions_file(self.folder / "actions.jsonl", story())
        return self._start("run", self.task, self.runs, actions, die=die)

    def resume(self, run: RunFolder, die: str = "") -> Victim:
        return self._start("resume", run.path, die=die)

    def _start(self, *arguments: str | Path, die: str) -> Victim:
        return start(self.mark, *arguments, die=die, errors=self.folder / "errors.txt")

    def recorded(self) -> RunFolder | None:
        """The run, if there is one yet."""
        found = find_runs([self.runs]) if self.runs.exists() else []
        assert len(found) <= 1
        return found[0] if found else None


@pytest.fixture
def scene(tiny_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """With a folder for temporary files of its own, so that whatever stays in it is seen."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    scene = Scene(str(secrets.randbelow(9 * 10**14) + 10**14), tmp_path, tiny_task)
    yield scene
    remove_tree(scene.runs) if scene.runs.exists() else None


@pytest.fixture(scope="session")
def undisturbed(tiny_task: Path, shared_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """What the same run comes to when nobody kills it, and how long it takes from start to end."""
    os.environ["MLAGENTBENCH_CACHE"] = str(shared_cache)
    times = []
    for _ in range(2):  # the first one prepares the data and measures the baseline
        scene = Scene(str(secrets.randbelow(10**14)), tmp_path_factory.mktemp("undisturbed"), tiny_task)
        began = time.monotonic()
        victim = scene.run()
        assert victim.finish() == 0, (scene.folder / "errors.txt").read_text()
        times.append(time.monotonic() - began)
    run = scene.recorded()
    assert run is not None
    return Undisturbed(steps_of(run.path), float(victim.said("grade")[0]), times[-1])


def examine(scene: Scene, acknowledged: list[str]) -> RunFolder | None:
    """What must hold after each kill: nothing of the agent's runs on, the chain is whole, nothing acknowledged is lost,
    and whoever takes the run up finds the workspace exactly as the last snapshot has it."""
    left = wait_until_gone(scene.mark)
    assert all(_still_in_the_making(command) for command in left), (
        f"processes of the killed run go on: {left}"
    )
    run = scene.recorded()
    if run is None:
        assert acknowledged == [], "steps were acknowledged, but there is no run"
        return None
    assert set(acknowledged) <= {f"{step.index} {step.snapshot}" for step in steps_of(run.path)}
    events = run.history().events
    if events and not any(isinstance(event, RunEnded) for event in events):
        env = Environment(recorded_setup(run))
        env.reset()
        snapshot = next(event.snapshot for event in reversed(events) if hasattr(event, "snapshot"))
        expected = scene.folder / "expected"
        expected.mkdir()
        materialise(run.store(), snapshot, expected)
        found = {path: data for path, data in tree(run.workspace).items() if path not in READ_ONLY}
        assert found == {path: data for path, data in tree(expected).items() if path not in READ_ONLY}
        remove_tree(expected)
        env.suspend()
    return run


def _still_in_the_making(command: str) -> bool:
    """bubblewrap itself, killed before it had built the sandbox: its child waits for it, asleep, and the next harness
    that starts removes it."""
    return command.partition(" ")[0].endswith("bwrap")


def take_to_its_end(scene: Scene, acknowledged: list[str], undisturbed: Undisturbed) -> None:
    """Resume, and find what an undisturbed run would have come to."""
    run = examine(scene, acknowledged)
    victim = scene.run() if run is None else scene.resume(run)
    assert victim.finish() == 0, (scene.folder / "errors.txt").read_text()
    acknowledged = acknowledged + victim.said("step")
    run = examine(scene, acknowledged)
    assert run is not None
    assert float(victim.said("grade")[0]) == undisturbed.score
    steps = steps_of(run.path)
    assert [step.action for step in steps] == [step.action for step in undisturbed.steps]
    assert [step.snapshot for step in steps] == [step.snapshot for step in undisturbed.steps]
    assert [step.index for step in steps] == list(range(1, len(steps) + 1))
    assert [step.observation.ok for step in steps] == [step.observation.ok for step in undisturbed.steps]
    elapsed = [step.elapsed for step in steps]
    assert elapsed == sorted(elapsed), "the clock went back"
    ended = run.history().events[-1]
    assert isinstance(ended, RunEnded) and ended.reason == "submitted"
    assert read_grades(run)[ended.snapshot].score == undisturbed.score
    checked = verify(run.path)
    assert checked.ok, checked.problems
    assert wait_until_gone(scene.mark) == [], "processes of the killed run are still there"
    assert {entry.name for entry in run.path.iterdir()} <= RECORD
    assert [entry.name for entry in (scene.folder / "tmp").iterdir()] == []
    outputs = {step.observation.output for step in steps} - {""}
    assert {entry.name for entry in run.outputs.iterdir()} == outputs


def test_what_looks_for_leftover_processes_sees_those_in_the_sandbox(scene: Scene) -> None:
    """Or else all the tests below would find nothing, whatever was left."""
    marked: list[str] = []
    victim = scene.run()
    while victim.process.poll() is None and not any("work.py" in command for command in marked):
        marked = [command for command in processes_marked(scene.mark) if not command.startswith("bwrap")]
    victim.kill_after(0)
    assert any("work.py 10 one" in command for command in marked)
    assert wait_until_gone(scene.mark) == []


@pytest.mark.parametrize("batch", range(KILLS // BATCH))
def test_killed_at_a_random_instant_and_resumed_it_comes_to_the_same_end(
    scene: Scene, undisturbed: Undisturbed, batch: int
) -> None:
    """The instants of all batches together are spread evenly over the life of a run."""
    seed = int(os.environ.get("MLAGENTBENCH_TEST_SEED") or secrets.randbelow(10**9))
    chance = random.Random(f"{seed}-{batch}")
    for kill in range(batch * BATCH, (batch + 1) * BATCH):
        instant = (kill + chance.random()) / KILLS * undisturbed.seconds
        print(f"kill {kill} after {instant:.3f} s; repeat with MLAGENTBENCH_TEST_SEED={seed}")
        victim = scene.run()
        victim.kill_after(instant)
        acknowledged = victim.said("step")
        while chance.random() < 0.4 and (run := examine(scene, acknowledged)):
            again = chance.random() * undisturbed.seconds
            print(f"and once more, {again:.3f} s into resuming")
            victim = scene.resume(run)
            victim.kill_after(again)
            acknowledged += victim.said("step")
        take_to_its_end(scene, acknowledged, undisturbed)
        remove_tree(scene.runs)
        shutil.rmtree(scene.folder / "tmp")
        (scene.folder / "tmp").mkdir()


POINTS = [
    "create",
    *(f"append:{number}" for number in (1, 2, 3, 8, 15, 16)),
    *(f"appended:{number}" for number in (1, 2, 3, 8, 15, 16)),
    *(f"put:{number}" for number in (1, 5, 9, 20)),
    *(f"absorb:{number}" for number in (1, 9, 12)),
    *(f"flush:{number}" for number in (1, 2, 5)),
    *(f"flushed:{number}" for number in (1, 2, 5)),
    *(f"rename:{number}" for number in (1, 2, 3)),
    *(f"aside:{number}" for number in (1, 2, 3)),
    "grade",
    "graded",
    "summary",
    "close-store",
]
"""Inside the making of the folder, halfway through a line of the log, between an event and its acknowledgement, in
the middle of snapshots, before and after the store is flushed, and while the run is graded and put away."""


@pytest.mark.parametrize("point", POINTS)
def test_killed_inside_the_harness_and_resumed_it_comes_to_the_same_end(
    scene: Scene, undisturbed: Undisturbed, point: str
) -> None:
    victim = scene.run(die=point)
    assert victim.finish() == -9, f"it never got to {point}: {(scene.folder / 'errors.txt').read_text()}"
    take_to_its_end(scene, victim.said("step"), undisturbed)


@pytest.mark.parametrize(
    "point", ["append:1", "appended:1", "append:2", "restore:1", "flush:1", "grade", "graded"]
)
def test_killed_while_resuming_it_can_be_resumed_again(
    scene: Scene, undisturbed: Undisturbed, point: str
) -> None:
    victim = scene.run(die="appended:9")
    assert victim.finish() == -9
    acknowledged = victim.said("step")
    for _ in range(2):
        run = examine(scene, acknowledged)
        assert run is not None
        victim = scene.resume(run, die=point)
        assert victim.finish() == -9, f"it never got to {point}: {(scene.folder / 'errors.txt').read_text()}"
        acknowledged += victim.said("step")
    take_to_its_end(scene, acknowledged, undisturbed)
