"""Who is drawn in figures, in which colour, on which axis."""

from __future__ import annotations

from collections.abc import Iterable

from mlagentbench.evaluation.statistics import Estimate
from mlagentbench.reporting.charts import Series, series_of
from mlagentbench.reporting.tally import Field, Tally


def drawn(field: Field) -> list[tuple[Series, Tally]]:
    """The agents that figures show: the eight first, since more cannot be told apart."""
    return list(zip(series_of([each.who for each in field.agents]), field.agents, strict=False))


def told_of_drawn(field: Field) -> str:
    """What a caption says where not all agents are drawn."""
    more = len(field.agents) - len(drawn(field))
    if more <= 0:
        return ""
    return f" The eight agents that succeed most often are drawn; {more} more are in the tables."


def span(values: Iterable[Estimate]) -> tuple[float, float]:
    """An axis with room for numbers and their intervals, and for zero."""
    ends = [
        end for each in values for end in (each.value, each.low, each.high) if end is not None and end == end
    ]
    low, high = min([0.0, *ends]), max([0.1, *ends])
    room = 0.04 * (high - low)
    return (low - room if low < 0 else 0.0), high + room


def whole(value: float) -> str:
    """A share in per cent."""
    return f"{100 * value:.0f} %"
