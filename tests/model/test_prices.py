"""What calls cost: dated published prices, the user's own, and unknown where nobody knows."""

from __future__ import annotations

from datetime import date

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.model import (
    Completion,
    Meter,
    Metered,
    MockModel,
    Price,
    Sampling,
    Usage,
    cost,
    parse_prices,
)
from mlagentbench.model.prices import price_of, table

MILLION = 1_000_000


def test_a_published_price_counts_cached_and_written_input_apart():
    usage = Usage(input=3 * MILLION, cached=MILLION, cache_written=MILLION, output=MILLION)
    assert cost(usage, "anthropic/claude-opus-4-5") == pytest.approx(5 + 0.5 + 6.25 + 25)


def test_a_dated_name_has_the_price_of_its_model():
    usage = Usage(input=MILLION)
    assert cost(usage, "openai/gpt-4.1-2025-04-14") == cost(usage, "openai/gpt-4.1") == 2
    assert cost(usage, "anthropic/claude-haiku-4-5-20251001") == 1


def test_a_dated_name_with_a_price_of_its_own_has_that():
    usage = Usage(input=MILLION, output=MILLION)
    assert cost(usage, "openai/gpt-4o-2024-05-13") == 20
    assert cost(usage, "openai/gpt-4o-2024-08-06") == cost(usage, "openai/gpt-4o") == 12.5


def test_cached_input_costs_less_at_every_provider_that_has_a_cache():
    usage = Usage(input=MILLION, cached=MILLION)
    assert cost(usage, "google/gemini-2.5-flash") == pytest.approx(0.03)
    usage = Usage(input=100_000, cached=50_000, cache_written=50_000)
    assert cost(usage, "openai/gpt-5.6-sol") == pytest.approx(0.02 + 0.25)


@pytest.mark.parametrize(
    "model", ["openai/gpt-4.1-something", "openai/gpt-99", "together/x/y", "openai/gpt-4.10"]
)
def test_an_unknown_price_is_unknown_not_zero(model):
    assert cost(Usage(input=1, output=1), model) is None


@pytest.mark.parametrize(
    "model", ["local/qwen2.5-coder-1.5b", "ollama/x:7b", "huggingface/a/b", "mock/f", "human"]
)
def test_what_runs_on_the_own_machine_costs_nothing(model):
    assert cost(Usage(input=MILLION, output=MILLION), model) == 0


def test_long_prompts_have_their_own_price_or_none():
    assert cost(Usage(input=200_000), "google/gemini-3.1-pro-preview") == pytest.approx(0.4)
    assert cost(Usage(input=300_000), "google/gemini-3.1-pro-preview") == pytest.approx(1.2)
    assert cost(Usage(input=300_000), "openai/gpt-6-sol") is None


def test_the_users_price_wins():
    own = parse_prices(["openai/gpt-4.1=1,2,0.5", "together/a=b=3,4"])
    usage = Usage(input=2 * MILLION, cached=MILLION, output=MILLION)
    assert cost(usage, "openai/gpt-4.1", own) == pytest.approx(1 + 0.5 + 2)
    assert cost(usage, "openai/gpt-4.1", {"openai/gpt-4.1": (1.0, 2.0)}) == pytest.approx(2 + 2)
    assert price_of("together/a=b", 0, own) == Price(input=3, output=4)


@pytest.mark.parametrize(
    "text", ["gpt", "gpt=1", "=1,2", "gpt=1,2,3,4", "gpt=a,b", "gpt=-1,2", "gpt=nan,1", "gpt="]
)
def test_a_price_that_is_not_one_is_explained(text):
    with pytest.raises(UsageError, match="is not a price"):
        parse_prices([text])


def test_every_row_is_dated_and_sourced_and_output_is_not_cheaper_than_input():
    for row in table():
        assert date.fromisoformat(row.date) <= date.today()
        assert row.source
        assert row.output >= row.input >= (row.cached or 0)


def test_the_meter_counts_by_role_and_knows_what_it_does_not_know():
    meter = Meter()
    used = Completion(
        text="", usage=Usage(input=MILLION), stop_reason="stop", model="", latency=2, waited=1, retries=("x",)
    )
    meter.add("act", "openai/gpt-4.1", used)
    meter.add("fast", "openai/gpt-4.1-mini", used)
    assert meter.total.cost == pytest.approx(2.4)
    assert meter.by_role["fast"].cost == pytest.approx(0.4)
    assert (meter.total.calls, meter.total.tokens, meter.total.waited, meter.total.retries) == (
        2,
        2 * MILLION,
        2,
        2,
    )
    meter.add("edit", "together/nobody-knows", used)
    assert meter.total.cost is None
    assert (meter.total.known_cost, meter.total.unpriced) == (pytest.approx(2.4), 1)


def test_a_metered_model_counts_what_it_answers():
    meter = Meter({"mock": (1.0, 1.0)})
    Metered(MockModel(["x" * 4_000_000]), meter, "edit").complete([], Sampling())
    assert meter.by_role["edit"].cost == pytest.approx(1.0)
