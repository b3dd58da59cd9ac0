"""Two agents against each other over the same tasks and seeds: by how much, how sure, and what would decide it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, variance
from typing import Literal

from mlagentbench.evaluation.statistics import (
    LEVEL,
    UNKNOWN,
    Estimate,
    Spread,
    combine,
    mean_rate,
    stratified_mean,
    stratified_rate,
    sum_of_parts,
)
from mlagentbench.evaluation.student import t_quantile

Seeded = Sequence[tuple[int | None, float]]
"""The runs of one agent on one task: seed and value."""
Pair = tuple[Seeded, Seeded]
"""Both agents on one task; neither is empty."""

POWER = 0.8
"""How often a run number that is called enough decides."""
MOST_RUNS = 10_000

_REACH = NormalDist().inv_cdf(POWER)


@dataclass(frozen=True)
class Difference:
    """The first agent minus the second, as the mean over tasks."""

    measure: Literal["improvement", "success"]
    first: Estimate
    second: Estimate
    effect: Estimate
    better: Literal["first", "second", ""]
    """Whose the decision is; empty where these runs do not decide."""
    runs_needed: int | None
    """Of each agent on each task, so that four times out of five a difference as large as the one that was seen would
    be decided. None where it is decided, or where no such number can be told."""

    @property
    def decided(self) -> bool:
        return bool(self.better)


def is_paired(pair: Pair) -> bool:
    """Whether each run of one has exactly one run of the other with its seed. Else all runs count, unpaired; so do runs
    whose seed is not known."""
    first, second = ([seed for seed, _ in side] for side in pair)
    if None in first or None in second:
        return False
    return set(first) == set(second) and len(set(first)) == len(first) == len(second)


def compare_means(pairs: Sequence[Pair]) -> Difference:
    """The difference in a number such as the improvement."""
    effect, spread = _effect(pairs)
    estimate = spread.around(effect) if spread else Estimate(effect, None, None)
    needed = None
    if spread and spread.variance > 0 and effect and not estimate.sign:
        now = _runs(pairs)

        def enough(runs: int) -> bool:
            freedom = spread.freedom * max(1.0, (runs - 1) / max(1.0, now - 1))
            reach = t_quantile(0.5 + LEVEL / 2, freedom) + _REACH
            return abs(effect) >= reach * math.sqrt(spread.variance * now / runs)

        needed = fewest(enough, now)
    return Difference(
        measure="improvement",
        first=stratified_mean([_values(first) for first, _ in pairs]),
        second=stratified_mean([_values(second) for _, second in pairs]),
        effect=estimate,
        better=_better(estimate),
        runs_needed=needed,
    )


def compare_rates(pairs: Sequence[Pair]) -> Difference:
    """The difference in a rate; values are 1 and 0. Its interval is Newcombe's and does not use the pairing: rates
    near 0 and 1 have too little spread to estimate one from; it is a little too wide where seeds matter."""
    first, second = (stratified_rate([_count(pair[side]) for pair in pairs]) for side in (0, 1))
    effect = combine([(1, first), (-1, second)])
    needed = None
    if effect.value and not effect.sign:
        shares = [(fmean(_values(ours)), fmean(_values(theirs))) for ours, theirs in pairs]

        def enough(runs: int) -> bool:
            ours, theirs = (mean_rate([(share[side], runs) for share in shares]) for side in (0, 1))
            seen = combine([(1, ours), (-1, theirs)])
            error = math.sqrt(sum(p * (1 - p) + q * (1 - q) for p, q in shares) / runs) / len(shares)
            nearest = seen.low if effect.value > 0 else seen.high
            return nearest is not None and math.copysign(1, effect.value) * nearest >= _REACH * error

        needed = fewest(enough, _runs(pairs))
    return Difference(
        measure="success",
        first=first,
        second=second,
        effect=effect,
        better=_better(effect),
        runs_needed=needed,
    )


def difference_of_means(pairs: Sequence[Pair]) -> Estimate:
    """The mean over tasks of the difference, with a t interval. Runs are paired by seed where every seed is there on
    both sides of a task, and compared all with all where not."""
    if not pairs:
        return UNKNOWN
    effect, spread = _effect(pairs)
    return spread.around(effect) if spread else Estimate(effect, None, None)


def fewest(enough: Callable[[int], bool], now: int) -> int | None:
    """The smallest number above `now` that is enough, if that is not beyond reason."""
    low, high = now, max(2 * now, 2)
    while not enough(high):
        low, high = high, 2 * high
        if low > MOST_RUNS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high if high <= MOST_RUNS else None


def _effect(pairs: Sequence[Pair]) -> tuple[float, Spread | None]:
    differences = [fmean(_values(first)) - fmean(_values(second)) for first, second in pairs]
    effect, tasks = fmean(differences), len(pairs)
    if all(len(first) > 1 and len(second) > 1 for first, second in pairs):
        parts = [part for pair in pairs for part in _parts(pair)]
        return effect, sum_of_parts((part / tasks**2, freedom) for part, freedom in parts)
    if tasks < 2:
        return effect, None
    return effect, Spread(variance(differences) / tasks, tasks - 1)


def _parts(pair: Pair) -> list[tuple[float, float]]:
    """The variance of a task's difference, in independent terms with their degrees of freedom."""
    if is_paired(pair):
        first, second = (dict(side) for side in pair)
        return [(variance([first[seed] - second[seed] for seed in first]) / len(first), len(first) - 1)]
    return [(variance(_values(side)) / len(side), len(side) - 1) for side in pair]


def _better(effect: Estimate) -> Literal["first", "second", ""]:
    return "first" if effect.sign > 0 else "second" if effect.sign < 0 else ""


def _runs(pairs: Sequence[Pair]) -> int:
    """Of each agent on each task, where that is one number; else what has the same weight."""
    shares = [1 / len(side) for pair in pairs for side in pair]
    return max(1, round(len(shares) / sum(shares)))


def _values(side: Seeded) -> list[float]:
    return [value for _, value in side]


def _count(side: Seeded) -> tuple[int, int]:
    return round(sum(_values(side))), len(side)
