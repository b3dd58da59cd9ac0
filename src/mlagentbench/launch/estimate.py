"""How long the rest of an experiment will take, by how long its runs took so far."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

Group = tuple[str, str, int, str]
"""The data, and the agent with its model."""
_MOST_UNKNOWN = 1 / 3
"""Of the runs that are left: beyond that nobody can know."""


@dataclass(frozen=True)
class Took:
    """A run that has ended."""

    group: Group
    seconds: float


@dataclass(frozen=True)
class Left:
    """A run that has not."""

    group: Group
    spent: float | None = None
    """Seconds that it goes on already; None: it is still to be started."""


@dataclass(frozen=True)
class Span:
    """From so many seconds to so many."""

    low: float
    high: float

    def after(self, spent: float | None) -> Span:
        """What is left of it. One that goes on for longer than any did before may take half as long again."""
        if spent is None:
            return self
        return Span(max(0.0, self.low - spent), self.high - spent if self.high > spent else spent / 2)


def time_left(took: Sequence[Took], left: Sequence[Left], lanes: int, measurings: int = 0) -> Span | None:
    """Until all are done, if so many go on at the same time; None while too little is known.

    A run takes as long as others of its agent on its data did; where there are none yet, as others of its agent or on
    its task did, which says less.
    """
    if not took:
        return None
    known: dict[object, list[float]] = defaultdict(list)
    for run in took:
        for key in (run.group, run.group[:3], run.group[3], None):
            known[key].append(run.seconds)
    still = Counter(run.group for run in left)
    spans = {group: _span(group, known, count) for group, count in still.items()}
    unknown = sum(still[group] for group, span in spans.items() if span is None)
    if unknown > _MOST_UNKNOWN * len(left):
        return None
    any_run = _wide(known[None])
    ordered = sorted(left, key=lambda run: run.spent is None)
    each = [(spans[run.group] or any_run).after(run.spent) for run in ordered]
    each = [*([Span(0.0, any_run.high)] * measurings), *each]
    return Span(_makespan((s.low for s in each), lanes), _makespan((s.high for s in each), lanes))


def _span(group: Group, known: dict[object, list[float]], count: int) -> Span | None:
    """Of one of `count` runs. Of many that follow each other, the short and the long ones make up for one another."""
    if own := known.get(group):
        middle, spread = fmean(own), max(1 / sqrt(len(own)), 1 / sqrt(count))
        widened = 2.0 if len(own) == 1 else 1.25
        low, high = min(own) / widened, max(own) * widened
        return Span(middle - (middle - low) * spread, middle + (high - middle) * spread)
    alike = [*known.get(group[:3], ()), *known.get(group[3], ())]
    return _wide(alike) if alike else None


def _wide(seconds: Sequence[float]) -> Span:
    return Span(min(seconds) / 2, max(seconds) * 2)


def _makespan(seconds: Iterable[float], lanes: int) -> float:
    """When the last one ends, if each is started in turn as soon as a lane is free."""
    free = [0.0] * max(1, lanes)
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)
