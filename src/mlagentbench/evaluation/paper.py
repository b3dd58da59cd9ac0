"""The published results, as they were printed, so that a report can show them beside its own."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Literal, get_args

from mlagentbench.errors import UsageError

TableName = Literal[
    "v2_success", "v2_improvement", "v1draft_success", "v1draft_improve", "v1draft_minutes", "v1draft_tokens"
]
_FOLDER = Path(__file__).parent / "published"
_UNITS = {"success": "%", "improvement": "%", "improve": "%", "minutes": "minutes", "tokens": "tokens"}
_AVERAGES = ("average", "mean")
_MISSING_TOKENS = -9.0
"""What the draft prints for an agent that has no model."""
_RUNS = {"v2": 8}
"""Of each model on each task, where the paper had the same number for all; the starter had others."""


@dataclass(frozen=True)
class Published:
    """One printed table."""

    name: TableName
    unit: str
    agents: tuple[str, ...]
    """Its columns: models, or agents, and `Baseline`, the untouched starter."""
    values: dict[str, dict[str, float | None]]
    """By task, as this benchmark calls it, and agent; None where the table has no number."""
    printed: dict[str, float]
    """The average of each agent as it was printed."""
    runs: int | None
    """Behind each number of a model; None where the paper does not have one number for all."""
    notes: tuple[str, ...]

    def average(self, agent: str) -> float:
        """The mean over all tasks that the table has a number for."""
        return fmean(value for row in self.values.values() if (value := row[agent]) is not None)

    def footnotes(self) -> tuple[str, ...]:
        """What to say below the table: its notes, and where a printed average is not the mean of its column."""
        return (*self.notes, *self._differing())

    def _differing(self) -> Iterator[str]:
        for agent, printed in self.printed.items():
            column = [value for row in self.values.values() if (value := row[agent]) is not None]
            mean = fmean(column)
            if abs(mean - printed) > _rounding(printed):
                of = [n for n in range(1, len(column)) if abs(sum(column) / n - printed) <= 0.051]
                over = (
                    f", which is their sum divided by {of[0]}, as if there were {of[0]} tasks" if of else ""
                )
                yield (
                    f"{agent}: the printed average is {printed:g}{over}; the mean of the {len(column)} printed "
                    f"numbers is {mean:.1f}."
                )


def published(name: TableName = "v2_success") -> Published:
    """A printed table by its name: `v2_…` are those of the paper, `v1draft_…` those of its first draft.

    >>> published("v2_success").values["cifar10"]["Claude v3 Opus"]
    62.5
    """
    if name not in get_args(TableName):
        raise UsageError(
            f"There is no published table {name!r}; there are: {', '.join(get_args(TableName))}."
        )
    edition, _, measure = name.partition("_")
    with (_FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    agents = tuple(header[1:])
    values: dict[str, dict[str, float | None]] = {}
    printed: dict[str, float] = {}
    for task, *cells in rows:
        numbers = {agent: _number(cell, measure) for agent, cell in zip(agents, cells, strict=True)}
        if task.startswith(_AVERAGES):
            printed = {agent: number for agent, number in numbers.items() if number is not None}
        else:
            values[_suite_name(task)] = numbers
    missing = any(value is None for row in values.values() for value in row.values())
    notes = ("An empty cell has no printed number; averages are over the others.",) if missing else ()
    return Published(name, _UNITS[measure], agents, values, printed, _RUNS.get(edition), notes)


def _number(cell: str, measure: str) -> float | None:
    text = cell.partition(" (")[0].strip()
    number = float(text) if text else None
    return None if measure == "tokens" and number == _MISSING_TOKENS else number


def _rounding(printed: float) -> float:
    """By how much a mean of rounded numbers, itself rounded, can be away from what is printed."""
    return 0.6 if printed > 1000 else 0.11


def _suite_name(task: str) -> str:
    return "babylm" if task == "BabyLM" else task
