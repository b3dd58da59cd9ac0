"""Retries are bounded, patient, and told."""

from __future__ import annotations

import pytest

from mlagentbench.model import (
    Message,
    MockModel,
    Patience,
    RateLimitedError,
    RefusedError,
    Sampling,
    Scripted,
    UnavailableError,
)
from mlagentbench.model.retrying import Retrying

HELLO = [Message(role="user", content="hello")]


class Clock:
    """Time that passes only while somebody sleeps, or while a request is made."""

    def __init__(self) -> None:
        self.now = 0.0
        self.naps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


def failing(clock, *errors, takes=0.5):
    """A model that fails with these errors first, each request taking half a second."""
    left = list(errors)

    def script(messages, sampling, tools):
        clock.now += takes
        if left:
            raise left.pop(0)
        return Scripted(text="done")

    return MockModel(script)


def patient(model, clock, chance=0.0, **patience):
    return Retrying(model, Patience(**patience), sleep=clock.sleep, clock=clock, chance=lambda: chance)


def test_waits_double_up_to_the_longest_and_are_counted_apart_from_the_request():
    clock = Clock()
    errors = [UnavailableError(f"fault {n}") for n in range(6)]
    model = patient(failing(clock, *errors), clock, first=1, longest=8)
    completion = model.complete(HELLO, Sampling())
    assert clock.naps == [1, 2, 4, 8, 8, 8]
    assert completion.waited == pytest.approx(sum(clock.naps) + 6 * 0.5)
    assert completion.retries == tuple(f"fault {n}" for n in range(6))


def test_a_quarter_of_each_wait_is_left_to_chance():
    clock = Clock()
    patient(failing(clock, UnavailableError("x")), clock, chance=1.0, first=4).complete(HELLO, Sampling())
    assert clock.naps == [3.0]


def test_a_provider_that_asks_for_a_longer_wait_gets_it():
    clock = Clock()
    patient(failing(clock, RateLimitedError("x", retry_after=42)), clock).complete(HELLO, Sampling())
    assert clock.naps == [42]


def test_a_provider_that_asks_for_an_hour_does_not_get_it():
    clock = Clock()
    with pytest.raises(RateLimitedError, match="asks to wait 60 m"):
        patient(failing(clock, RateLimitedError("x", retry_after=3600)), clock).complete(HELLO, Sampling())
    assert clock.naps == []


def test_requests_are_bounded():
    clock = Clock()
    model = failing(clock, *[UnavailableError("down") for _ in range(99)])
    with pytest.raises(UnavailableError, match="down Gave up after 3 requests"):
        patient(model, clock, attempts=3).complete(HELLO, Sampling())
    assert model.calls == 3


def test_waiting_is_bounded():
    clock = Clock()
    model = failing(clock, *[UnavailableError("down") for _ in range(99)])
    with pytest.raises(UnavailableError, match="of waiting"):
        patient(model, clock, attempts=99, first=10, longest=10, total=35).complete(HELLO, Sampling())
    assert sum(clock.naps) == 30


def test_what_cannot_pass_is_not_tried_again():
    clock = Clock()
    model = failing(clock, RefusedError("no"))
    with pytest.raises(RefusedError, match=r"^no$"):
        patient(model, clock).complete(HELLO, Sampling())
    assert (model.calls, clock.naps) == (1, [])


def test_waiting_can_be_interrupted():
    clock = Clock()

    def interrupted(seconds):
        raise KeyboardInterrupt

    model = Retrying(failing(clock, UnavailableError("x")), Patience(), sleep=interrupted, clock=clock)
    with pytest.raises(KeyboardInterrupt):
        model.complete(HELLO, Sampling())


def test_a_completion_without_retries_is_handed_on_as_it_is():
    clock = Clock()
    completion = patient(failing(clock), clock).complete(HELLO, Sampling())
    assert (completion.retries, completion.waited) == ((), 0.0)
