"""Until when models were trained."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from mlagentbench.errors import UsageError
from mlagentbench.model.cutoffs import cutoff_of, cutoffs, parse_cutoffs
from mlagentbench.model.prices import cost
from mlagentbench.model.spec import Usage

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


def test_every_row_has_a_source_and_a_date():
    for row in cutoffs():
        assert row.source and re.fullmatch(r"20\d\d-\d\d-\d\d", row.date)
        assert row.cutoff <= row.date


def test_a_stated_cutoff_is_found_whatever_date_the_name_ends_with():
    assert cutoff_of("anthropic/claude-sonnet-4-5") == "2025-01"
    assert cutoff_of("anthropic/claude-sonnet-4-5-20250929") == "2025-01"


def test_what_nobody_states_is_unknown_and_what_the_user_says_comes_first():
    assert cutoff_of("local/qwen2.5-coder-1.5b") is None
    told = parse_cutoffs(["local/qwen2.5-coder-1.5b=2024-03", "anthropic/claude-sonnet-4-5=2025-07-31"])
    assert cutoff_of("local/qwen2.5-coder-1.5b", told) == "2024-03"
    assert cutoff_of("anthropic/claude-sonnet-4-5-20250929", told) == "2025-07"


def test_every_model_of_the_papers_grids_has_a_cutoff_and_a_price():
    models = set()
    for grid in EXPERIMENTS.glob("paper-*.yaml"):
        named = yaml.safe_load(grid.read_text(encoding="utf-8"))["models"]
        models |= {each if isinstance(each, str) else each["model"] for each in named}
    assert len(models) == 7
    for model in sorted(models | {"openai/gpt-3.5-turbo", "openai/gpt-4-turbo", "anthropic/claude-1"}):
        assert cutoff_of(model) and cost(Usage(input=1, output=1), model), model
    assert cutoff_of("openai/gpt-4-0613") == "2021-09"
    assert cutoff_of("anthropic/claude-3-opus-20240229") == "2023-08"


@pytest.mark.parametrize("text", ["", "2024-06", "a/b=2024", "a/b=2024-13", "=2024-06", "a/b=soon"])
def test_what_is_no_cutoff_is_refused_with_an_example(text):
    with pytest.raises(UsageError, match="write it like openai"):
        parse_cutoffs([text])
