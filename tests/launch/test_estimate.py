"""How long an experiment still takes, on a clock that is simulated."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from itertools import product

import pytest

from mlagentbench.launch.estimate import Group, Left, Span, Took, time_left

TASKS, AGENTS = ("a", "b", "c"), ("quick", "slow")


def group(task: str, agent: str) -> Group:
    return task, "mini", 0, agent


def simulated(chance: random.Random, runs: int, lanes: int) -> Iterator[tuple[Span | None, float, bool]]:
    """After each end of a run: what is said to be left, what is, and whether every group was seen."""
    usual = {
        group(t, a): chance.lognormvariate(4 if a == "slow" else 2, 0.5) for t, a in product(TASKS, AGENTS)
    }
    waiting = [(each, usual[each] * chance.lognormvariate(0, 0.25)) for _ in range(runs) for each in usual]
    going_on: list[tuple[float, float, Group]] = []
    told: list[tuple[float, Span | None, bool]] = []
    took: list[Took] = []
    now = 0.0
    while waiting or going_on:
        while waiting and len(going_on) < lanes:
            each, seconds = waiting.pop(0)
            heapq.heappush(going_on, (now + seconds, now, each))
        now, began, ended = heapq.heappop(going_on)
        took.append(Took(ended, now - began))
        left = [Left(each, now - since) for _, since, each in going_on] + [Left(each) for each, _ in waiting]
        if left:
            told.append((now, time_left(took, left, lanes), len({each.group for each in took}) == len(usual)))
    for at, span, all_seen in told:
        yield span, now - at, all_seen


@pytest.mark.parametrize("lanes", [1, 2, 5])
def test_what_is_left_is_within_what_is_said_once_each_group_was_seen(lanes):
    right = looks = 0
    for seed in range(40):
        for span, really, all_seen in simulated(random.Random(seed), 6, lanes):
            if all_seen:
                assert span is not None
                looks += 1
                right += span.low <= really <= span.high
    assert looks > 500 and right / looks > 0.85


def test_it_grows_narrower_as_more_is_known():
    chance, slow = random.Random(0), group("a", "slow")
    took = [Took(slow, chance.uniform(50, 70)) for _ in range(16)]
    spans = [time_left(took[:known], [Left(slow)] * 16, 2) for known in (1, 4, 16)]
    widths = [span.high - span.low for span in spans if span is not None]
    assert len(widths) == 3 and widths == sorted(widths, reverse=True)


def test_nothing_is_said_while_nothing_or_too_little_is_known():
    quick, slow = group("a", "quick"), group("a", "slow")
    assert time_left([], [Left(quick)], 1) is None
    strange = [Left(group("b", "other"))] * 2
    assert time_left([Took(quick, 10.0)], [*strange, Left(quick)], 1) is None
    assert time_left([Took(quick, 10.0)], [Left(slow)], 1) == Span(5.0, 20.0), (
        "of the same task: a wide guess"
    )


def test_one_that_goes_on_for_longer_than_any_did_is_not_said_to_be_done():
    quick = group("a", "quick")
    span = time_left([Took(quick, 10.0)] * 3, [Left(quick, 100.0)], 4)
    assert span == Span(0.0, 50.0)


def test_more_lanes_than_runs_do_not_make_the_last_one_shorter():
    slow = group("a", "slow")
    one = time_left([Took(slow, 60.0)] * 4, [Left(slow)], 8)
    assert one is not None and one.low > 40
    assert time_left([Took(slow, 60.0)] * 4, [Left(slow)] * 8, 8) is not None
    assert time_left([Took(slow, 60.0)] * 4, [Left(slow)] * 9, 8).low > 1.7 * 50  # type: ignore[union-attr]
