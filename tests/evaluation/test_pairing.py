"""Two agents against each other."""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy import stats

from mlagentbench.evaluation.pairing import (
    MOST_RUNS,
    compare_means,
    compare_rates,
    difference_of_means,
    fewest,
    is_paired,
)


def runs(values, first_seed: int = 0) -> list[tuple[int, float]]:
    return list(enumerate(values, first_seed))


def normal(draw: random.Random, mean: float, n: int) -> list[float]:
    return [draw.gauss(mean, 1) for _ in range(n)]


def test_one_task_with_equal_seeds_gives_the_paired_t_interval():
    a, b = [0.1, 0.5, 0.4, 0.9], [0.0, 0.1, 0.5, 0.2]
    theirs = stats.ttest_rel(a, b).confidence_interval(0.95)
    ours = difference_of_means([(runs(a), runs(b)[::-1])])
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_one_task_with_other_seeds_gives_welchs_interval_over_all_runs():
    a, b = [0.1, 0.5, 0.4, 0.9], [0.0, 0.1, 0.5]
    theirs = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    ours = difference_of_means([(runs(a), runs(b, first_seed=2))])
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))


def test_a_seed_that_one_side_lacks_or_has_twice_leaves_the_task_unpaired():
    assert is_paired(([(0, 1.0), (1, 2.0)], [(1, 3.0), (0, 4.0)]))
    assert not is_paired(([(0, 1.0), (1, 2.0)], [(1, 3.0)]))
    assert not is_paired(([(0, 1.0), (0, 2.0)], [(0, 3.0), (0, 3.0)]))


def test_every_task_weighs_the_same_however_many_runs_it_has():
    few, many = (runs([1.0, 1.2]), runs([0.0, 0.2])), (runs([0.0] * 9 + [0.1]), runs([0.0] * 9 + [0.1]))
    assert difference_of_means([few, many]).value == pytest.approx(0.5)


def test_single_runs_are_compared_over_tasks_and_one_of_them_decides_nothing():
    pairs = [(runs([value]), runs([0.0])) for value in (0.3, 0.5, 0.4)]
    theirs = stats.ttest_1samp([0.3, 0.5, 0.4], 0).confidence_interval(0.95)
    ours = difference_of_means(pairs)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    only = compare_means(pairs[:1])
    assert not only.decided and only.effect.low is None and only.runs_needed is None


def test_a_clear_difference_is_decided_for_the_better_one():
    draw = random.Random(0)
    a, b = runs(normal(draw, 5, 6)), runs(normal(draw, 0, 6))
    assert compare_means([(a, b)]).better == "first"
    assert compare_means([(b, a)]).better == "second"
    assert compare_means([(a, b)]).runs_needed is None


def test_rates_are_decided_by_newcombes_interval_and_equal_ones_are_not():
    all_of_them, none = runs([1.0] * 8), runs([0.0] * 8)
    assert compare_rates([(all_of_them, none)]).better == "first"
    equal = compare_rates([(none, none)])
    assert equal.effect.value == 0 and equal.effect.low < 0 < equal.effect.high
    assert not equal.decided and equal.runs_needed is None


def test_no_difference_needs_no_number_of_runs_and_a_tiny_one_is_beyond_reason():
    same = [0.1, 0.2, 0.3]
    assert compare_means([(runs(same), runs(same, first_seed=5))]).runs_needed is None
    tiny = compare_means([(runs([0.0, 1.0, 2.0]), runs([0.0001, 1.0, 2.0], first_seed=5))])
    assert tiny.runs_needed is None and not tiny.decided


@pytest.mark.parametrize("smallest", [4, 5, 17, 900])
def test_the_fewest_runs_are_found(smallest):
    assert fewest(lambda runs: runs >= smallest, 3) == smallest
    assert fewest(lambda runs: runs > MOST_RUNS, 3) is None


def share_decided(draw_pair, compare, n: int, draws: int = 300) -> float:
    return sum(compare([draw_pair(n) for _ in range(3)]).decided for _ in range(draws)) / draws


@pytest.mark.parametrize("effect", [0.8, 0.4])
def test_as_many_runs_as_are_called_enough_decide_about_four_times_out_of_five(effect):
    """A pilot that shows the true effect and spread says how many; so many then decide it."""
    draw = random.Random(3)

    def pair(n):
        return runs(normal(draw, effect, n)), runs(normal(draw, 0, n), first_seed=n)

    exact = [
        (
            runs([effect - 1.5**0.5, effect, effect + 1.5**0.5][:3]),
            runs([-(1.5**0.5), 0, 1.5**0.5], first_seed=9),
        )
        for _ in range(3)
    ]
    scale = 1 / np.std([value for _, value in exact[0][1]], ddof=1)
    exact = [
        ([(s, effect + (v - effect) * scale) for s, v in a], [(s, v * scale) for s, v in b]) for a, b in exact
    ]
    pilot = compare_means(exact)
    assert pilot.runs_needed is not None
    assert 0.68 < share_decided(pair, compare_means, pilot.runs_needed) < 0.92


def test_as_many_runs_as_are_called_enough_decide_a_difference_of_rates_about_as_often():
    draw = random.Random(4)

    def pair(n):
        return (
            runs([float(draw.random() < 0.75) for _ in range(n)]),
            runs([float(draw.random() < 0.5) for _ in range(n)], first_seed=n),
        )

    pilot = compare_rates([(runs([1, 1, 1, 0]), runs([1, 1, 0, 0]))] * 3)
    assert pilot.runs_needed is not None and not pilot.decided
    assert 0.68 < share_decided(pair, compare_rates, pilot.runs_needed) < 0.92


def test_two_equal_agents_are_seldom_called_different():
    draw = random.Random(5)

    def pair(n):
        return runs(normal(draw, 0, n)), runs(normal(draw, 0, n))

    assert share_decided(pair, compare_means, 4) < 0.09
