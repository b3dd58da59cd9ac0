"""Grouping: nobody is left out of the denominator."""

from __future__ import annotations

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.evaluation.groups import compare, group, undecided
from mlagentbench.grading import Grade
from mlagentbench.record import Summary


def summary(
    agent="starter", *, ended="submitted", grade: Grade | None = None, task="ball@1", seed=0
) -> Summary:
    return Summary(
        run=f"run-{seed}",
        task=task,
        variant="mini",
        agent=agent,
        model="",
        seed=seed,
        network=False,
        sandbox="bwrap",
        head="",
        ended=ended,
        steps=2,
        failed_steps=0,
        actions={},
        denied=0,
        elapsed=1.0,
        execution_wall=1.0,
        execution_cpu=1.0,
        peak_memory=1,
        grade=grade,
    )


def verdict(score: float, improvement: float, *, valid: bool = True) -> Grade:
    return Grade(
        task="ball@1",
        variant="mini",
        valid=valid,
        score=score if valid else None,
        improvement=improvement if valid else None,
        success=valid and improvement > 0.1,
    )


def test_unfinished_and_invalid_runs_stay_in_the_denominator():
    runs = [
        summary(grade=verdict(1.0, 0.4)),
        summary(grade=verdict(0.0, 0.0, valid=False)),
        summary(ended="", grade=None),
        summary(ended="error", grade=None),
    ]
    (only,) = group(runs)
    assert (only.runs, only.ended, only.valid) == (4, 3, 1)
    assert only.success.value == 0.25
    assert only.score.value == 1.0
    assert only.improvement.value == pytest.approx(0.1)


def test_a_group_is_one_task_one_agent_in_a_stable_order():
    runs = [
        summary("oracle"),
        summary("starter"),
        summary("oracle", task="apple@1"),
        summary("oracle", seed=1),
    ]
    assert [(each.task, each.agent, each.runs) for each in group(runs)] == [
        ("apple@1", "oracle", 1),
        ("ball@1", "oracle", 2),
        ("ball@1", "starter", 1),
    ]


def test_a_difference_that_the_runs_do_not_decide_is_said_and_a_clear_one_is_not():
    close = [
        summary(agent, grade=verdict(1, gain))
        for agent, gain in [("a", 0.1), ("a", 0.3), ("b", 0.2), ("b", 0.25)]
    ]
    clear = [
        summary(agent, grade=verdict(1, gain))
        for agent, gain in [("a", 0.1), ("a", 0.2), ("a", 0.3), ("b", 0.6), ("b", 0.65), ("b", 0.61)]
    ]
    assert "not decided by these runs; their intervals overlap" in undecided(group(close))[0]
    assert undecided(group(clear)) == []
    assert "one run tells nothing" in undecided(group([clear[0], clear[3]]))[0]


def test_a_place_without_runs_is_told_with_what_to_do(tmp_path):
    with pytest.raises(UsageError, match="mlagentbench run TASK"):
        compare(tmp_path)
    with pytest.raises(UsageError, match="no agent of that name"):
        compare("nobody", folder=tmp_path)
