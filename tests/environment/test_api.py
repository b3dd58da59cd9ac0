"""The documented way through an environment, and what is said to whoever leaves it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.acting import events_of, executing, listing, submitting, writing

import mlagentbench
from mlagentbench import Action, Environment, Grade, Observation, make
from mlagentbench.errors import SandboxUnavailableError, UsageError
from mlagentbench.record.events import RunEnded
from mlagentbench.record.grades import read_grades
from mlagentbench.record.summary import Summary


def test_make_reset_step_grade_close(tiny_task: Path, runs: Path) -> None:
    env = make(tiny_task, variant="mini", seed=3, limits={"steps": 10}, runs=runs)
    problem = env.reset(seed=5)
    assert isinstance(problem, Observation)
    assert "submission.csv" in problem.text and "10 steps" in problem.text and "mini" in problem.text
    first = env.step(Action("List Files", {"dir_path": "."}))
    assert first.ok and str(first) == first.text
    assert env.step(executing("train.py")).ok
    grade = env.grade()
    assert isinstance(grade, Grade) and grade.valid and grade.improvement is not None
    assert not env.done, "asking for a grade does not end the run"
    assert env.grade() == grade
    folder = env.folder
    assert folder.request().seed == 5
    env.close()
    assert (folder.path / "summary.json").is_file()
    with pytest.raises(UsageError, match="reset"):
        env.step(listing())


def test_a_context_manager_ends_the_run_and_a_crash_inside_it_leaves_it_resumable(
    tiny_task: Path, runs: Path
) -> None:
    with make(tiny_task, runs=runs) as env:
        env.reset()
        folder = env.folder
    assert isinstance(events_of(folder.path)[-1], RunEnded)
    with pytest.raises(ZeroDivisionError), make(tiny_task, runs=runs) as env:
        env.reset()
        env.step(writing("kept.txt", "kept"))
        crashed = env.folder
        1 / 0  # noqa: B018
    assert not any(isinstance(event, RunEnded) for event in events_of(crashed.path))
    crashed.lock()
    crashed.unlock()


def test_a_finished_run_leaves_its_record_and_nothing_else(tiny_task: Path, runs: Path) -> None:
    with make(tiny_task, runs=runs) as env:
        env.reset()
        env.step(executing("train.py"))
        env.step(submitting())
        path = env.folder.path
    assert {entry.name for entry in path.iterdir()} - {"outputs"} == {
        "run.json", "events.jsonl", "grades.json", "summary.json", "lock", "signature.json",
    }  # fmt: skip
    assert path.relative_to(runs).parts[:3] == ("default", "ball", "own--no-model")


def test_nothing_can_be_done_before_reset_and_reset_only_once(tiny_task: Path, runs: Path) -> None:
    env = make(tiny_task, runs=runs)
    for early in (lambda: env.step(listing()), env.grade, lambda: env.folder):
        with pytest.raises(UsageError, match="reset"):
            early()
    env.close()
    env.reset()
    with pytest.raises(UsageError, match="another"):
        env.reset()
    env.suspend()


def test_grades_are_kept_by_snapshot_and_the_same_bytes_are_graded_once(tiny_task: Path, runs: Path) -> None:
    with make(tiny_task, runs=runs) as env:
        env.reset()
        assert not env.grade().valid
        env.step(executing("train.py"))
        env.grade()
        env.step(listing())
        env.grade()
        assert len(read_grades(env.folder)) == 2


@pytest.mark.parametrize(
    ("options", "error", "about"),
    [
        ({"variant": "midi"}, UsageError, "mini, full"),
        ({"sandbox": "bwarp"}, UsageError, "Did you mean bwrap"),
        ({"sandbox": "apptainer"}, SandboxUnavailableError, "apptainer"),
        ({"show_actions": ["Fly"]}, UsageError, "Fly"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    tiny_task: Path, runs: Path, options: dict[str, object], error: type[Exception], about: str
) -> None:
    with pytest.raises(error, match=about):
        make(tiny_task, runs=runs, **options)  # type: ignore[arg-type]
    assert list(runs.iterdir()) == []


def test_a_wrong_task_name_is_answered_with_the_nearest_right_one() -> None:
    with pytest.raises(UsageError, match="house-price"):
        make("hous-price")


def test_run_gives_back_where_the_run_lies_and_what_came_of_it(tiny_task: Path, runs: Path) -> None:
    made = mlagentbench.run(tiny_task, "starter", runs=runs, experiment="trial")
    assert isinstance(made.summary, Summary) and made.summary.steps == 2
    assert made.folder.is_relative_to(runs / "trial" / "ball" / "starter--no-model")
    assert made.grade is not None and made.grade.valid and not made.grade.success
    oracle = mlagentbench.run(tiny_task, "oracle", runs=runs)
    assert oracle.grade is not None and oracle.grade.success and oracle.grade.decided


def test_every_public_name_can_be_imported_and_is_documented() -> None:
    for name in mlagentbench.__all__:
        assert getattr(mlagentbench, name) is not None
        if name != "__version__":
            assert getattr(mlagentbench, name).__doc__, name
    assert Environment.__doc__ is not None
