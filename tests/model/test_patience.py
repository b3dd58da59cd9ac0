"""How long to wait for a provider, said in two numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.model import Completion, Patience, RateLimitedError, Sampling, UnavailableError, Usage
from mlagentbench.model.options import CallOptions
from mlagentbench.model.retrying import Retrying


class Failing:
    """Fails so many times, then answers."""

    name, speaks_tools = "test/failing", False

    def __init__(self, times: int, error: Exception) -> None:
        self.times, self.error, self.asked = times, error, 0

    def complete(self, messages, sampling, tools=()):
        self.asked += 1
        if self.asked <= self.times:
            raise self.error
        return Completion(text="x", usage=Usage(), stop_reason="stop", model="x", latency=0)


def test_the_options_of_a_run_that_says_nothing_are_the_usual_patience():
    usual = CallOptions()
    assert Patience.within(usual.retries, usual.patience) == Patience()


_SECONDS = st.just(0.0) | st.floats(1e-6, 10_000)
"""Nobody waits for less than a microsecond, and such numbers have no digits left to share out."""


@given(retries=st.integers(0, 60), total=_SECONDS, chance=st.floats(0, 0.999))
def test_every_retry_is_made_and_all_waits_together_are_within_the_total(retries, total, chance):
    naps: list[float] = []
    model = Failing(retries, UnavailableError("down"))
    patience = Patience.within(retries, total)
    Retrying(model, patience, sleep=naps.append, chance=lambda: chance).complete([], Sampling())
    assert len(naps) == retries
    assert sum(naps) <= total
    assert naps == sorted(naps), "each wait is as long as the one before, or longer"


def test_a_provider_that_asks_for_more_than_a_third_of_it_is_not_waited_for():
    naps: list[float] = []
    model = Failing(2, RateLimitedError("slow", retry_after=10))
    Retrying(model, Patience.within(2, 30), sleep=naps.append).complete([], Sampling())
    assert naps == [10, 10]
    with pytest.raises(RateLimitedError, match="because it asks to wait"):
        Retrying(Failing(1, model.error), Patience.within(2, 29), sleep=naps.append).complete([], Sampling())
