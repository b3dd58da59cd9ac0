"""How sure a number is: intervals for rates, means and comparisons, from the standard library alone.

Values come in strata, one a task: runs are drawn anew within a task, the tasks are the ones that they are. Methods were
chosen by how often their intervals hold the true value with 3 to 8 runs; `docs/statistics.md` has the numbers.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import NormalDist, fmean, variance

from mlagentbench.evaluation.student import t_quantile

LEVEL = 0.95
RESAMPLES = 2_000

Strata = Sequence[Sequence[float]]
"""The values of runs, by task."""
Counts = Sequence[tuple[int, int]]
"""Successes and runs, by task."""


@dataclass(frozen=True)
class Estimate:
    """A number, and the interval in which it lies with the stated confidence; None where nothing can be said."""

    value: float
    low: float | None
    high: float | None

    def overlaps(self, other: Estimate) -> bool:
        """Whether the two could be the same; so unless both intervals are known and apart."""
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return True
        return self.low <= other.high and other.low <= self.high

    @property
    def sign(self) -> int:
        """Of a difference: 1 or -1 where the whole interval lies on that side of zero, else 0."""
        if self.low is None or self.high is None:
            return 0
        return 1 if self.low > 0 else -1 if self.high < 0 else 0


UNKNOWN = Estimate(math.nan, None, None)


@dataclass(frozen=True)
class Spread:
    """The variance of an estimated mean, and the degrees of freedom that it is known with."""

    variance: float
    freedom: float

    def around(self, value: float, level: float = LEVEL) -> Estimate:
        half = t_quantile(0.5 + level / 2, self.freedom) * math.sqrt(self.variance)
        return Estimate(value, value - half, value + half)


def wilson(successes: float, n: float, level: float = LEVEL) -> Estimate:
    """A rate with its Wilson score interval, which stays within 0 and 1 and has a width for 0 of n too.

    >>> rate = wilson(3, 8)
    >>> f"{rate.low:.0%} to {rate.high:.0%}"
    '14% to 69%'
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} is not possible")
    if n == 0:
        return UNKNOWN
    z = NormalDist().inv_cdf(0.5 + level / 2)
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else min(rate, max(0.0, centre - half))
    high = 1.0 if successes == n else max(rate, min(1.0, centre + half))
    return Estimate(rate, low, high)


def combine(parts: Iterable[tuple[float, Estimate]]) -> Estimate:
    """A weighted sum of independent estimates. Its interval is recovered from theirs (Donner and Zou's MOVER), so it
    keeps their shape: for the difference of two Wilson intervals it is Newcombe's."""
    value = below = above = 0.0
    known = True
    for weight, part in parts:
        value += weight * part.value
        if part.low is None or part.high is None:
            known = False
            continue
        down, up = weight * (part.value - part.low), weight * (part.high - part.value)
        below += max(down, -up) ** 2
        above += max(up, -down) ** 2
    if not known or math.isnan(value):
        return Estimate(value, None, None)
    return Estimate(value, value - math.sqrt(below), value + math.sqrt(above))


def stratified_rate(counts: Counts, level: float = LEVEL) -> Estimate:
    """The mean over tasks of their rates; for one task, Wilson's interval."""
    return mean_rate([(successes / n, n) for successes, n in counts if n], level)


def mean_rate(parts: Sequence[tuple[float, float]], level: float = LEVEL) -> Estimate:
    """The mean of independent rates, each over a number of trials, with Wilson's interval for as many trials as would
    give one rate of this size the same variance. Tasks that always or never succeed add less to it than others, but
    never nothing: for this, each rate is drawn towards a half by one trial at either side."""
    if not parts:
        return UNKNOWN
    drawn = [((rate * n + 1) / (n + 2), n) for rate, n in parts]
    centre = fmean(rate for rate, _ in drawn)
    spread = sum(rate * (1 - rate) / n for rate, n in drawn) / len(parts) ** 2
    fewest = len(parts) ** 2 / sum(1 / n for _, n in parts)
    trials = max(fewest, centre * (1 - centre) / spread)
    return wilson(min(1.0, fmean(rate for rate, _ in parts)) * trials, trials, level)


def stratified_mean(strata: Strata, level: float = LEVEL) -> Estimate:
    """The mean over tasks of their means, with a t interval (Welch and Satterthwaite's degrees of freedom).

    One value tells nothing about its spread, so for one run of one task there is no interval.
    """
    strata = [values for values in strata if values]
    if not strata:
        return UNKNOWN
    value = fmean(map(fmean, strata))
    spread = spread_of_mean(strata)
    return spread.around(value, level) if spread else Estimate(value, None, None)


def spread_of_mean(strata: Strata) -> Spread | None:
    """Of the mean over tasks of their means. Where a task has one run only, tasks are taken as draws themselves, which
    makes the interval too wide rather than too narrow."""
    if all(len(values) > 1 for values in strata):
        parts = [(variance(values) / len(values) / len(strata) ** 2, len(values) - 1) for values in strata]
        return sum_of_parts(parts)
    if len(strata) < 2:
        return None
    return Spread(variance(list(map(fmean, strata))) / len(strata), len(strata) - 1)


def sum_of_parts(parts: Iterable[tuple[float, float]]) -> Spread:
    """The variance of a sum of independent terms, each with its variance and degrees of freedom."""
    parts = list(parts)
    total = sum(part for part, _ in parts)
    if total <= 0:
        return Spread(0.0, max(1.0, sum(freedom for _, freedom in parts)))
    return Spread(total, 1 / sum((part / total) ** 2 / freedom for part, freedom in parts))


def interquartile_mean(strata: Strata, level: float = LEVEL) -> Estimate:
    """The mean of the middle half of all runs of all tasks, as rliable defines it: a quarter of them, rounded down, is
    cut off at either end. Its interval is Yuen's for trimmed means, with winsorised variances within tasks."""
    strata = [values for values in strata if values]
    pooled = sorted(chain.from_iterable(strata))
    if not pooled:
        return UNKNOWN
    n, cut = len(pooled), len(pooled) // 4
    value, kept = fmean(pooled[cut : n - cut]), n - 2 * cut
    if any(len(values) == 1 for values in strata):
        strata = [pooled]
    if n == 1 or kept == 1:
        return Estimate(value, None, None)
    low, high = pooled[cut], pooled[n - cut - 1]
    spread = sum_of_parts(
        (len(values) * variance([min(max(each, low), high) for each in values]), len(values) - 1)
        for values in strata
    )
    exact = Spread(
        spread.variance * (n - 1) / n / (kept * (kept - 1)),
        max(1.0, spread.freedom * (kept - 1) / (n - 1)),
    )
    return exact.around(value, level)


def optimality_gap(strata: Strata, target: float = 1.0, level: float = LEVEL) -> Estimate:
    """By how much runs fall short of `target` on average; what goes beyond it does not make up for it."""
    return stratified_mean([[max(0.0, target - value) for value in values] for values in strata], level)


def performance_profile(
    strata: Strata, thresholds: Sequence[float], level: float = LEVEL
) -> list[tuple[float, Estimate]]:
    """For each threshold, the share of runs that score more than it, as the mean over tasks."""
    ordered = [sorted(values) for values in strata]
    return [
        (
            threshold,
            stratified_rate(
                [(len(values) - bisect_right(values, threshold), len(values)) for values in ordered], level
            ),
        )
        for threshold in thresholds
    ]


def pass_at_k(counts: Counts, k: int, level: float = LEVEL) -> Estimate:
    """The chance that at least one of `k` runs of a task succeeds, as the mean over tasks; the estimate is unbiased.

    Tasks with fewer than `k` runs say nothing about it and are left out. The interval is Wilson's for the number of
    separate groups of `k` runs that there are.
    """
    if k < 1:
        raise ValueError("k is at least 1")
    return mean_rate(
        [(1 - math.comb(n - successes, k) / math.comb(n, k), n / k) for successes, n in counts if n >= k],
        level,
    )


def probability_of_improvement(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]], level: float = LEVEL
) -> Estimate:
    """The chance that a run of the first is better than one of the second on the same task, ties counting half, as the
    mean over tasks. For one task the interval is Newcombe's for the area under a curve; for several, it is that of
    tasks that have the chance in common, too wide rather than too narrow where they have not."""
    pairs = [pair for pair in pairs if pair[0] and pair[1]]
    if not pairs:
        return UNKNOWN
    value = fmean(superiority(ours, theirs) for ours, theirs in pairs)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    sizes = [(len(ours), len(theirs)) for ours, theirs in pairs]

    def beyond(chance: float) -> bool:
        """Whether `value` is too far from this chance to be seen."""
        bend = (1 - chance) / (2 - chance) + chance / (1 + chance)
        parts = [(1 + ((m + n) / 2 - 1) * bend) / (m * n) for m, n in sizes]
        return (value - chance) ** 2 > z * z * chance * (1 - chance) * sum(parts) / len(parts) ** 2

    return Estimate(value, _edge(value, 0.0, beyond), _edge(value, 1.0, beyond))


def superiority(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """The chance that one of ours is greater than one of theirs: Mann and Whitney's U over its largest value."""
    others = sorted(theirs)
    wins = sum(bisect_left(others, value) + bisect_right(others, value) for value in ours) / 2
    return wins / (len(ours) * len(theirs))


def _edge(inside: float, outside: float, beyond: Callable[[float], bool]) -> float:
    if inside == outside:
        return outside
    for _ in range(50):
        middle = (inside + outside) / 2
        if beyond(middle):
            outside = middle
        else:
            inside = middle
    return inside


def stratified_bootstrap(
    strata: Strata,
    statistic: Callable[[Strata], float],
    *,
    level: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """Any statistic with its percentile bootstrap interval, runs drawn anew within each task as rliable does it. The
    same values and seed give the same interval. With few runs it is too narrow; use it where there is no formula."""
    strata = [values for values in strata if values]
    if not strata:
        return UNKNOWN
    value = statistic(strata)
    if all(len(values) == 1 for values in strata):
        return Estimate(value, None, None)
    draw = random.Random(seed)
    drawn = sorted(
        statistic([draw.choices(values, k=len(values)) for values in strata]) for _ in range(resamples)
    )
    tail = (1 - level) / 2
    return Estimate(value, quantile(drawn, tail), quantile(drawn, 1 - tail))


def quantile(ordered: Sequence[float], probability: float) -> float:
    """Of sorted values, with linear interpolation."""
    place = probability * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
