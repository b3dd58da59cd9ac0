"""The baseline is measured, remembered, and measured again when the code that gave it changes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.acting import executing, play, submitting
from support.tasks import replace_in

from mlagentbench import Grade
from mlagentbench.grading import references
from mlagentbench.grading.grader import Grader
from mlagentbench.grading.references import (
    BASELINE_RUNS,
    Measurement,
    add_reference,
    read_references,
    this_machine,
    unmeasured,
)
from mlagentbench.sandbox import choose
from mlagentbench.task.preparation import Prepared, prepare
from mlagentbench.task.registry import load_task


class Notes(list[str]):
    """What a grader says that it measures."""


@pytest.fixture
def prepared(own_task: Path) -> Prepared:
    return prepare(load_task(own_task))


def grader(prepared: Prepared, tmp_path: Path, notes: Notes | None = None) -> Grader:
    return Grader(
        prepared, choose(), tmp_path / "scratch", progress=(notes if notes is not None else Notes()).append
    )


def test_the_starter_is_run_with_several_seeds_once(prepared: Prepared, tmp_path: Path) -> None:
    notes = Notes()
    baseline = grader(prepared, tmp_path, notes).baseline()
    assert baseline is not None and baseline.runs == BASELINE_RUNS and baseline.spread > 0
    assert len(notes) == BASELINE_RUNS
    assert grader(prepared, tmp_path, notes).baseline() == baseline
    assert len(notes) == BASELINE_RUNS, "remembered"
    kept = read_references(prepared).starter
    assert [each.seed for each in kept] == [0, 1, 2] and all(each.cpu_seconds > 0 for each in kept)


def test_it_is_measured_again_when_the_starter_changes(
    prepared: Prepared, own_task: Path, tmp_path: Path
) -> None:
    before = grader(prepared, tmp_path).baseline()
    replace_in(
        own_task / "starter" / "train.py", "self.intercept + self.slope", "1.0 + self.intercept + self.slope"
    )
    notes = Notes()
    after = grader(prepare(load_task(own_task)), tmp_path, notes).baseline()
    assert before is not None and after is not None and after.mean != before.mean
    assert len(notes) == BASELINE_RUNS


def test_it_is_measured_again_when_the_grader_changes(
    prepared: Prepared, own_task: Path, tmp_path: Path
) -> None:
    before = grader(prepared, tmp_path).baseline()
    replace_in(own_task / "grade.py", "return math.fsum", "return 2 * math.fsum")
    after = grader(prepare(load_task(own_task)), tmp_path).baseline()
    assert before is not None and after is not None and after.mean == pytest.approx(2 * before.mean)


def test_a_damaged_memory_is_measured_again(prepared: Prepared, tmp_path: Path) -> None:
    before = grader(prepared, tmp_path).baseline()
    (file,) = (path for path in (tmp_path / "cache" / "references").rglob("*.json"))
    file.write_text("{")
    assert grader(prepared, tmp_path).baseline() == before


def test_of_several_that_need_it_at_the_same_time_one_measures_and_the_others_wait(
    prepared: Prepared, tmp_path: Path
) -> None:
    notes = [Notes() for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        graders = [grader(prepared, tmp_path / str(number), each) for number, each in enumerate(notes)]
        baselines = list(pool.map(lambda each: each.baseline(), graders))
    assert baselines[0] is not None and baselines == [baselines[0]] * 3
    told = [line for each in notes for line in each]
    assert sum(line.startswith("Measuring the starter") for line in told) == BASELINE_RUNS


def test_what_another_machine_measured_in_the_same_home_folder_is_not_taken(
    prepared: Prepared, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = Measurement(score=1.0, seed=0, wall_seconds=1, cpu_seconds=1, peak_memory=1)
    add_reference(prepared, "oracle", one)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(references, "this_machine", lambda: "another processor|64|aarch64")
        assert read_references(prepared).oracle == [] and "oracle" in unmeasured(prepared)
        add_reference(prepared, "oracle", one.model_copy(update={"score": 2.0}))
    assert read_references(prepared).scores("oracle") == [1.0] and "oracle" not in unmeasured(prepared)


def test_a_machine_is_known_by_what_it_is_and_not_by_its_name_nor_by_the_cores_that_one_process_has() -> None:
    told = this_machine()
    assert platform.machine() in told and str(os.cpu_count()) in told.split("|")
    assert platform.node() not in told.split("|") and told.split("|")[0]
    pinned = "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
    program = f"{pinned}from mlagentbench.grading.references import this_machine; print(this_machine())"
    seen = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert seen.strip() == told


def test_two_processes_that_measure_the_same_seed_keep_one(prepared: Prepared) -> None:
    one = Measurement(score=1.0, seed=0, wall_seconds=1, cpu_seconds=1, peak_memory=1)
    add_reference(prepared, "starter", one)
    add_reference(prepared, "starter", one.model_copy(update={"score": 2.0}))
    assert read_references(prepared).scores("starter") == [1.0]


def test_a_starter_that_crashes_is_told_with_its_output_and_there_is_no_baseline(
    own_task: Path, runs: Path
) -> None:
    good = (own_task / "starter" / "train.py").read_text()
    (own_task / "starter" / "train.py").write_text(
        "print('before the fall')\nraise RuntimeError('as it is')\n"
    )
    from mlagentbench.record.steps import Action

    story = [
        Action("Write File", {"file_name": "train.py", "content": good}),
        executing("train.py"),
        submitting(),
    ]
    grade = play(own_task, story, runs).grade
    assert isinstance(grade, Grade) and grade.valid and grade.score is not None
    assert grade.baseline is None and grade.improvement is None and not grade.success
    (note,) = grade.notes
    assert "The starter of ball@1 crashed" in note and "before the fall" in note and "as it is" in note
