"""Tasks whose submission is a program with weights: what its grader may say, and the control run with other weights."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.acting import executing, play, submitting, writing
from support.program_task import COMPUTED, GRADE, INFER, LEARNED, WELL, program_task

from mlagentbench import run
from mlagentbench.grading import Grade


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "cache"))
    return program_task(tmp_path / "guess")


def graded(task: Path, runs: Path, model: str, train: str) -> Grade:
    actions = [writing("model.py", model), writing("train.py", train), executing("train.py"), submitting()]
    grade = play(task, actions, runs).grade
    assert grade is not None
    return grade


def test_what_comes_from_the_weights_is_a_success(task: Path, runs: Path) -> None:
    grade = graded(task, runs, LEARNED, WELL)
    assert grade.score == 1.0 and grade.success and not grade.withheld
    assert grade.notes == ("with other weights 0.1",)


def test_what_comes_out_the_same_with_other_weights_is_no_success(task: Path, runs: Path) -> None:
    grade = graded(task, runs, COMPUTED, WELL)
    assert grade.valid and grade.score == 1.0 and grade.improvement is not None and grade.improvement > 1
    assert not grade.success and not grade.decided and not any(grade.success_at.values())
    assert grade.withheld == "The weights do not matter." and grade.withheld in grade.notes


def test_the_program_finds_read_only_data_when_it_is_graded(task: Path, runs: Path, backend: str) -> None:
    infer = task / "infer.py"
    infer.write_text(INFER + "\nassert json.loads(Path('seen.json').read_text()) == [1, 2]\n")
    actions = [writing("train.py", WELL), executing("train.py"), submitting()]
    grade = play(task, actions, runs, sandbox=backend).grade
    assert grade is not None and grade.score == 1.0, grade


@pytest.mark.parametrize(
    ("train", "told"),
    [
        ("print('nothing saved')", "weights.txt"),
        ("open('weights.txt', 'w').write('heavy')", "weights.txt holds no number"),
        ("import os; os.symlink('/etc/hostname', 'weights.txt')", "weights.txt"),
    ],
)
def test_weights_that_are_none_are_refused(task: Path, runs: Path, train: str, told: str) -> None:
    infer = task / "infer.py"
    infer.write_text(INFER.replace('float(Path("weights.txt").read_text())', "3.0"))
    grade = graded(task, runs, LEARNED, train)
    assert not grade.valid and told in grade.reason


def test_a_grader_that_gives_no_verdict_is_told_as_that(task: Path, runs: Path) -> None:
    (task / "grade.py").write_text(GRADE.replace('"score"', '"points"'))
    grade = run(task, "starter", runs=runs).grade
    assert grade is not None and not grade.valid and "no verdict" in grade.reason
