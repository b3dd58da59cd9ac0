"""Quantiles of Student's t distribution, which the standard library lacks, for any degrees of freedom from one on."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_TINY = 1e-300
_ENOUGH = 1e7
"""Degrees of freedom from which on the normal distribution is the same to seven digits."""


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: float) -> float:
    """The value that a t-distributed number stays below with this probability.

    >>> round(t_quantile(0.975, 2), 3)
    4.303
    """
    if not 0 < probability < 1 or freedom <= 0:
        raise ValueError("the probability lies between 0 and 1, and the degrees of freedom are positive")
    if probability < 0.5:
        return -t_quantile(1 - probability, freedom)
    if freedom >= _ENOUGH:
        return NormalDist().inv_cdf(probability)
    # Newton's method. The normal quantile lies below, and from below, where the distribution bends down, every step
    # stays below.
    value = NormalDist().inv_cdf(probability)
    for _ in range(200):
        step = (probability - t_cdf(value, freedom)) / _density(value, freedom)
        value += step
        if step <= 1e-12 * value:
            break
    return value


def _density(value: float, freedom: float) -> float:
    front = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2) - 0.5 * math.log(freedom * math.pi)
    return math.exp(front - (freedom + 1) / 2 * math.log1p(value * value / freedom))


def t_cdf(value: float, freedom: float) -> float:
    """The probability that a t-distributed number stays below `value`."""
    square = value * value
    if square < freedom:  # the tail is nearly a half, and its digits would be lost
        centre = 0.5 * incomplete_beta(0.5, freedom / 2, square / (freedom + square))
        return 0.5 + math.copysign(centre, value)
    tail = 0.5 * incomplete_beta(freedom / 2, 0.5, freedom / (freedom + square))
    return 1 - tail if value > 0 else tail


def incomplete_beta(a: float, b: float, x: float) -> float:
    """The regularised incomplete beta function, by its continued fraction."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) / a / _fraction(a, b, x)


def _fraction(a: float, b: float, x: float) -> float:
    """Lentz's evaluation; the value that the front factor is divided by."""
    value, c, d = 1.0, 1.0, 0.0
    for m in range(500):
        for numerator in _terms(a, b, x, m):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + numerator / c
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _terms(a: float, b: float, x: float, m: int) -> tuple[float, float]:
    odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
    even = (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2))
    return odd, even
