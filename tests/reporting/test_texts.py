"""Whatever a text holds, it stays a text."""

from __future__ import annotations

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.reporting.texts import for_csv, for_html, for_latex, for_markdown, line_of, visible

ANY = st.text(st.characters(exclude_categories=()), max_size=200)
_BAD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


@given(ANY)
def test_nothing_invisible_is_left(text: str) -> None:
    for made in (visible(text), for_html(text), for_markdown(text), for_latex(text), for_csv(text)):
        assert not _BAD.search(made)
        made.encode()


@given(ANY)
def test_html_has_no_tag_and_means_the_same(text: str) -> None:
    made = for_html(text)
    assert not re.search("[<>\"']", made)
    assert unescape(made) == visible(text)


@given(ANY)
def test_markdown_is_one_line_without_links_tags_or_mentions(text: str) -> None:
    made = for_markdown(text)
    assert "\n" not in made and "<" not in made and not re.search(r"(?<!\w)@\w", made)
    assert not re.search(r"(?<!\\)(?:\\\\)*[|`*_\[\]]", made)


@given(ANY)
def test_latex_opens_and_closes_and_commands_are_ours(text: str) -> None:
    made = for_latex(text)
    ours = r"\\(?:text[a-z]+\{\}|ldots\{\}|[{}$&#_%])|\$(?:\\cdot|\\times|\\pm|-)\$|~"
    rest = re.sub(ours, "", made)
    assert not re.search(r"[\\{}$&#_%^~]", rest)
    assert all(ord(each) < 0x250 for each in made)


@given(ANY)
def test_no_spreadsheet_takes_a_text_for_a_formula(text: str) -> None:
    assert not re.match(r"[=+\-@\t\r]", for_csv(text))


@given(ANY, st.integers(5, 50))
def test_lines_are_bounded(text: str, longest: int) -> None:
    assert len(line_of(text, longest)) <= longest
    assert "\n" not in line_of(text, longest)


def test_what_is_made_visible_can_be_read() -> None:
    assert visible("a\x1b[31m\u202eb\n") == "a\\x1b[31m\\x202eb\n"
