"""Rounds over many processes that are slow to look at."""

from __future__ import annotations

import time

from mlagentbench.sandbox.measuring import Latest
from mlagentbench.sandbox.tree import Member


def member(pid: int) -> Member:
    return Member(pid, "R", 1, 0, 0.0)


def test_a_round_ends_when_its_time_is_over_and_the_next_begins_with_the_oldest():
    asked: list[int] = []

    def slow(each: Member) -> int:
        asked.append(each.pid)
        time.sleep(0.3)
        return each.pid

    latest = Latest(slow)
    crowd = [member(pid) for pid in range(1, 7)]
    rounds = [len(latest.of(crowd)) for _ in range(6)]
    assert rounds[0] <= 2
    assert rounds == sorted(rounds) and rounds[-1] == 6
    assert asked[:6] == [1, 2, 3, 4, 5, 6]


def test_all_of_few_are_measured_anew_and_those_that_ended_are_forgotten():
    latest = Latest(lambda each: each.pid * 10)
    assert latest.of([member(1), member(2)]) == [10, 20]
    assert latest.of([member(2)]) == [20]
