"""From a score to a verdict."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.grading.grade import Baseline, Grade, Interval
from mlagentbench.grading.scoring import baseline_of, improvement, judge
from mlagentbench.grading.timing import ratio_of_smallest
from mlagentbench.task.definition import Goal, Metric


def metric(goal: Goal | None = "minimize", floor: float = 0.0) -> Metric:
    return Metric(name="m", goal=goal, floor=floor)


def verdict(
    score: float, baseline: float, goal: Goal = "minimize", floor: float = 0.0, spread: float = 0.0
) -> Grade:
    grade = Grade(task="t@1", variant="mini", valid=True, score=score)
    return judge(grade, metric(goal, floor), Baseline(mean=baseline, spread=spread, runs=3))


@pytest.mark.parametrize(
    ("goal", "floor", "baseline", "score", "expected"),
    [
        ("minimize", 0.0, 10.0, 9.0, 0.1),
        ("minimize", 0.0, 10.0, 11.0, -0.1),
        ("maximize", 0.0, 0.5, 0.6, 0.2),
        ("maximize", 0.0, 0.5, 0.4, -0.2),
        ("maximize", -1.0, 0.0, 0.2, 0.2),
        ("maximize", -1.0, -0.5, -0.4, 0.2),
        ("maximize", -1.0, -0.5, -0.6, -0.2),
        ("maximize", 0.0, -0.5, -0.4, 0.2),
        ("minimize", -2.0, -1.0, -1.5, 0.5),
        ("minimize", 0.0, -1.0, -1.5, 0.5),
    ],
)
def test_improvement_is_relative_to_the_distance_from_the_floor_also_below_zero(
    goal: Goal, floor: float, baseline: float, score: float, expected: float
) -> None:
    assert improvement(score, baseline, metric(goal, floor)) == pytest.approx(expected)


def test_without_direction_or_distance_there_is_a_score_and_no_improvement() -> None:
    assert improvement(1.0, 2.0, metric(None)) is None
    assert improvement(1.0, 0.0, metric("maximize")) is None
    assert improvement(1.0, -1.0, metric("maximize", floor=-1.0)) is None
    graded = verdict(0.3, 0.0, "maximize")
    assert graded.valid and graded.score == 0.3 and graded.improvement is None and not graded.success
    assert graded.baseline is not None


@pytest.mark.parametrize(
    ("score", "baseline", "goal", "success"),
    [
        (90.0, 100.0, "minimize", False),
        (89.9999, 100.0, "minimize", True),
        (100.0, 100.0, "minimize", False),
        (120.0, 100.0, "minimize", False),
        (0.77, 0.7, "maximize", False),
        (0.7701, 0.7, "maximize", True),
        (1.1, 1.0, "maximize", False),
        (0.33, 0.3, "maximize", False),
    ],
)
def test_success_is_more_than_ten_percent_and_exactly_ten_is_none(
    score: float, baseline: float, goal: Goal, success: bool
) -> None:
    assert verdict(score, baseline, goal).success is success


def test_success_at_each_published_threshold() -> None:
    assert verdict(75.0, 100.0).success_at == {"5%": True, "10%": True, "20%": True, "30%": False}
    assert verdict(1.08, 1.0, "maximize").success_at == {"5%": True, "10%": False, "20%": False, "30%": False}


def test_scores_of_zero_and_below_are_scores() -> None:
    assert verdict(0.0, 10.0).success and verdict(0.0, 10.0).improvement == 1.0
    assert verdict(-3.0, -1.0, "minimize", floor=-5.0).success


def test_decided_asks_for_more_than_twice_the_starters_spread() -> None:
    assert verdict(80.0, 100.0, spread=9.0).decided
    assert verdict(80.0, 100.0, spread=11.0).success and not verdict(80.0, 100.0, spread=11.0).decided
    assert not verdict(80.0, 100.0, spread=10.0).decided
    assert not verdict(95.0, 100.0, spread=0.0).decided


def test_a_timed_verdict_needs_the_far_end_of_its_interval() -> None:
    grade = Grade(task="t@1", variant="mini", valid=True, score=0.8, interval=Interval(low=0.7, high=0.96))
    starter = Baseline(mean=1.0, spread=0.0, runs=9)
    judged = judge(grade, metric(), starter)
    assert (
        judged.improvement == pytest.approx(0.2) and not judged.success and judged.success_at["5%"] is False
    )
    sure = grade.model_copy(update={"interval": Interval(low=0.7, high=0.85)})
    assert judge(sure, metric(), starter).success


def test_where_plain_and_oracle_were_measured_the_score_is_placed_between_them() -> None:
    grade = Grade(task="t@1", variant="mini", valid=True, score=6.0)
    judged = judge(grade, metric(), Baseline(mean=10, spread=0, runs=1), plain=[8.0], oracle=[2.0])
    assert judged.position == pytest.approx(0.5) and judged.over_plain == pytest.approx(0.25)
    bare = judge(grade, metric(), Baseline(mean=10, spread=0, runs=1))
    assert bare.position is None and bare.over_plain is None


def test_an_invalid_grade_gains_nothing() -> None:
    grade = Grade(task="t@1", variant="mini", valid=False, reason="no file")
    assert judge(grade, metric(), Baseline(mean=10, spread=0, runs=1)) == grade


def test_a_baseline_is_the_mean_of_the_runs_with_their_spread() -> None:
    assert baseline_of([]) is None
    assert baseline_of([3.0]) == Baseline(mean=3.0, spread=0.0, runs=1)
    assert baseline_of([2.0, 4.0]) == Baseline(mean=3.0, spread=math.sqrt(2), runs=2)


finite = st.floats(-1e6, 1e6)


@given(score=finite, baseline=finite, floor=finite, goal=st.sampled_from(["minimize", "maximize"]))
def test_better_is_positive_worse_is_negative_and_the_baseline_itself_is_zero(
    score: float, baseline: float, floor: float, goal: Goal
) -> None:
    gain = improvement(score, baseline, metric(goal, floor))
    if baseline == floor:
        assert gain is None
        return
    assert gain is not None
    better = score < baseline if goal == "minimize" else score > baseline
    assert (gain > 0) == better or gain == 0
    assert improvement(baseline, baseline, metric(goal, floor)) == 0


seconds = st.lists(st.floats(0.01, 100), min_size=3, max_size=12)


@given(submission=seconds, starter=seconds)
def test_the_ratio_of_times_lies_in_its_interval_and_is_the_same_each_time(
    submission: list[float], starter: list[float]
) -> None:
    ratio, interval = ratio_of_smallest(submission, starter)
    assert ratio == min(submission) / min(starter)
    assert 0 < interval.low <= ratio <= interval.high
    assert ratio_of_smallest(submission, starter) == (ratio, interval)


@given(times=seconds)
def test_the_starter_against_itself_is_one(times: list[float]) -> None:
    ratio, interval = ratio_of_smallest(times, times)
    assert ratio == 1 and interval.low <= 1 <= interval.high


@given(submission=seconds, starter=seconds, factor=st.floats(0.1, 10))
def test_a_machine_that_is_slower_throughout_changes_no_ratio(
    submission: list[float], starter: list[float], factor: float
) -> None:
    slower, interval = ratio_of_smallest([t * factor for t in submission], [t * factor for t in starter])
    ratio, before = ratio_of_smallest(submission, starter)
    assert slower == pytest.approx(ratio) and interval.high == pytest.approx(before.high)


def test_one_disturbed_round_moves_nothing_and_wide_times_give_a_wide_interval() -> None:
    quiet = [1.0, 1.01, 1.02, 1.01, 1.0, 1.02, 1.01, 1.0, 1.01]
    fast = [t / 2 for t in quiet]
    ratio, interval = ratio_of_smallest([*fast[:-1], 50.0], quiet)
    assert ratio == 0.5 and interval.high < 0.55
    _, wide = ratio_of_smallest([0.5, 1.5, 2.0], quiet)
    assert wide.high > 1.0
