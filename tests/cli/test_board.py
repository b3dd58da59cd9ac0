"""An experiment as it is shown while it goes on."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from mlagentbench import load_task
from mlagentbench.cli.board import Lines, Table, head_of, picture_of
from mlagentbench.cli.screen import PlainScreen
from mlagentbench.grading import Grade
from mlagentbench.launch.board import Board, Line
from mlagentbench.launch.cells import Cell, Wanted
from mlagentbench.launch.plan import ModelEntry
from mlagentbench.record.summary import Summary


def line(seed: int, agent: str = "act", model: str = "mock/x", **said) -> Line:
    entry = ModelEntry(model=model) if model else None
    cell = Cell("house-price@1", "mini", 0, agent, "", {}, entry, {}, seed)
    return Line(Wanted(cell, load_task("house-price"), {}), **said)


def summary(score: float | None, cost: float | None = 0.5, ended: str = "submitted") -> Summary:
    grade = None
    if score is not None:
        grade = Grade(
            task="house-price@1", variant="mini", snapshot="s", valid=True, score=score, improvement=score / 100,
            success=score > 10,
        )  # fmt: skip
    return Summary(
        run="r", task="house-price@1", variant="mini", agent="act", model="mock/x", seed=0, network=False,
        sandbox="bwrap", head="", ended=ended, steps=7, failed_steps=0, actions={}, denied=0, elapsed=30.0,
        execution_wall=0, execution_cpu=0, peak_memory=0, cost=cost, grade=grade,
    )  # fmt: skip


@pytest.fixture
def board(tmp_path: Path) -> Board:
    lines = [
        line(0, state="ended", summary=summary(20.0), seconds=40.0),
        line(1, state="ended", summary=summary(None, ended="error"), seconds=20.0),
        line(2, state="running", step=3, cost=0.25),
        line(3),
        line(0, "starter", "", state="ended", summary=summary(0.0, 0.0)),
    ]
    return Board("mine", tmp_path, lines, lanes=2)


def drawn(board: Board) -> str:
    from rich.console import Console

    console = Console(file=io.StringIO(), width=140, force_terminal=True)
    console.print(picture_of(board))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_the_table_tells_progress_grades_and_cost_of_each_group(board):
    rows = [" ".join(row.split()) for row in drawn(board).split("\n")]
    text = "\n".join(rows)
    assert "3 of 5 runs done, 1 going on, 1.25 dollars" in text
    assert "2/4 ▶1" in text and "1/2" in text and "$1.25" in text
    assert "+10.0 %" in text, "a run without a grade has gained nothing, and counts"
    assert "seed 2: step 3" in text


def test_time_left_follows_from_runs_like_those_that_are_left(board):
    board.lines[2].state = "missing"
    span = board.time_left()
    assert span is not None and span.low < 35.0 < span.high
    assert re.search(r"; \d+ s to \d+ s left$|; about \d+ s left$", head_of(board))
    for each in board.lines:
        each.summary = None
    assert board.time_left() is None and head_of(board).endswith("; time left not known yet")
    for each in board.lines:
        each.state = "ended"
    assert "left" not in head_of(board)


def test_what_a_run_says_stands_in_its_line_and_scrolls_nothing_away(board):
    from rich.console import Console
    from rich.live import Live

    console = Console(file=io.StringIO(), width=140, force_terminal=True)
    with Live(console=console, auto_refresh=False) as live:
        table = Table(console, live)
        table.opened(board)
        assert isinstance(console.file, io.StringIO)
        before = console.file.getvalue()
        for number in range(50):
            board.lines[2].note = f"Experiment {number}"
            table.said(board, board.lines[2], board.lines[2].note)
        assert console.file.getvalue() == before
    assert "seed 2: step 3" in drawn(board) and "Experiment 49" in drawn(board)
    out = io.StringIO()
    Lines(PlainScreen(out)).said(board, board.lines[2], "Experiment 49")
    assert "seed 2: Experiment 49" in out.getvalue()


def test_an_unknown_price_makes_the_whole_cost_unknown(board):
    board.lines[0].summary = summary(1.0, None)
    assert "cost not known" in head_of(board)


def test_no_name_steers_the_terminal(board):
    board.lines.append(line(0, "x\x1b[2J\x07y", "mock/\x9b31m[bold]", state="running"))
    text = drawn(board)
    assert "\x1b[2J" not in text and "\x07" not in text and "\x9b" not in text
    assert "[bold]" in text, "nothing is read as markup"


def test_elsewhere_each_thing_is_a_line(board):
    out = io.StringIO()
    lines = Lines(PlainScreen(out))
    lines.opened(board)
    lines.moved(board, board.lines[0], "ended")
    lines.moved(board, board.lines[3], "held back: \x1b[31mno key")
    assert (
        out.getvalue()
        .splitlines()[1]
        .startswith(
            "[3/5] house-price@1 (mini) · act · mock/x · seed 0: submitted after 7 steps, score 20 (+20.0 %), 40 s"
        )
    )
    assert "held back: " in out.getvalue() and "\x1b" not in out.getvalue()
