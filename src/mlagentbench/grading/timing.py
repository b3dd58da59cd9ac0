"""A ratio of CPU times and how sure it is."""

from __future__ import annotations

import random
from collections.abc import Sequence

from mlagentbench.grading.grade import Interval

_RESAMPLES = 2000


def ratio_of_smallest(submission: Sequence[float], starter: Sequence[float]) -> tuple[float, Interval]:
    """Smallest CPU time of the submission over that of the starter, with a 95 % bootstrap interval.

    The smallest of several is what the machine's other work disturbs least. The same times give the same interval.
    """
    ratio = min(submission) / min(starter)
    draw = random.Random(0)
    ratios = sorted(
        min(draw.choices(submission, k=len(submission))) / min(draw.choices(starter, k=len(starter)))
        for _ in range(_RESAMPLES)
    )
    low, high = ratios[int(0.025 * _RESAMPLES)], ratios[int(0.975 * _RESAMPLES)]
    return ratio, Interval(low=min(low, ratio), high=max(high, ratio))
