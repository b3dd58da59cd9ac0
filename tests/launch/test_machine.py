"""Cores, memory and GPUs are handed out once each, and given back."""

from __future__ import annotations

import pytest

from mlagentbench.launch.machine import Machine, Needs
from mlagentbench.launch.plan import Resources

GB = 10**9


def machine(**resources: int) -> Machine:
    return Machine(Resources.model_validate(resources), cores=(0, 1, 2, 3), gpus=("0", "1"), memory=16 * GB)


def test_nobody_shares_a_core_or_a_gpu():
    of = machine()
    first, second = of.take(Needs(1, GB, 1)), of.take(Needs(3, GB, 1))
    assert first is not None and second is not None
    assert {*first.cores} | {*second.cores} == {0, 1, 2, 3} and not {*first.cores} & {*second.cores}
    assert (first.gpus, second.gpus) == (("0",), ("1",))
    assert of.take(Needs(1, GB)) is None, "no core is left"
    of.give_back(first)
    assert of.take(Needs(1, GB, 2)) is None, "one GPU is still in use"
    assert of.take(Needs(1, GB, 1)) == first


@pytest.mark.parametrize(
    ("needs", "at_once"), [(Needs(1, 4 * GB), 4), (Needs(1, 6 * GB), 2), (Needs(2, GB), 2)]
)
def test_as_many_as_the_scarcest_allows(needs: Needs, at_once: int):
    of = machine()
    assert [of.take(needs) is not None for _ in range(6)].count(True) == at_once


def test_cores_are_shared_where_the_user_says_so_but_not_by_runs_whose_speed_is_measured():
    of = machine(sharing=2)
    first = of.take(Needs(1, GB, alone=True))
    shares = [of.take(Needs(1, GB)) for _ in range(7)]
    assert first is not None and shares[6] is None, "three cores are left, for two runs each"
    taken = [core for share in shares[:6] if share for core in share.cores]
    assert sorted(taken) == sorted([*({0, 1, 2, 3} - {*first.cores})] * 2)
    assert of.take(Needs(1, GB, alone=True)) is None
    of.give_back(first)
    again = of.take(Needs(1, GB, alone=True))
    assert again == first


def test_no_more_than_the_user_says():
    of = machine(parallel=2)
    assert [of.take(Needs(1, GB)) is not None for _ in range(4)].count(True) == 2


def test_what_needs_more_than_there_is_gets_all_of_it_alone():
    of = machine()
    small = of.take(Needs(1, GB))
    assert small is not None
    assert of.take(Needs(64, 640 * GB)) is None
    of.give_back(small)
    large = of.take(Needs(64, 640 * GB))
    assert large is not None and large.cores == (0, 1, 2, 3) and large.memory == 16 * GB
    assert of.take(Needs(1, 1)) is None


def test_memory_that_nobody_spoke_of_is_a_fair_part():
    assert machine().usual_memory(2) <= 8 * GB
    assert machine(parallel=1).usual_memory(1) >= machine().usual_memory(1) >= GB
