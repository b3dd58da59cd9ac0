"""The end of a run: submitted or cut off, always with a last snapshot and a verdict."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.acting import (
    events_of,
    execute,
    executing,
    listing,
    play,
    repl,
    steps_of,
    submitting,
    writing,
)

from mlagentbench import Environment, make
from mlagentbench.errors import UsageError
from mlagentbench.record.events import LimitHit, RunEnded
from mlagentbench.record.grades import read_grades


def test_submitting_ends_the_run_and_can_be_done_once(env: Environment) -> None:
    assert not env.done
    assert env.step(submitting()).ok
    assert env.done and env.terminated and not env.truncated
    with pytest.raises(UsageError, match="over"):
        env.step(submitting())
    with pytest.raises(UsageError, match="over"):
        env.step(listing())


def test_the_step_limit_cuts_the_run_off_after_exactly_that_many(
    open_env: Callable[..., Environment],
) -> None:
    env = open_env(limits={"steps": 3})
    for taken in range(3):
        assert not env.done, taken
        env.step(listing())
    assert env.done and env.truncated and not env.terminated
    with pytest.raises(UsageError, match="over"):
        env.step(listing())
    assert [(e.name, e.value) for e in events_of(env.folder.path) if isinstance(e, LimitHit)] == [
        ("steps", 3)
    ]


def test_submitting_with_the_last_step_is_submitting(open_env: Callable[..., Environment]) -> None:
    env = open_env(limits={"steps": 2})
    env.step(listing())
    env.step(submitting())
    assert env.terminated and not env.truncated


def test_refused_actions_count_as_steps(open_env: Callable[..., Environment]) -> None:
    env = open_env(limits={"steps": 2})
    env.step(writing("../x", ""))
    env.step(writing("train.csv", ""))
    assert env.truncated


def test_an_execution_is_cut_off_when_the_runs_time_is_up(open_env: Callable[..., Environment]) -> None:
    env = open_env(limits={"time": 1.5})
    said = execute(env, "print('begun', flush=True)\nwhile True: pass")
    assert not said.ok and "begun" in said.text and "longer than the limit" in said.text
    assert env.done and env.truncated and not env.terminated
    assert [e.name for e in events_of(env.folder.path) if isinstance(e, LimitHit)] == ["time"]


def test_time_that_runs_out_between_steps_still_gives_a_last_snapshot_and_a_grade(
    tiny_task: Path, runs: Path
) -> None:
    """As when an agent waits for its model: the valid submission that is there is graded."""
    with make(tiny_task, runs=runs, limits={"time": 2.0}) as env:
        env.reset()
        env.step(executing("train.py"))
        folder = env.folder
        while not env.done:
            pass
        assert env.truncated
    ended = events_of(folder.path)[-1]
    assert isinstance(ended, RunEnded) and ended.reason == "limit" and ended.elapsed >= 2.0
    grade = read_grades(folder)[ended.snapshot]
    assert grade.valid and grade.score is not None


@pytest.mark.parametrize(
    ("limits", "reason"), [({"steps": 1}, "limit"), ({"steps": 2}, "submitted"), ({}, "submitted")]
)
def test_the_last_word_of_a_record_says_how_the_run_ended(
    tiny_task: Path, runs: Path, limits: dict[str, int], reason: str
) -> None:
    made = play(tiny_task, [executing("train.py"), submitting()], runs, limits=limits)
    assert made.summary.ended == reason
    assert made.grade is not None and made.grade.valid and not made.grade.success
    assert made.grade.baseline is not None and made.grade.baseline.runs == 3


def test_an_agent_that_stops_without_submitting_is_graded_all_the_same(tiny_task: Path, runs: Path) -> None:
    made = play(tiny_task, [executing("train.py")], runs)
    assert made.summary.ended == "stopped" and made.grade is not None and made.grade.valid


def test_what_the_agent_left_running_in_the_repl_is_in_no_snapshot(tiny_task: Path, runs: Path) -> None:
    """The REPL is ended before the last snapshot is taken, so the graded bytes stand still."""
    made = play(
        tiny_task,
        [
            executing("train.py"),
            repl(
                "import threading, os\ndef spoil():\n    while True:\n        os.path.exists('go') and "
                "open('submission.csv', 'w').write('spoiled')\nthreading.Thread(target=spoil, daemon=True).start()"
            ),
            writing("go", "now"),
            submitting(),
        ],
        runs,
    )
    assert made.grade is not None and made.grade.valid
    final = steps_of(made)[-1].snapshot
    assert made.grade.snapshot == final


def test_a_run_with_nothing_submitted_is_invalid_with_a_sentence(tiny_task: Path, runs: Path) -> None:
    made = play(tiny_task, [submitting()], runs)
    assert made.summary.ended == "submitted"
    assert made.grade is not None and not made.grade.valid and made.grade.score is None
    assert "submission.csv" in made.grade.reason and not made.grade.success


@pytest.mark.parametrize(
    ("limits", "about"),
    [
        ({"stps": 3}, "stps"),
        ({"steps": "many"}, "steps"),
        ({"memory": None}, "memory"),
        ({"steps": 0}, "steps"),
    ],
)
def test_a_limit_that_is_none_is_refused_with_the_names_of_those_there_are(
    tiny_task: Path, runs: Path, limits: dict[str, object], about: str
) -> None:
    with pytest.raises(UsageError, match=about):
        make(tiny_task, runs=runs, limits=limits)
