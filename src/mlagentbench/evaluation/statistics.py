"""How sure a number is: intervals for rates and means, from the standard library alone."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

RESAMPLES = 10_000


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


def wilson(successes: int, n: int, level: float = 0.95) -> Estimate:
    """A rate with its Wilson score interval, which stays within 0 and 1 and has a width for 0 of n too.

    >>> rate = wilson(3, 8)
    >>> f"{rate.low:.0%} to {rate.high:.0%}"
    '14% to 69%'
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} is not possible")
    if n == 0:
        return Estimate(math.nan, None, None)
    z = NormalDist().inv_cdf(0.5 + level / 2)
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Estimate(rate, low, high)


def bootstrap_mean(values: Sequence[float], seed: int = 0, level: float = 0.95) -> Estimate:
    """A mean with its percentile bootstrap interval. The same values and seed give the same interval.

    One value tells nothing about its spread, so there is no interval then.
    """
    if not values:
        return Estimate(math.nan, None, None)
    mean = fmean(values)
    if len(values) == 1:
        return Estimate(mean, None, None)
    draw = random.Random(seed)
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(RESAMPLES))
    tail = (1 - level) / 2
    low, high = means[math.floor(tail * RESAMPLES)], means[math.ceil((1 - tail) * RESAMPLES) - 1]
    return Estimate(mean, min(low, mean), max(high, mean))
