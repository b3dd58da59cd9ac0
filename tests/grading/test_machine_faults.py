"""A fault of the machine during grading is no verdict: the run stays ungraded and can be graded again."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

import pytest
from support.acting import play, submitting, writing

from mlagentbench import experiment, grade, resume
from mlagentbench.errors import MachineFaultError
from mlagentbench.evaluation.profile import make_profile
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import read_grades

TASK = """
name = "echo"
title = "Say numbers"
modality = "numbers"
submission = "model.py"
entry = "train.py"
requirements = []
metric = { name = "share right", goal = "maximize", ceiling = 1.0 }
program = { time = "1m" }
variants = { mini = { description = "Ten numbers." } }
"""
PREPARE = """
def prepare(variant, public, private, seed):
    (public / "seen.txt").write_text("1")
    (private / "inputs").mkdir()
    (private / "inputs" / "numbers.txt").write_text("3")
"""
INFER = """
import sys
from pathlib import Path
sys.path.insert(0, ".")
import model
model.answer(Path(sys.argv[1]), Path(sys.argv[2]))
"""
GRADE = """
import os, signal
from pathlib import Path

def grade(submission, private):
    if Path(__file__).with_name("kill-the-grader").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    if Path(__file__).with_name("grader-writes").exists():
        (submission.parent / "aside").write_bytes(bytes(60_000_000))
    return float((submission / "out.txt").read_text())
"""
STARTER = "def answer(inputs, outputs): (outputs / 'out.txt').write_text('0.5')\n"
GOOD = "def answer(inputs, outputs): (outputs / 'out.txt').write_text('0.9')\n"
LARGE = """
def answer(inputs, outputs):
    (outputs / 'large.bin').write_bytes(bytes(60_000_000))
    (outputs / 'out.txt').write_text('0.9')
"""
LARGE_FOR_A_MOMENT = """
import os
def answer(inputs, outputs):
    descriptor = os.open(outputs / 'large.bin', os.O_RDWR | os.O_CREAT)
    try:
        os.posix_fallocate(descriptor, 0, 60_000_000)
    finally:
        os.unlink(outputs / 'large.bin')
    (outputs / 'out.txt').write_text('0.9')
"""
MANY = """
def answer(inputs, outputs):
    for number in range(1500):
        (outputs / f'{number}.txt').write_text('')
    (outputs / 'out.txt').write_text('0.9')
"""
WAITS = """
import sys, time
from pathlib import Path
def answer(inputs, outputs):
    (outputs / 'out.txt').write_text('0.9')
    while 'WAIT' in Path(sys.argv[0]).read_text():
        time.sleep(0.01)
"""


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "echo"
    (folder / "starter").mkdir(parents=True)
    files = {
        "task.toml": TASK,
        "prepare.py": PREPARE,
        "infer.py": INFER,
        "grade.py": GRADE,
        "problem.md": "Edit model.py.",
        "starter/model.py": STARTER,
        "starter/train.py": "print('nothing to train')\n",
    }
    for name, content in files.items():
        (folder / name).write_text(content)
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A file system of its own, of the size that is asked for; asked again, it gets the new size."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = False

    def sized(options: str) -> Path:
        nonlocal mounted
        again = "remount," if mounted else ""
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"{again}{options}", "none", folder], capture_output=True
        )
        if done.returncode:
            pytest.skip(f"no small file system can be made here: {done.stderr.decode().strip()}")
        mounted = True
        return folder

    yield sized
    if mounted:
        subprocess.run(["umount", "--lazy", folder], check=True)


def only_run(runs: Path) -> RunFolder:
    (found,) = runs.glob("*/*/*/*/run.json")
    return RunFolder.open(found.parent)


def assert_left_ungraded(runs: Path, fault: MachineFaultError) -> RunFolder:
    folder = only_run(runs)
    assert f"mlagentbench grade {folder.path}" in str(fault), str(fault)
    assert read_grades(folder) == {}
    assert make_profile(folder).failure.mode == "infrastructure"
    return folder


@pytest.mark.parametrize(
    ("model", "size", "room", "told"),
    [
        (LARGE, "size=40m", "size=400m", "free on the disk"),
        (LARGE_FOR_A_MOMENT, "size=40m", "size=400m", "free on the disk"),
        (MANY, "size=400m,nr_inodes=900", "size=400m,nr_inodes=90000", "more files"),
    ],
)
def test_a_disk_that_is_full_while_the_program_runs_leaves_the_run_ungraded(
    task: Path, small_disk: Callable[[str], Path], model: str, size: str, room: str, told: str
) -> None:
    runs = small_disk(size)
    with pytest.raises(MachineFaultError, match=told) as raised:
        play(task, [writing("model.py", model), submitting()], runs)
    folder = assert_left_ungraded(runs, raised.value)
    small_disk(room)
    assert grade(folder.path).score == 0.9
    assert resume(folder.path).grade is not None


def test_a_disk_that_is_full_while_the_grader_writes_leaves_the_run_ungraded(
    task: Path, small_disk: Callable[[str], Path]
) -> None:
    (task / "grader-writes").touch()
    runs = small_disk("size=40m")
    with pytest.raises(MachineFaultError, match="No space left on device") as raised:
        play(task, [writing("model.py", GOOD), submitting()], runs)
    folder = assert_left_ungraded(runs, raised.value)
    small_disk("size=400m")
    assert grade(folder.path).score == 0.9


def test_a_disk_that_is_full_while_the_baseline_is_measured_leaves_the_run_ungraded(
    task: Path, small_disk: Callable[[str], Path]
) -> None:
    (task / "starter" / "train.py").write_text("open('weights', 'wb').write(bytes(60_000_000))\n")
    runs = small_disk("size=40m")
    with pytest.raises(MachineFaultError, match="free on the disk") as raised:
        play(task, [writing("model.py", GOOD), submitting()], runs)
    folder = assert_left_ungraded(runs, raised.value)
    small_disk("size=400m")
    verdict = grade(folder.path)
    assert verdict.baseline is not None and verdict.success


def kill_the_program(runs: Path, number: int) -> None:
    """Kill what runs the hidden inputs as soon as it has written something, as the system does when memory is short."""
    deadline = time.monotonic() + 60
    while not list(runs.glob("*/*/*/*/scratch/grading-*/outputs/out.txt")):
        assert time.monotonic() < deadline, "the program did not start"
        time.sleep(0.01)
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "comm").read_text().startswith("python"):
                arguments = (folder / "cmdline").read_bytes().split(b"\0")
                if any(part.endswith(b"/infer.py") for part in arguments[1:2]) and _descends(folder.name):
                    os.kill(int(folder.name), number)
        except OSError:
            continue


def _descends(pid: str) -> bool:
    while pid not in ("0", "1"):
        if pid == str(os.getpid()):
            return True
        pid = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()[1]
    return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_program_that_is_killed_from_outside_leaves_the_run_ungraded(
    task: Path, runs: Path, number: int, backend: str
) -> None:
    (task / "infer.py").write_text(INFER + "# WAIT\n")
    killer = threading.Thread(target=kill_the_program, args=(runs, number))
    killer.start()
    with pytest.raises(MachineFaultError, match=f"killed by signal {number:d}") as raised:
        play(task, [writing("model.py", WAITS), submitting()], runs, sandbox=backend)
    killer.join()
    folder = assert_left_ungraded(runs, raised.value)
    (task / "infer.py").write_text(INFER)
    assert grade(folder.path).score == 0.9


def test_a_grader_that_is_killed_leaves_the_run_ungraded_and_resume_grades_it(task: Path, runs: Path) -> None:
    (task / "kill-the-grader").touch()
    with pytest.raises(MachineFaultError, match="grader was killed by signal 9") as raised:
        play(task, [writing("model.py", GOOD), submitting()], runs)
    folder = assert_left_ungraded(runs, raised.value)
    (task / "kill-the-grader").unlink()
    again = resume(folder.path).grade
    assert again is not None and again.score == 0.9


def test_a_grader_that_cannot_be_started_leaves_the_run_ungraded(task: Path, runs: Path) -> None:
    done = play(task, [writing("model.py", GOOD), submitting()], runs)
    (done.folder / "grades.json").unlink()
    faults = 0
    with few_descriptors() as held:
        while held and not (done.folder / "grades.json").exists():
            held.pop().close()
            try:
                grade(done.folder)
            except OSError:
                continue
            except MachineFaultError:
                faults += 1
    assert faults
    assert [each.score for each in read_grades(RunFolder(done.folder)).values()] == [0.9]


def _highest_descriptor() -> int:
    return max(int(path.name) for path in Path("/proc/self/fd").iterdir())


@contextmanager
def few_descriptors() -> Iterator[list[FileIO]]:
    """All that this process may open are open; closing one of these makes room for one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    held: list[FileIO] = []
    resource.setrlimit(resource.RLIMIT_NOFILE, (_highest_descriptor() + 60, hard))
    try:
        while True:
            try:
                held.append(FileIO(os.devnull))
            except OSError:
                break
        yield held
    finally:
        for each in held:
            each.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("def answer(inputs, outputs): raise SystemExit(3)\n", "exit status 3"),
        ("def answer(inputs, outputs): pass\n", "out.txt"),
        ("def answer(inputs, outputs): print('No space left on device'); 1 / 0\n", "exit status 1"),
        ("def answer(inputs, outputs): hold = bytearray(3 * 10**8); hold[::4096] = hold[::4096]\n", "memory"),
        ("import os\ndef answer(inputs, outputs): os.kill(os.getpid(), 11)\n", "signal 11"),
    ],
)
def test_what_the_program_does_itself_is_a_verdict(task: Path, runs: Path, model: str, told: str) -> None:
    limits = {"memory": 200_000_000, "disk": 10_000_000, "files": 1000}
    verdict = play(task, [writing("model.py", model), submitting()], runs, limits=limits).grade
    assert verdict is not None and not verdict.valid and told in verdict.reason


def test_an_experiment_holds_such_a_run_back_and_grades_it_when_started_again(
    task: Path, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        json.dumps({"name": "faulty", "tasks": [{"task": str(task)}], "agents": ["starter"], "runs": 1})
    )
    (task / "kill-the-grader").touch()
    first = experiment(plan, folder=tmp_path / "runs")
    assert [each.state for each in first.outcomes] == ["held"]
    folder = only_run(tmp_path / "runs")
    assert read_grades(folder) == {} and "died" not in folder.events_file.read_text()
    (task / "kill-the-grader").unlink()
    again = experiment(plan, folder=tmp_path / "runs")
    assert [each.state for each in again.outcomes] == ["ended"]
    assert only_run(tmp_path / "runs").path == folder.path
    assert [each.score for each in read_grades(folder).values()] == [0.5]
