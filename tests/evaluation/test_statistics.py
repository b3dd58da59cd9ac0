"""Every number against an independent implementation on random data, and against what every interval must keep."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest
from arch.bootstrap import IIDBootstrap
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from mlagentbench.evaluation.statistics import (
    Estimate,
    combine,
    interquartile_mean,
    mean_rate,
    optimality_gap,
    pass_at_k,
    performance_profile,
    probability_of_improvement,
    quantile,
    stratified_bootstrap,
    stratified_mean,
    stratified_rate,
    wilson,
)
from mlagentbench.evaluation.student import incomplete_beta, t_cdf, t_quantile

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=8)


def drawn(seed: int, tasks: int, runs: int) -> list[list[float]]:
    """Tasks that differ in place, spread and shape."""
    draw = random.Random(seed)
    return [
        [
            task + (1 + task) * (draw.gauss(0, 1) if task % 2 else draw.lognormvariate(0, 1))
            for _ in range(runs)
        ]
        for task in range(tasks)
    ]


# Student's t


@pytest.mark.parametrize("freedom", [0.7, 1, 1.3, 2, 2.5, 7, 30.2, 999, 1e5, 1e8])
@pytest.mark.parametrize("probability", [0.001, 0.025, 0.3, 0.5, 0.9, 0.975, 0.9995])
def test_quantiles_of_t_are_scipys(probability, freedom):
    assert t_quantile(probability, freedom) == pytest.approx(
        stats.t.ppf(probability, freedom), rel=1e-7, abs=1e-9
    )


@settings(deadline=None)
@given(st.floats(-50, 50), st.floats(0.5, 500))
def test_the_distribution_of_t_is_scipys(value, freedom):
    assert t_cdf(value, freedom) == pytest.approx(stats.t.cdf(value, freedom), abs=1e-10)


def test_the_incomplete_beta_function_is_zero_and_one_at_its_ends():
    assert (incomplete_beta(2, 3, 0), incomplete_beta(2, 3, 1)) == (0, 1)


@pytest.mark.parametrize(("probability", "freedom"), [(0, 3), (1, 3), (0.5, 0)])
def test_what_has_no_quantile_is_refused(probability, freedom):
    with pytest.raises(ValueError, match="probability"):
        t_quantile(probability, freedom)


# Rates


def test_three_of_eight_is_fourteen_to_sixty_nine_percent():
    interval = wilson(3, 8)
    assert (round(100 * interval.low), round(100 * interval.high)) == (14, 69)


@settings(deadline=None)
@given(
    st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.8, 0.95]),
)
def test_wilson_intervals_are_those_of_statsmodels(pair, level):
    successes, n = pair
    low, high = proportion_confint(successes, n, alpha=1 - level, method="wilson")
    ours = wilson(successes, n, level)
    assert (ours.value, ours.low, ours.high) == pytest.approx((successes / n, low, high), abs=1e-12)
    assert 0 <= ours.low <= ours.value <= ours.high <= 1 and ours.low < ours.high


def test_no_runs_have_no_rate_and_more_successes_than_runs_are_refused():
    assert math.isnan(wilson(0, 0).value) and wilson(0, 0).low is None
    with pytest.raises(ValueError, match="9 successes of 8"):
        wilson(9, 8)


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_the_difference_of_two_rates_has_newcombes_interval(n, m, data):
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    low, high = confint_proportions_2indep(a, n, b, m, method="newcomb", compare="diff")
    ours = combine([(1, wilson(a, n)), (-1, wilson(b, m))])
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-9)


def test_a_sum_with_an_unknown_part_has_no_interval():
    assert combine([(1, wilson(1, 2)), (-1, Estimate(0.2, None, None))]) == Estimate(0.3, None, None)


def test_the_rate_over_tasks_is_the_mean_of_their_rates_and_for_one_task_wilsons():
    assert stratified_rate([(3, 8)]) == wilson(3, 8)
    assert stratified_rate([(1, 2), (0, 10), (0, 0)]).value == pytest.approx(0.25)
    assert stratified_rate([]).low is None


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.just(8)), min_size=2, max_size=15))
def test_a_rate_over_tasks_is_at_most_as_unsure_as_that_of_all_runs_pooled_and_never_sure(counts):
    ours, pooled = stratified_rate(counts), wilson(sum(c for c, _ in counts), 8 * len(counts))
    assert 0 <= ours.low <= ours.value <= ours.high <= 1 and ours.high - ours.low > 0.01
    assert ours.high - ours.low <= pooled.high - pooled.low + 1e-9


def test_tasks_with_few_runs_weigh_as_much_in_the_rate_and_make_it_less_sure():
    even, uneven = mean_rate([(0.5, 10), (0.5, 10)]), mean_rate([(0.5, 18), (0.5, 2)])
    assert even.value == uneven.value
    assert even.high - even.low < uneven.high - uneven.low


# Means


@pytest.mark.parametrize("seed", range(5))
def test_the_mean_of_one_task_has_students_interval(seed):
    (values,) = drawn(seed, 1, 3 + seed)
    low, high = stats.t.interval(0.95, len(values) - 1, np.mean(values), stats.sem(values))
    ours = stratified_mean([values])
    assert (ours.value, ours.low, ours.high) == pytest.approx((np.mean(values), low, high))


@pytest.mark.parametrize("seed", range(5))
def test_the_sum_of_two_tasks_has_welchs_interval(seed):
    """The difference of two means is the sum of one and the other's negative."""
    a, b = drawn(seed, 2, 4)
    b = [*b, 0.3, 1.7]
    welch = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    ours = stratified_mean([a, [-value for value in b]])
    assert (2 * ours.low, 2 * ours.high) == pytest.approx((welch.low, welch.high))


def test_one_value_has_a_mean_and_no_interval_and_none_has_neither():
    assert stratified_mean([[4.0]]) == Estimate(4.0, None, None)
    assert math.isnan(stratified_mean([[], []]).value)


def test_one_run_of_each_of_many_tasks_is_as_unsure_as_tasks_are_different():
    low, high = stats.t.interval(0.95, 3, 2.5, stats.sem([1, 2, 3, 4]))
    ours = stratified_mean([[1.0], [2.0], [3.0], [4.0]])
    assert (ours.low, ours.high) == pytest.approx((low, high))


@settings(deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=4))
def test_a_mean_lies_in_its_interval(strata):
    ours = stratified_mean(strata)
    assert ours.low <= ours.value <= ours.high
    assert ours.value == pytest.approx(np.mean([np.mean(values) for values in strata]), abs=1e-6)


# Interquartile means, as rliable defines them: scipy's trimmed mean of all scores of all tasks


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(-100, 100), min_size=5, max_size=5), min_size=1, max_size=6))
def test_the_interquartile_mean_is_rliables(strata):
    expected = stats.trim_mean(np.array(strata), proportiontocut=0.25, axis=None)
    assert interquartile_mean(strata).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_of_one_tasks_interquartile_mean_is_yuens(seed):
    (values,) = drawn(seed, 1, 8 + seed)
    n, cut = len(values), len(values) // 4
    winsorised = stats.mstats.winsorize(np.array(values), limits=(cut / n, cut / n))
    kept = n - 2 * cut
    error = math.sqrt((n - 1) * np.var(winsorised, ddof=1) / (kept * (kept - 1)))
    half = stats.t.ppf(0.975, kept - 1) * error
    ours = interquartile_mean([values])
    assert (ours.low, ours.high) == pytest.approx((ours.value - half, ours.value + half))


def test_the_interval_of_an_interquartile_mean_over_tasks_agrees_with_a_bootstrap_of_many_runs():
    strata = drawn(3, 4, 150)
    ours = interquartile_mean(strata)
    bootstrap = stratified_bootstrap(strata, lambda values: interquartile_mean_value(values), resamples=1500)
    width = bootstrap.high - bootstrap.low
    assert ours.low == pytest.approx(bootstrap.low, abs=0.12 * width)
    assert ours.high == pytest.approx(bootstrap.high, abs=0.12 * width)


def interquartile_mean_value(strata) -> float:
    return float(stats.trim_mean(np.concatenate([np.asarray(values) for values in strata]), 0.25))


def test_single_runs_have_an_interquartile_mean_with_an_interval_over_tasks_and_one_has_none():
    assert interquartile_mean([[2.0]]) == Estimate(2.0, None, None)
    assert interquartile_mean([[1.0], [2.0], [3.0], [4.0], [9.0]]).low < 3
    assert math.isnan(interquartile_mean([]).value)


# The bootstrap


def test_the_bootstrap_of_one_task_agrees_with_archs():
    (values,) = drawn(2, 1, 30)
    theirs = IIDBootstrap(np.array(values), seed=np.random.default_rng(1)).conf_int(
        lambda sample: sample.mean(), reps=4000, method="percentile"
    )
    ours = stratified_bootstrap([values], lambda strata: sum(strata[0]) / 30, resamples=4000)
    width = theirs[1, 0] - theirs[0, 0]
    assert (ours.low, ours.high) == pytest.approx((theirs[0, 0], theirs[1, 0]), abs=0.06 * width)


def test_the_bootstrap_draws_within_tasks_as_rliable_does():
    """Between tasks lies a world, within them nothing: stratified resampling finds no spread."""
    ours = stratified_bootstrap([[0.0] * 4, [100.0] * 4], lambda strata: sum(map(sum, strata)))
    assert (ours.low, ours.value, ours.high) == (400, 400, 400)


def test_the_bootstrap_is_repeatable_and_says_nothing_of_single_runs():
    strata = drawn(1, 2, 5)
    assert stratified_bootstrap(strata, first_mean) == stratified_bootstrap(strata, first_mean)
    assert stratified_bootstrap([[1.0]], first_mean) == Estimate(1.0, None, None)
    assert math.isnan(stratified_bootstrap([], first_mean).value)


def first_mean(strata) -> float:
    return sum(strata[0]) / len(strata[0])


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.floats(0, 1))
def test_quantiles_are_numpys(values, probability):
    assert quantile(sorted(values), probability) == pytest.approx(np.quantile(values, probability), abs=1e-9)


# pass@k


@settings(deadline=None)
@given(st.integers(1, 9), st.data())
def test_pass_at_k_is_the_share_of_groups_of_k_runs_that_hold_a_success(n, data):
    successes, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    outcomes = [True] * successes + [False] * (n - successes)
    groups = list(itertools.combinations(outcomes, k))
    ours = pass_at_k([(successes, n)], k)
    assert ours.value == pytest.approx(sum(map(any, groups)) / len(groups))
    assert 0 <= ours.low <= ours.value <= ours.high <= 1


def test_pass_at_1_is_the_success_rate_and_tasks_with_too_few_runs_are_left_out():
    assert pass_at_k([(3, 8)], 1) == stratified_rate([(3, 8)])
    assert pass_at_k([(3, 8), (1, 2)], 3).value == pass_at_k([(3, 8)], 3).value
    assert math.isnan(pass_at_k([(1, 2)], 3).value)
    with pytest.raises(ValueError, match="at least 1"):
        pass_at_k([(1, 2)], 0)


# Probability of improvement, as rliable defines it: the mean over tasks of Mann and Whitney's U


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 5), min_size=1, max_size=6),
            st.lists(st.integers(0, 5), min_size=1, max_size=6),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_probability_of_improvement_is_rliables(pairs):
    expected = np.mean(
        [
            stats.mannwhitneyu(x, y).statistic / (len(x) * len(y)) if len({*x, *y}) > 1 else 0.5
            for x, y in pairs
        ]
    )
    ours = probability_of_improvement(pairs)
    assert ours.value == pytest.approx(expected)
    assert 0 <= ours.low <= ours.value <= ours.high <= 1
    assert ours.low < ours.high


def test_against_itself_the_probability_is_a_half_and_turned_round_it_is_the_rest():
    (a,), (b,) = drawn(1, 1, 5), drawn(2, 1, 7)
    assert probability_of_improvement([(a, a)]).value == 0.5
    there, back = probability_of_improvement([(a, b)]), probability_of_improvement([(b, a)])
    assert (there.value, there.low, there.high) == pytest.approx(
        (1 - back.value, 1 - back.high, 1 - back.low)
    )


def test_one_run_each_leaves_the_probability_almost_open():
    ours = probability_of_improvement([([1.0], [0.0])])
    assert ours.value == 1 and ours.low == pytest.approx(wilson(1, 1).low)


# Performance profiles and the gap to the best


def test_a_performance_profile_is_the_share_of_runs_above_each_threshold():
    strata = [[0.1, 0.2, 0.3, 0.4], [0.3, 0.3]]
    profile = performance_profile(strata, [0.0, 0.25, 0.3, 0.4])
    expected = [
        np.mean([np.mean(np.array(values) > tau) for values in strata]) for tau in (0.0, 0.25, 0.3, 0.4)
    ]
    assert [share.value for _, share in profile] == pytest.approx(expected)


def test_the_optimality_gap_is_rliables():
    strata = drawn(4, 3, 6)
    expected = np.mean([1.0 - np.minimum(np.array(values), 1.0) for values in strata])
    assert optimality_gap(strata).value == pytest.approx(expected)


# Estimates


def test_intervals_overlap_unless_both_are_known_and_apart():
    assert Estimate(1, 0, 2).overlaps(Estimate(2, 1.5, 3))
    assert not Estimate(1, 0, 2).overlaps(Estimate(4, 3, 5))
    assert Estimate(1, None, None).overlaps(Estimate(4, 3, 5))


def test_a_difference_has_a_sign_where_zero_is_outside_of_its_interval():
    signs = [
        Estimate(1, 0.1, 2).sign,
        Estimate(-1, -2, -0.1).sign,
        Estimate(1, 0, 2).sign,
        Estimate(1, None, None).sign,
    ]
    assert signs == [1, -1, 0, 0]


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 10_000))
def test_ninety_five_percent_intervals_of_normal_runs_hold_the_mean_about_so_often(seed):
    """A coarse guard; benchmarks/coverage.py measures it."""
    draw = random.Random(seed)
    hits = 0
    for _ in range(300):
        ours = stratified_mean([[draw.gauss(task, 1 + task) for _ in range(4)] for task in range(3)])
        hits += ours.low <= 1 <= ours.high
    assert 0.90 < hits / 300 <= 1.0
