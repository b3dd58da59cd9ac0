"""From a score to a verdict: improvement over the measured baseline, success as published, decided success."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from mlagentbench.grading.grade import Baseline, Grade, Interval
from mlagentbench.task.definition import Metric

NO_BASELINE = "There is no baseline: "
"""Begins the note of a grade that says why."""
THRESHOLD = 0.10
"""The published one: success is an improvement of more than ten percent."""
THRESHOLDS = (0.05, 0.10, 0.20, 0.30)
_ROUNDING = 1e-9
"""Exactly ten percent is no success, also where it is not a round number in binary."""


def baseline_of(scores: Sequence[float]) -> Baseline | None:
    if not scores:
        return None
    return Baseline(mean=fmean(scores), spread=stdev(scores) if len(scores) > 1 else 0.0, runs=len(scores))


def improvement(score: float, over: float, metric: Metric) -> float | None:
    """How much better `score` is, relative to the distance of what it is compared with from the metric's floor.

    None where the metric has no direction, or where that distance is zero and nothing can be relative to it.
    """
    distance = abs(over - metric.floor)
    if metric.goal is None or distance == 0:
        return None
    gain = over - score if metric.goal == "minimize" else score - over
    return gain / distance


def judge(
    grade: Grade,
    metric: Metric,
    starter: Baseline | None,
    plain: Sequence[float] = (),
    oracle: Sequence[float] = (),
) -> Grade:
    """`grade`, which holds a score, with everything that follows from it and from what others scored."""
    if grade.score is None or starter is None:
        return grade
    better_by = improvement(grade.score, starter.mean, metric)
    if better_by is None:
        return grade.model_copy(update={"baseline": starter})
    sure_of = min(
        [better_by, *(improvement(end, starter.mean, metric) or 0.0 for end in _ends(grade.interval))]
    )
    counts = not grade.withheld
    success_at = {f"{threshold:.0%}": counts and sure_of > threshold + _ROUNDING for threshold in THRESHOLDS}
    success = counts and sure_of > THRESHOLD + _ROUNDING
    beyond_noise = abs(grade.score - starter.mean) > 2 * starter.spread
    room = fmean(oracle) - starter.mean if oracle else math.nan
    return grade.model_copy(
        update={
            "baseline": starter,
            "improvement": better_by,
            "success": success,
            "success_at": success_at,
            "decided": success and beyond_noise,
            "over_plain": improvement(grade.score, fmean(plain), metric) if plain else None,
            "position": (grade.score - starter.mean) / room if oracle and room else None,
        }
    )


def _ends(interval: Interval | None) -> tuple[float, ...]:
    return (interval.low, interval.high) if interval else ()
