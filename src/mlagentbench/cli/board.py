"""Looking on while an experiment goes on: a table that is drawn anew on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from mlagentbench.cli.screen import PlainScreen, Screen, cleaned
from mlagentbench.cli.words import number, percent, shortened
from mlagentbench.launch.board import Board, Line, Nobody, Onlooker
from mlagentbench.units import format_duration

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

_MOST_ROWS = 24
_MOST_RUNNING = 8
_LONGEST_NOTE = 80
_CLOSE = 1.5
"""Where the longest time is less than so many times the shortest, one number says it."""
_FIGURES = {"runs": 8, "valid": 5, "success": 7, "score": 7, "improvement": 11, "cost": 6}
"""Columns with the width that none of them goes below."""


@contextmanager
def open_onlooker(screen: Screen, *, json: bool = False) -> Iterator[Onlooker]:
    """A table on a terminal; elsewhere a line for whatever happens."""
    if isinstance(screen, PlainScreen):
        yield Lines(screen)
        return
    from rich.console import Console
    from rich.live import Live

    console = Console(file=sys.stderr if json else sys.stdout, highlight=False)
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield Table(console, live)


class Lines(Nobody):
    """One line for each thing that happens to a run."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def preparing(self, text: str) -> None:
        self._screen.line(text)

    def opened(self, board: Board) -> None:
        self._screen.line(head_of(board))

    def noted(self, board: Board, text: str) -> None:
        self._screen.line(text)

    def said(self, board: Board, line: Line, text: str) -> None:
        cell = line.cell
        self._screen.line(f"{cell.task_name} · {cell.who} · seed {cell.seed}: {text}")

    def moved(self, board: Board, line: Line, text: str) -> None:
        done = board.count("ended", "held", "lost")
        self._screen.line(
            f"[{done}/{len(board.lines)}] {name_of(line)}: {outcome_of(line, text)}{left_of(board)}"
        )


class Table:
    """Drawn at most four times a second. What is noted of the whole scrolls by above it; what a run says stands in its
    line, and in its record."""

    def __init__(self, console: Console, live: Live) -> None:
        self._console = console
        self._live = live
        self._drawn_at = 0.0

    def preparing(self, text: str) -> None:
        self._print(text)

    def opened(self, board: Board) -> None:
        self._draw(board)

    def noted(self, board: Board, text: str) -> None:
        self._print(text)

    def moved(self, board: Board, line: Line, text: str) -> None:
        if text not in ("started", "goes on", "ended"):
            self._print(f"{name_of(line)}: {outcome_of(line, text)}")

    def said(self, board: Board, line: Line, text: str) -> None: ...

    def ticked(self, board: Board) -> None:
        if time.monotonic() - self._drawn_at >= 0.25:
            self._draw(board)

    def _print(self, text: str) -> None:
        from rich.text import Text

        self._console.print(Text(cleaned(text)))

    def _draw(self, board: Board) -> None:
        self._drawn_at = time.monotonic()
        self._live.update(picture_of(board), refresh=True)


def head_of(board: Board) -> str:
    ended, all_of_them = board.count("ended"), len(board.lines)
    words = [f"{board.name}: {ended} of {all_of_them} runs done"]
    if running := board.count("running"):
        words.append(f"{running} going on")
    if measured := sum(each.state == "running" for each in board.measurings):
        words.append(f"{measured} references being measured")
    if died := sum(line.died for line in board.lines):
        words.append(f"{died} died")
    if held := board.count("held"):
        words.append(f"{held} held back")
    if board.cost is None:
        words.append("cost not known")
    elif board.cost:
        words.append(f"{board.cost:.2f} dollars")
    if board.stopping:
        words.append("stopping")
    return ", ".join(words) + left_of(board)


def left_of(board: Board) -> str:
    """How long it will take; before enough is known, that it is not."""
    if board.stopping or not board.count("missing", "unfinished", "running"):
        return ""
    span = board.time_left()
    if span is None:
        return "; time left not known yet"
    if span.high < _CLOSE * max(span.low, 1.0):
        return f"; about {format_duration((span.low + span.high) / 2)} left"
    return f"; {format_duration(span.low)} to {format_duration(span.high)} left"


def name_of(line: Line) -> str:
    cell = line.cell
    data = f", data seed {cell.data_seed}" if cell.data_seed else ""
    return f"{cell.task_name} ({cell.variant}{data}) · {_without_folders(cell.who)} · seed {cell.seed}"


def _without_folders(who: str) -> str:
    """A scripted model's file by its name alone."""
    before, slashes, path = who.partition("mock//")
    return f"{before}mock/…/{Path(path).name}" if slashes else who


def outcome_of(line: Line, text: str) -> str:
    """What came of it, in a few words."""
    summary = line.summary
    if summary is None:
        return shortened(text, 400)
    grade = summary.grade
    if grade is None:
        verdict = "not graded"
    elif not grade.valid:
        verdict = "not valid"
    else:
        verdict = f"score {number(grade.score)} ({percent(grade.improvement)})"
    return f"{summary.ended} after {summary.steps} steps, {verdict}, {format_duration(line.seconds or summary.elapsed)}"


def picture_of(board: Board) -> RenderableType:
    """The whole experiment, group by group, and below it the runs that go on."""
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold")
    for column in ("task", "agent"):
        grid.add_column(column, overflow="ellipsis")
    for column, width in _FIGURES.items():
        grid.add_column(column, justify="right", no_wrap=True, min_width=width)
    groups = sorted(board.groups(), key=lambda each: all(line.state == "ended" for line in each[1]))
    for (task, variant, _, who), lines in groups[:_MOST_ROWS]:
        grid.add_row(
            Text(cleaned(f"{Path(task).name} ({variant})")),
            Text(cleaned(_without_folders(who)), "cyan"),
            _bar(lines),
            *_figures(lines),
        )
    parts: list[RenderableType] = [Text(cleaned(head_of(board)), "bold"), grid]
    if len(groups) > _MOST_ROWS:
        parts.append(Text(f"… and {len(groups) - _MOST_ROWS} more rows", "dim"))
    running = [line for line in board.lines if line.state == "running"]
    for line in running[:_MOST_RUNNING]:
        spent = format_duration(time.monotonic() - line.began)
        said = f", {shortened(line.note, _LONGEST_NOTE)}" if line.note else ""
        parts.append(Text(cleaned(f"  {name_of(line)}: step {line.step}, {spent}{said}"), "dim"))
    for measuring in board.measurings:
        if measuring.state == "running":
            parts.append(Text(cleaned(f"  measuring the {measuring.told}"), "dim"))
    return Group(*parts)


def _bar(lines: list[Line]) -> str:
    """`3/8 ▶2`: done of all, and how many go on."""
    done, running = (sum(line.state == state for line in lines) for state in ("ended", "running"))
    return f"{done}/{len(lines)}" + (f" ▶{running}" if running else "")


def _figures(lines: list[Line]) -> list[str]:
    """Valid, successes, mean score, mean improvement and cost of the runs that have ended; every one counts."""
    ended = [line.summary for line in lines if line.summary is not None]
    costs = [line.summary.cost if line.summary else line.cost for line in lines]
    cost = "–" if any(each is None for each in costs) else f"${sum(each or 0 for each in costs):.2f}"
    if not ended:
        return ["", "", "", "", cost]
    grades = [summary.grade for summary in ended if summary.grade is not None and summary.grade.valid]
    scores = [grade.score for grade in grades if grade.score is not None]
    known = [grade.improvement for grade in grades if grade.improvement is not None]
    gains = known + [0.0] * (len(ended) - len(grades))
    return [
        str(len(grades)),
        f"{sum(bool(grade.success) for grade in grades)}/{len(ended)}",
        number(fmean(scores)) if scores else "–",
        percent(fmean(gains)) if gains else "–",
        cost,
    ]
