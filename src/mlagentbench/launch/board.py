"""How an experiment stands: one line for each of its runs, and what can be told of all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from mlagentbench.launch.cells import Cell, Wanted
from mlagentbench.launch.estimate import Left, Span, Took, time_left
from mlagentbench.launch.plan import Reference
from mlagentbench.record.folder import is_run
from mlagentbench.record.summary import Summary

State = Literal["missing", "unfinished", "running", "ended", "held", "lost"]
"""There is no run; there is one that can be resumed; it goes on; it has ended, however; its model cannot be had now;
its process died before there was a record, which could not be made either."""


@dataclass
class Line:
    """One run of the experiment."""

    wanted: Wanted
    state: State = "missing"
    folder: Path | None = None
    """Where its run lies; from its first start on, where it will lie."""
    summary: Summary | None = None
    """Of a run that has ended."""
    detail: str = ""
    """Why it is held, or lost."""
    step: int = 0
    cost: float | None = 0.0
    began: float = 0.0
    """On the monotonic clock, while it goes on."""
    seconds: float = 0.0
    """That it took from start to end, in this experiment's hands."""
    cpu: float = 0.0
    """Seconds of user and system time of its processes, in this experiment's hands."""
    here: bool = False
    """Whether it ended while this was looked at, rather than before."""
    early_deaths: int = 0
    """Before there was a record that could keep them."""
    note: str = ""
    """What was said of it last, while it goes on."""

    @property
    def cell(self) -> Cell:
        return self.wanted.cell

    @property
    def recorded(self) -> bool:
        """Whether there is a run of it."""
        return self.folder is not None and is_run(self.folder)

    @property
    def died(self) -> bool:
        return self.state == "lost" or (self.summary is not None and self.summary.ended == "died")

    @property
    def group(self) -> tuple[str, str, int, str]:
        """What differs by nothing but the seed."""
        return (*self.cell.data, self.cell.who)


@dataclass
class Measuring:
    """A task's own code that is measured before its runs."""

    data: tuple[str, str, int]
    what: Reference
    state: Literal["missing", "running", "done"] = "missing"
    problem: str = ""

    @property
    def told(self) -> str:
        task, variant, seed = self.data
        name = task.rstrip("/").rpartition("/")[2]
        return f"{self.what} of {name} ({variant}{f', data seed {seed}' if seed else ''})"


@dataclass
class Board:
    name: str
    folder: Path
    lines: list[Line]
    measurings: list[Measuring] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)
    stopping: str = ""
    """Why no further run is started; empty while they are."""
    lanes: int = 1
    """Runs that went on at the same time, at most."""

    def count(self, *states: State) -> int:
        return sum(line.state in states for line in self.lines)

    @property
    def complete(self) -> bool:
        return all(line.state == "ended" and not line.died for line in self.lines)

    @property
    def cost(self) -> float | None:
        """Dollars of all runs so far; None where a price is not known."""
        costs = [line.summary.cost if line.summary else line.cost for line in self.lines]
        return None if any(cost is None for cost in costs) else sum(cost or 0.0 for cost in costs)

    def time_left(self, now: float | None = None) -> Span | None:
        """Seconds, at this time of the monotonic clock; None while too little is known."""
        now = time.monotonic() if now is None else now
        took, left = [], []
        for line in self.lines:
            if line.summary is not None and not line.died:
                took.append(Took(line.group, max(line.seconds, line.summary.elapsed)))
            elif line.state in ("missing", "unfinished", "running"):
                left.append(Left(line.group, now - line.began if line.state == "running" else None))
        open_measurings = sum(each.state != "done" for each in self.measurings)
        return time_left(took, left, self.lanes, open_measurings)

    def groups(self) -> Iterator[tuple[tuple[str, str, int, str], list[Line]]]:
        found: dict[tuple[str, str, int, str], list[Line]] = {}
        for line in self.lines:
            found.setdefault(line.group, []).append(line)
        yield from found.items()


class Onlooker(Protocol):
    """Told of an experiment as it goes on. Its methods must be quick."""

    def preparing(self, text: str) -> None:
        """Data are made ready, before there is a board."""

    def opened(self, board: Board) -> None:
        """What there is to do."""

    def moved(self, board: Board, line: Line, text: str) -> None:
        """A run was started, or is not going on any more."""

    def noted(self, board: Board, text: str) -> None:
        """Something about the whole."""

    def said(self, board: Board, line: Line, text: str) -> None:
        """Something about one run, which its record keeps."""

    def ticked(self, board: Board) -> None:
        """Several times a second."""


class Nobody:
    """Nobody looks on."""

    def preparing(self, text: str) -> None: ...

    def opened(self, board: Board) -> None: ...

    def moved(self, board: Board, line: Line, text: str) -> None: ...

    def noted(self, board: Board, text: str) -> None: ...

    def said(self, board: Board, line: Line, text: str) -> None: ...

    def ticked(self, board: Board) -> None: ...
