"""What runs had at which budget."""

from __future__ import annotations

import pytest
from support.histories import History

from mlagentbench.evaluation.anytime import Point, best_of, curve, points_of
from mlagentbench.grading import Grade
from mlagentbench.model.spec import Usage


def verdict(improvement: float | None) -> Grade:
    valid = improvement is not None
    return Grade(
        task="ball@1",
        variant="mini",
        valid=valid,
        score=improvement,
        improvement=improvement,
        success=valid and improvement > 0.1,
    )


def point(step: int, improvement: float | None, *, cost: float | None = 0.0) -> Point:
    return Point(
        step=step,
        elapsed=10.0 * step,
        tokens=100 * step,
        cost=cost,
        valid=improvement is not None,
        improvement=improvement,
        success=improvement is not None and improvement > 0.1,
    )


def test_each_graded_snapshot_is_a_moment_with_what_was_used_until_then():
    run = History().call(usage=Usage(input=100, output=10), cost=0.5).step("a").call(cost=0.25).step("b")
    run.step("c", snapshot="snapshot-1").end()
    grades = {"snapshot-0": verdict(None), "snapshot-1": verdict(0.2), "snapshot-2": verdict(0.05)}
    points = points_of(run.events, grades)
    assert [(each.step, each.improvement, each.tokens, each.cost) for each in points] == [
        (0, None, 0, 0.0),
        (1, 0.2, 110, 0.5),
        (2, 0.05, 220, 0.75),
        (3, 0.2, 220, 0.75),
    ]
    assert [each.elapsed for each in points] == [0.0, 2.0, 4.0, 5.0]


def test_a_snapshot_without_a_grade_is_no_moment_and_an_unknown_price_stays_unknown():
    run = History().call(cost=None).step("a").call(cost=0.1).step("b").end()
    points = points_of(run.events, {"snapshot-2": verdict(0.2)})
    assert [(each.step, each.cost) for each in points] == [(2, None)]


def test_what_an_imported_run_does_not_tell_is_unknown_at_every_moment():
    points = points_of(History().step("a").end().events, {"snapshot-1": verdict(0.2)}, ("time", "tokens"))
    assert [(each.elapsed, each.tokens, each.cost) for each in points] == [(None, None, 0.0)]
    (mark,), left_out = curve([("ball", points)], "time", [1.0])
    assert (mark.runs, left_out) == (0, 1)


def test_the_best_moment_is_the_earliest_with_the_greatest_improvement():
    assert best_of([point(1, 0.1), point(2, 0.4), point(3, None), point(4, 0.4)]).step == 2
    assert best_of([point(1, None)]) is None


def test_a_curve_tells_the_last_and_the_best_of_runs_at_each_budget():
    first = [point(0, None), point(1, 0.4), point(2, 0.0)]
    second = [point(0, None), point(2, 0.2)]
    marks, left_out = curve([("ball", first), ("ball", second)], "steps", [0, 1, 2])
    assert left_out == 0
    assert [mark.last.value for mark in marks] == pytest.approx([0.0, 0.2, 0.1])
    assert [mark.best.value for mark in marks] == pytest.approx([0.0, 0.2, 0.3])
    assert [mark.success.value for mark in marks] == pytest.approx([0.0, 0.5, 0.5])
    assert marks[0].runs == 2


@pytest.mark.parametrize(("axis", "budget"), [("time", 10.0), ("tokens", 100)])
def test_budgets_are_on_the_axis_that_was_asked_for(axis, budget):
    (mark,), _ = curve([("ball", [point(1, 0.4), point(2, 0.9)])], axis, [budget])
    assert mark.last.value == 0.4


def test_runs_of_unknown_cost_are_left_out_of_the_curve_over_cost_and_counted():
    runs = [("ball", [point(1, 0.4, cost=None)]), ("ball", [point(1, 0.2, cost=1.0)])]
    (mark,), left_out = curve(runs, "cost", [2.0])
    assert (mark.runs, mark.last.value, left_out) == (1, 0.2, 1)


def test_every_task_weighs_the_same_in_a_curve():
    runs = [("a", [point(1, 0.4)]), ("b", [point(1, 0.0)]), ("b", [point(1, 0.0)]), ("b", [point(1, 0.0)])]
    (mark,), _ = curve(runs, "steps", [1])
    assert mark.last.value == pytest.approx(0.2)
