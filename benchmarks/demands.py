"""Rows of the table: what was measured, what is demanded of it, whether that holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace

SCALES = {"ms": 1e3, "MB": 1e-6, "x": 1.0}


@dataclass(frozen=True)
class Row:
    """`value` is in seconds, bytes or times, shown in `unit`; without a `limit` it is there to be compared with."""

    what: str
    value: float
    unit: str
    told: str = ""
    """How the value, or its limit, comes about."""
    limit: float | None = None
    at_least: bool = False
    """Whether the limit is the least that is demanded, rather than the most."""
    tries: int = 1

    @property
    def holds(self) -> bool:
        if self.limit is None:
            return True
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def cells(self) -> tuple[str, str, str, str]:
        demand = ""
        if self.limit is not None:
            demand = f"{'at least' if self.at_least else 'at most'} {shown(self.limit, self.unit)}"
        verdict = "" if self.limit is None else "yes" if self.holds else "**NO**"
        told = f" ({self.told})" if self.told else ""
        again = f", measured {self.tries} times" if self.tries > 1 else ""
        return self.what, f"{shown(self.value, self.unit)}{told}{again}", demand, verdict

    def as_json(self) -> dict[str, object]:
        return {**asdict(self), "holds": self.holds}


def shown(value: float, unit: str) -> str:
    scaled = value * SCALES[unit]
    digits = 0 if scaled >= 1000 else 1 if scaled >= 10 else 2
    return f"{scaled:,.{digits}f} {unit}"


def table(rows: Iterable[Row]) -> str:
    """As Markdown, which also reads well in a terminal."""
    lines = [("what", "measured", "demanded", "holds"), *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    printed = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([printed[0], rule, *printed[1:]])


def settled(measure: Callable[[], list[Row]], tries: int) -> list[Row]:
    """What `measure` finds; where a demand is missed it measures again, since other programs disturb clocks."""
    for attempt in range(1, tries + 1):
        rows = [replace(row, tries=attempt) for row in measure()]
        if all(row.holds for row in rows):
            break
    return rows
