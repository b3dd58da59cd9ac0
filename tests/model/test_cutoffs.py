"""Until when models were trained."""

from __future__ import annotations

import re

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.model.cutoffs import cutoff_of, cutoffs, parse_cutoffs


def test_every_row_has_a_source_and_a_date():
    for row in cutoffs():
        assert row.source and re.fullmatch(r"20\d\d-\d\d-\d\d", row.date)
        assert row.cutoff < row.date


def test_a_stated_cutoff_is_found_whatever_date_the_name_ends_with():
    assert cutoff_of("anthropic/claude-sonnet-4-5") == "2025-01"
    assert cutoff_of("anthropic/claude-sonnet-4-5-20250929") == "2025-01"


def test_what_nobody_states_is_unknown_and_what_the_user_says_comes_first():
    assert cutoff_of("local/qwen2.5-coder-1.5b") is None
    told = parse_cutoffs(["local/qwen2.5-coder-1.5b=2024-03", "anthropic/claude-sonnet-4-5=2025-07-31"])
    assert cutoff_of("local/qwen2.5-coder-1.5b", told) == "2024-03"
    assert cutoff_of("anthropic/claude-sonnet-4-5-20250929", told) == "2025-07"


@pytest.mark.parametrize("text", ["", "2024-06", "a/b=2024", "a/b=2024-13", "=2024-06", "a/b=soon"])
def test_what_is_no_cutoff_is_refused_with_an_example(text):
    with pytest.raises(UsageError, match="write it like openai"):
        parse_cutoffs([text])
