"""Words are the same whatever characters they were written with."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.service.words import words


@given(st.text())
def test_words_are_in_lower_case_and_without_accents(text: str) -> None:
    for word in words(text):
        assert word == word.casefold()
        assert not any(unicodedata.combining(each) for each in word)


def test_letters_of_formulas_are_letters() -> None:
    assert words("𝑨 Ｂｉｇ \u0130dea") == ["a", "big", "idea"]
