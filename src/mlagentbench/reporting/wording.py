"""Numbers as the report writes them: the same in every format."""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlagentbench.evaluation.statistics import Estimate
from mlagentbench.reporting.model import Cell

NOTHING = Cell("–", None)


def rate(value: Estimate) -> Cell:
    """`38 % [14, 69]`"""
    return _percent(value, 0, "")


def gain(value: Estimate) -> Cell:
    """`+12.3 % [4.0, 20.6]`"""
    return _percent(value, 1, "+")


def points(value: Estimate) -> Cell:
    """A difference of two rates, in percentage points."""
    cell = _percent(value, 1, "+")
    return Cell(cell.text.replace(" %", " pp"), cell.value)


def share(part: int, whole: int) -> Cell:
    """`3 of 12`"""
    return Cell(f"{part:,} of {whole:,}", part / whole if whole else None)


def count(value: int) -> Cell:
    return Cell(f"{value:,}", value)


def number(value: float | None) -> Cell:
    return NOTHING if _unknown(value) else Cell(f"{value:.5g}", value)


def scored(value: Estimate) -> Cell:
    """A score in the unit of its task's metric."""
    if _unknown(value.value):
        return NOTHING
    ends = f" [{value.low:.4g}, {value.high:.4g}]" if value.low is not None else ""
    return Cell(f"{value.value:.4g}{ends}", value.value)


def percent(value: float | None, signed: bool = True) -> Cell:
    if value is None or _unknown(value):
        return NOTHING
    return Cell(f"{100 * value:{'+' if signed else ''}.1f} %", value)


def dollars(value: float | None) -> Cell:
    """An unknown price is unknown, not zero."""
    if value is None or _unknown(value):
        return Cell("not known", None)
    digits = 2 if value >= 1 or value == 0 else min(6, 2 - math.floor(math.log10(value)))
    return Cell(f"${value:,.{digits}f}", value)


def tokens(value: float | None) -> Cell:
    return NOTHING if value is None or _unknown(value) else Cell(f"{value:,.0f}", value)


def duration(seconds: float | None) -> Cell:
    """`4.2 s`, `12.5 min`: always one unit, so that columns compare."""
    if seconds is None or _unknown(seconds):
        return NOTHING
    text = f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:,.1f} min"
    return Cell(text, seconds)


def clock(longest: float) -> tuple[float, str]:
    """What seconds are divided by so that they read well up to `longest`, and what they are called then."""
    return (60.0, "min") if longest >= 120 else (1.0, "s")


def listed(names: Sequence[str], longest: int = 8) -> str:
    """`a, b and c`"""
    shown = [*names[:longest], f"{len(names) - longest} more"] if len(names) > longest else list(names)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else ""


def counted(number: int, noun: str) -> str:
    """`1 run`, `3 runs`"""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun[:-1]}ies" if noun.endswith("ry") else f"{number:,} {noun}s"


def _percent(value: Estimate, digits: int, sign: str) -> Cell:
    if _unknown(value.value):
        return NOTHING
    low, high = value.low, value.high
    ends = "" if low is None or high is None else f" [{100 * low:.{digits}f}, {100 * high:.{digits}f}]"
    return Cell(f"{100 * value.value:{sign}.{digits}f} %{ends}", value.value)


def _unknown(value: float | None) -> bool:
    return value is None or not math.isfinite(value)
