"""Intervals against values known from elsewhere, and against what every interval must keep."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.evaluation.statistics import Estimate, bootstrap_mean, wilson


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (3, 8, 0.1368, 0.6943),
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (1, 1, 0.2065, 1.0),
        (50, 100, 0.4038, 0.5962),
    ],
)
def test_wilson_intervals_are_the_ones_in_the_books(successes, n, low, high):
    interval = wilson(successes, n)
    assert interval.low == pytest.approx(low, abs=1e-4)
    assert interval.high == pytest.approx(high, abs=1e-4)


def test_three_of_eight_is_fourteen_to_sixty_nine_percent():
    interval = wilson(3, 8)
    assert (round(100 * interval.low), round(100 * interval.high)) == (14, 69)


@given(st.integers(0, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_rate_lies_in_its_interval_and_that_within_0_and_1(pair):
    successes, n = pair
    interval = wilson(successes, n)
    if n == 0:
        assert interval.low is None and math.isnan(interval.value)
        return
    assert 0 <= interval.low <= interval.value <= interval.high <= 1
    assert interval.low < interval.high


def test_more_successes_than_trials_is_refused():
    with pytest.raises(ValueError, match="9 successes of 8"):
        wilson(9, 8)


def test_a_higher_level_gives_a_wider_interval():
    wide, narrow = wilson(5, 20, 0.99), wilson(5, 20, 0.90)
    assert wide.low < narrow.low and narrow.high < wide.high


def test_the_bootstrap_of_many_normal_values_agrees_with_the_standard_error():
    values = [math.sin(index * 12.9898) for index in range(400)]
    mean = sum(values) / 400
    error = math.sqrt(sum((value - mean) ** 2 for value in values) / 399 / 400)
    interval = bootstrap_mean(values, seed=1)
    assert interval.low == pytest.approx(mean - 1.96 * error, abs=0.15 * error)
    assert interval.high == pytest.approx(mean + 1.96 * error, abs=0.15 * error)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=6), st.integers(0, 5))
def test_a_bootstrap_interval_holds_its_mean_lies_within_the_values_and_is_repeatable(values, seed):
    interval = bootstrap_mean(values, seed)
    slack = 1e-9 * max(1.0, *map(abs, values))
    assert interval == bootstrap_mean(values, seed)
    assert interval.low <= interval.value <= interval.high
    assert min(values) - slack <= interval.low and interval.high <= max(values) + slack


def test_one_value_has_a_mean_and_no_interval_and_none_has_neither():
    assert bootstrap_mean([4.0]) == Estimate(4.0, None, None)
    assert math.isnan(bootstrap_mean([]).value)


def test_intervals_overlap_unless_both_are_known_and_apart():
    assert Estimate(1, 0, 2).overlaps(Estimate(2, 1.5, 3))
    assert not Estimate(1, 0, 2).overlaps(Estimate(4, 3, 5))
    assert Estimate(1, None, None).overlaps(Estimate(4, 3, 5))
