"""Grading every snapshot: all of them, the same content once, and nothing lost on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from support.acting import executing, play, submitting, writing
from support.histories import History
from support.runs import write_run

from mlagentbench.evaluation.grading_worker import Job, Worker
from mlagentbench.evaluation.profile import read_profile
from mlagentbench.evaluation.stepwise import grade_steps
from mlagentbench.record import RunFolder
from mlagentbench.record.grades import read_grades

STEPS = (
    writing("notes.txt", "First, the starter."),
    executing("train.py"),
    writing("notes.txt", "Now something else."),
    writing("submission.csv", "nonsense"),
    executing("train.py"),
    submitting(),
)


@pytest.fixture
def folder(tiny_task: Path, runs: Path) -> RunFolder:
    """Five different workspaces with three different submissions: none, the starter's, nonsense."""
    return RunFolder.open(play(tiny_task, list(STEPS), runs).folder)


def test_every_snapshot_has_a_verdict_and_equal_submissions_were_graded_once(folder):
    (told,) = grade_steps([folder.path], workers=2)
    assert told.problems == []
    assert (told.snapshots, told.graded, told.reused) == (5, 2, 2)
    grades = read_grades(folder)
    assert len(grades) == 5
    assert all(grade.snapshot == snapshot for snapshot, grade in grades.items())
    assert [point.valid for point in told.points] == [False, False, True, True, False, True, True]
    assert told.points[2].score == told.points[6].score
    profile = read_profile(folder)
    assert profile.every_step and profile.points == told.points
    assert told.best is not None and told.best.step == 2


def test_a_second_time_and_in_another_run_of_the_same_content_nothing_is_graded(folder, tiny_task, runs):
    grade_steps([folder.path])
    (again,) = grade_steps([folder.path])
    assert (again.graded, again.reused) == (0, 0)
    other = play(tiny_task, list(STEPS), runs, experiment="other").folder
    (told,) = grade_steps([other])
    assert (told.graded, told.reused) == (0, 4)
    assert read_profile(RunFolder.open(other)).every_step


def test_several_runs_at_once_share_what_they_have_in_common(folder, tiny_task, runs):
    other = play(tiny_task, [writing("other.txt", ""), *STEPS], runs).folder
    first, second = grade_steps([folder.path, other], workers=2)
    assert first.graded + second.graded == 2
    assert first.snapshots + second.snapshots == len(read_grades(folder)) + len(
        read_grades(RunFolder.open(other))
    )


def test_a_run_that_cannot_be_graded_is_told_and_does_not_keep_others_from_it(folder, tmp_path):
    (tmp_path / "nothing").mkdir()
    nothing, told = grade_steps([tmp_path / "nothing", folder.path])
    assert "is not a run" in nothing.problems[0]
    assert len(told.points) == 7


def test_work_on_a_folder_of_ones_own_is_told_to_have_no_grade(tmp_path):
    events = History().step("Final Answer").end().events
    own = write_run(tmp_path, "one", events, own={"folder": "/home/me/project", "wish": "Make it faster."})
    (told,) = grade_steps([own.path])
    assert "grade" in told.problems[0]


def test_a_run_that_is_being_written_is_told_and_left_alone(folder):
    folder.lock()
    try:
        (told,) = grade_steps([folder.path])
    finally:
        folder.unlock()
    assert "is being written by another process" in told.problems[0]
    assert (told.graded, told.reused) == (0, 0)


def test_a_process_that_dies_over_a_snapshot_is_told_and_the_next_one_works(folder, tmp_path):
    job = Job(
        run=folder.path, snapshot="0" * 64, key=None, sandbox=None, task=None, scratch=tmp_path / "scratch"
    )
    worker = Worker()
    os.kill(worker._process.pid, signal.SIGKILL)
    worker._process.wait()
    answer = worker.grade(job, lambda line: None)
    assert isinstance(answer, str) and "Grade it again" in answer
    assert not worker.alive
    worker.stop()
    other = Worker()
    assert "0000" in str(other.grade(job, lambda line: None))
    other.stop()


def test_it_works_from_a_script_without_a_guard(folder, tmp_path):
    """Processes are started as programs, not as copies of whoever starts them."""
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            f"""
            from mlagentbench.evaluation.stepwise import grade_steps
            (told,) = grade_steps([{str(folder.path)!r}], workers=2)
            print(len(told.points), told.problems)
            """
        )
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "7 []"
