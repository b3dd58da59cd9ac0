"""An agent over all of its tasks."""

from __future__ import annotations

import pytest
from support.histories import History
from support.runs import graded, write_run

from mlagentbench.evaluation.overview import overview
from mlagentbench.evaluation.profile import make_profile
from mlagentbench.evaluation.statistics import pass_at_k, stratified_rate


@pytest.fixture
def profiles(tmp_path):
    """Two tasks, three runs each; one run crashed and has no grade, one left nothing valid."""

    def one(task, seed, gain, **more):
        run = History().call(cost=0.5).step("Execute Script", ran=True).step("Final Answer").end()
        return make_profile(
            write_run(
                tmp_path,
                f"{task}-{seed}",
                run.events,
                [graded("snapshot-2", gain, **more)],
                task=f"{task}@1",
                seed=seed,
            )
        )

    crashed = write_run(
        tmp_path, "crashed", History().call(cost=None).end("error").events, task="imdb@1", seed=2
    )
    return [
        one("cifar10", 0, 0.4, over_plain=0.2, position=0.8),
        one("cifar10", 1, 0.25, over_plain=0.05, position=0.5),
        one("cifar10", 2, 0.15, over_plain=-0.1, position=0.3),
        one("imdb", 0, 0.5),
        one("imdb", 1, None),
        make_profile(crashed),
    ]


def test_every_run_counts_and_every_task_weighs_the_same(profiles):
    (found,) = overview(profiles)
    assert (found.tasks, found.runs, found.valid) == (2, 6, 4)
    assert found.ended == {"submitted": 5, "error": 1}
    assert found.success == stratified_rate([(3, 3), (1, 3)])
    assert found.improvement.value == pytest.approx((0.8 / 3 + 0.5 / 3) / 2)
    assert found.success_at["20%"].value == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert found.pass_at == {k: pass_at_k([(3, 3), (1, 3)], k) for k in (1, 2, 3)}
    assert found.pass_at[3].value == 1


def test_what_was_not_measured_is_left_out_and_what_is_not_valid_is_not(profiles):
    (found,) = overview(profiles)
    assert found.over_plain.value == pytest.approx((1 / 3 + 0 / 2) / 2)
    assert found.position.value == pytest.approx((1.6 / 3 + 0) / 2)
    assert found.gap.value == pytest.approx((1.4 / 3 + 1) / 2)
    assert found.lost_since_best.low is None


def test_costs_are_means_of_the_runs_whose_price_is_known(profiles):
    (found,) = overview(profiles)
    assert (found.cost.value, found.unpriced) == (0.5, 1)
    assert found.tokens_in.value == 100
    assert found.seconds["model"].value == 1.0
    assert found.seconds["execution"].value == pytest.approx((0.5 + 2 / 3 * 0.5) / 2)
    assert found.process["experiments"].value == pytest.approx((1 + 2 / 3) / 2)
    assert found.peak_memory == 1000


def test_the_performance_profile_falls_from_all_to_none(profiles):
    (found,) = overview(profiles)
    shares = [share.value for _, share in found.profile]
    assert shares[0] == 1 and shares[-1] == 0
    assert shares == sorted(shares, reverse=True)


def test_no_runs_have_no_overview():
    assert overview([]) == []
