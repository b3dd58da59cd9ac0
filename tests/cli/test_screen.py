"""What people see: aligned and plain in a file, coloured on a terminal, and never steered by what an agent printed."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from mlagentbench.cli.live import MOST_LINES, LiveWatch
from mlagentbench.cli.screen import PlainScreen, RichScreen
from mlagentbench.cli.words import arguments_of, estimate, shortened
from mlagentbench.evaluation.statistics import Estimate
from mlagentbench.record import Action

HOSTILE = "\x1b]0;title\x07\x1b[2J\x1b[31m\x9b2Jred\u202e\x08 [bold]x[/bold] \udcff"


def rich_screen() -> tuple[RichScreen, io.StringIO]:
    stream = io.StringIO()
    return RichScreen(Console(file=stream, force_terminal=True, width=60, highlight=False)), stream


def test_a_plain_table_is_aligned():
    stream = io.StringIO()
    PlainScreen(stream).table(["agent", ">runs"], [["oracle", "3"], [("starter", "name"), "12"]])
    assert stream.getvalue() == "agent    runs\noracle      3\nstarter    12\n"


def test_hostile_text_is_shown_as_text():
    plain = io.StringIO()
    PlainScreen(plain).line(HOSTILE)
    assert not set(plain.getvalue()) & {"\x1b", "\x9b", "\u202e"}
    assert "[bold]x[/bold] \\udcff" in plain.getvalue()
    screen, stream = rich_screen()
    screen.line(HOSTILE)
    screen.table(["a"], [[HOSTILE]])
    assert "\x1b]0;" not in stream.getvalue() and "\x1b[2J" not in stream.getvalue()
    assert "\x07" not in stream.getvalue() and stream.getvalue().count("[bold]x[/bold]") == 2


@given(st.text())
def test_any_text_can_be_shown_and_none_reaches_a_plain_stream_with_control_characters(text):
    stream = io.StringIO()
    PlainScreen(stream).line(text)
    stream.getvalue().encode()
    assert not set(stream.getvalue()) & {chr(code) for code in range(32)} - {"\n", "\t"}


def test_a_passing_line_is_written_over_and_fits_the_terminal():
    screen, stream = rich_screen()
    screen.passing("50 % " + "#" * 500)
    screen.line("done")
    assert "#" * 60 not in stream.getvalue()
    assert stream.getvalue().endswith("\r\x1b[2Kdone\n")


def test_a_progress_bar_is_one_line_and_a_flood_is_cut():
    stream = io.StringIO()
    watch = LiveWatch(PlainScreen(stream))
    watch.output("".join(f"\r{percent} %" for percent in range(101)) + "\n")
    assert stream.getvalue() == "      100 %\n"
    for number in range(MOST_LINES * 3):
        watch.output(f"line {number}\n")
    assert stream.getvalue().count("\n") == MOST_LINES + 1
    assert "the record keeps all of it" in stream.getvalue()


def test_output_that_comes_in_pieces_is_shown_in_lines():
    stream = io.StringIO()
    watch = LiveWatch(PlainScreen(stream))
    for piece in ("hel", "lo\nwor", "ld\r", "\nend"):
        watch.output(piece)
    assert stream.getvalue() == "      hello\n      world\n"


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (Action("Write File", {"file_name": "a.py", "content": "x\ny\n"}), "a.py, content: 2 lines"),
        (Action("Execute Script", {"script_name": "a.py", "arguments": ["-v"]}), 'a.py, arguments: ["-v"]'),
        (Action("List Files", {}), ""),
    ],
)
def test_arguments_are_told_in_a_few_words(action, words):
    assert arguments_of(action) == words


def test_numbers_carry_their_intervals():
    assert estimate(Estimate(0.375, 0.1368, 0.6943), rate=True) == "38 % [14, 69]"
    assert estimate(Estimate(0.0552, -0.01, 0.1), signed=True) == "+5.5 % [-1.0, 10.0]"
    assert estimate(Estimate(1234.5678, None, None)) == "1234.6"
    assert estimate(Estimate(float("nan"), None, None)) == "–"
    assert len(shortened("word " * 100)) <= 72
