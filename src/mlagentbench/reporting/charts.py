"""Four kinds of charts: numbers with intervals, curves with bands, points in a plane, bars made of parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlagentbench.evaluation.statistics import Estimate
from mlagentbench.reporting.scene import (
    LETTER,
    SERIES,
    SHAPES,
    Anchor,
    Area,
    Dot,
    Line,
    Mark,
    Paint,
    Picture,
    Shape,
    Text,
    box,
    fitted,
)

SIDE = 14
"""Empty space at the sides."""
_ROW = 19
_SMALL = 11.0
Words = Callable[[float], str]


@dataclass(frozen=True)
class Series:
    """Something that is drawn in one colour and shape throughout a report."""

    name: str
    paint: Paint
    shape: Shape


def series_of(names: Sequence[str]) -> tuple[Series, ...]:
    """At most eight; more cannot be told apart."""
    return tuple(Series(*each) for each in zip(names, SERIES, SHAPES, strict=False))


@dataclass(frozen=True)
class Scale:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between the two."""
    span = high - low
    if not span > 0 or not math.isfinite(span):
        return [low]
    rough = span / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in (1, 2, 5, 10) if each * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def intervals(
    width: int,
    label: str,
    groups: Sequence[tuple[str, Sequence[tuple[Series, Estimate, str]]]],
    axis: tuple[float, float],
    words: Words,
) -> Picture:
    """A row for each number, its interval as a line, its words at the right; groups have a name above them."""
    shown = list(dict.fromkeys(each for _, rows in groups for each, _, _ in rows))
    single = all(len(rows) == 1 and rows[0][0].name == name for name, rows in groups)
    longest = max((len(said) for _, rows in groups for _, _, said in rows), default=0)
    right = width - SIDE - min(0.42 * width, longest * LETTER * _SMALL + 10)
    scale = Scale(*axis, SIDE, right)
    marks: list[Mark] = []
    top = 8.0 if single else _legend(marks, shown, width)
    y = top + 4
    rows_marks: list[Mark] = []
    for name, rows in groups:
        rows_marks.append(Text(SIDE, y + 12, fitted(name, width - 2 * SIDE), bold=True))
        y += 18
        for series, value, said in rows:
            _interval(rows_marks, scale, y + 8, series, value, f"{name}: {series.name} {said}")
            rows_marks.append(Text(right + 10, y + 12, said, paint="faint", size=_SMALL))
            y += _ROW
        y += 5
    _grid(marks, scale, top, y, words, max(3, int((right - SIDE) / 80)))
    return Picture(width, y + 26, label, (*marks, *rows_marks))


def curves(
    width: int,
    label: str,
    lines: Sequence[tuple[Series, Sequence[tuple[float, Estimate]]]],
    names: tuple[str, str],
    words: tuple[Words, Words],
    limits: tuple[float, float] | None = None,
) -> Picture:
    """Lines over a common axis, each with the band in which it lies; `names` are those of the axes."""
    marks: list[Mark] = []
    top = _legend(marks, [series for series, _ in lines], width) + 24
    values = [end for _, line in lines for _, each in line for end in (each.value, each.low, each.high)]
    known = [value for value in values if value is not None and math.isfinite(value)] or [0.0, 1.0]
    low, high = limits or (min(0.0, *known), max(known))
    if high - low < 1e-9:
        high = low + 0.1
    places = [place for _, line in lines for place, _ in line] or [0.0, 1.0]
    across, bottom = Scale(min(places), max(places), 52, width - SIDE - 8), top + 220
    up = Scale(low, high, bottom, top)
    marks.append(Text(SIDE, top - 10, names[1], paint="faint", size=_SMALL))
    for tick in ticks(low, high, 5):
        marks.append(Line(((across.start, up(tick)), (across.end, up(tick)))))
        marks.append(Text(across.start - 6, up(tick) + 4, words[1](tick), "end", "faint", _SMALL))
    for tick in ticks(across.low, across.high, max(3, int((across.end - across.start) / 80))):
        marks.append(Line(((across(tick), bottom), (across(tick), bottom + 4)), "faint"))
        marks.append(Text(across(tick), bottom + 17, words[0](tick), "middle", "faint", _SMALL))
    marks.append(Text(across.end, bottom + 34, names[0], "end", "faint", _SMALL))
    for series, line in lines:
        band = [
            (across(x), up(e.low), up(e.high)) for x, e in line if e.low is not None and e.high is not None
        ]
        if len(band) > 1:
            edge = [(x, a) for x, a, _ in band] + [(x, b) for x, _, b in reversed(band)]
            marks.append(Area(tuple(edge), series.paint, 0.13))
    for index, (series, line) in enumerate(lines):
        path = [(across(x), up(each.value)) for x, each in line if math.isfinite(each.value)]
        marks.append(Line(tuple(path), series.paint, 2.2))
        apart = max(1, len(path) // 6)
        for x, y in path[index % apart :: apart]:
            marks.append(Dot(x, y, series.paint, series.shape, series.name, 4))
    return Picture(width, bottom + 44, label, tuple(marks))


def plane(
    width: int,
    label: str,
    points: Sequence[tuple[Series, float, Estimate, str]],
    front: Sequence[tuple[float, float]],
    names: tuple[str, str],
    words: tuple[Words, Words],
) -> Picture:
    """Points with an interval upwards; the front is a staircase that no point lies beyond."""
    marks: list[Mark] = []
    top = _legend(marks, [series for series, _, _, _ in points], width) + 24
    most = max((x for _, x, _, _ in points), default=0.0) or 1.0
    across, bottom = Scale(0.0, most * 1.08, 52, width - SIDE - 8), top + 220
    up = Scale(0.0, 1.0, bottom, top)
    marks.append(Text(SIDE, top - 10, names[1], paint="faint", size=_SMALL))
    for tick in ticks(0.0, 1.0, 5):
        marks.append(Line(((across.start, up(tick)), (across.end, up(tick)))))
        marks.append(Text(across.start - 6, up(tick) + 4, words[1](tick), "end", "faint", _SMALL))
    for tick in ticks(0.0, across.high, max(3, int((across.end - across.start) / 90))):
        marks.append(Line(((across(tick), bottom), (across(tick), bottom + 4)), "faint"))
        marks.append(Text(across(tick), bottom + 17, words[0](tick), "middle", "faint", _SMALL))
    marks.append(Text(across.end, bottom + 34, names[0], "end", "faint", _SMALL))
    if front:
        stairs: list[tuple[float, float]] = []
        for x, y in front:
            if stairs:
                stairs.append((across(x), stairs[-1][1]))
            stairs.append((across(x), up(y)))
        stairs.append((across.end, stairs[-1][1]))
        marks.append(Line(tuple(stairs), "faint", 1.4, dashed=True))
    for series, x, value, said in points:
        if value.low is not None and value.high is not None:
            ends = ((across(x), up(value.low)), (across(x), up(value.high)))
            marks.append(Line(ends, series.paint, 2))
        marks.append(Dot(across(x), up(value.value), series.paint, series.shape, f"{series.name}: {said}", 6))
    return Picture(width, bottom + 44, label, tuple(marks))


def bars(
    width: int,
    label: str,
    parts: Sequence[tuple[str, Paint]],
    rows: Sequence[tuple[str, Sequence[float], str]],
    words: Words,
    highest: float | None = None,
) -> Picture:
    """A bar for each row, as long as its parts together; what it comes to stands beside its name."""
    marks: list[Mark] = []
    used = [
        Series(name, paint, "square")
        for index, (name, paint) in enumerate(parts)
        if any(values[index] for _, values, _ in rows)
    ]
    top = _legend(marks, used, width)
    most = highest or max((sum(values) for _, values, _ in rows), default=0.0) or 1.0
    scale = Scale(0.0, most, SIDE, width - SIDE)
    y = top + 4
    drawn: list[Mark] = []
    for name, values, said in rows:
        room = width - 2 * SIDE - len(said) * LETTER * _SMALL - 12
        drawn.append(Text(SIDE, y + 12, fitted(name, room), bold=True))
        drawn.append(Text(width - SIDE, y + 12, said, "end", "faint", _SMALL))
        y += 18
        at = 0.0
        for (part, paint), value in zip(parts, values, strict=True):
            if value <= 0:
                continue
            x, wide = scale(at), scale(at + value) - scale(at)
            title = f"{name}: {part} {words(value)}"
            drawn.append(box(x, y, max(0.8, wide - 1), 15, paint, title=title))
            told = words(value)
            if wide > len(told) * LETTER * _SMALL + 8:
                ink: Paint = "light" if paint == "blue" else "ground" if paint == "faint" else "dark"
                drawn.append(_on_bar(x + wide / 2, y + 11.5, told, ink))
            at += value
        y += 25
    _grid(marks, scale, top, y, words, max(3, int(width / 110)))
    return Picture(width, y + 24, label, (*marks, *drawn))


def _on_bar(x: float, y: float, text: str, paint: Paint) -> Text:
    return Text(x, y, text, "middle", paint, _SMALL)


def _legend(marks: list[Mark], shown: Sequence[Series], width: int) -> float:
    """As many lines as it takes; gives back where it ends."""
    x, y = float(SIDE), 14.0
    for series in shown:
        name = fitted(series.name, width - 2 * SIDE - 20)
        wide = 22 + len(name) * LETTER * 12
        if x > SIDE and x + wide > width - SIDE:
            x, y = float(SIDE), y + 20
        marks.append(Dot(x + 6, y - 4, series.paint, series.shape))
        marks.append(Text(x + 17, y, name))
        x += wide + 10
    return y + 10 if shown else 8.0


def _interval(marks: list[Mark], scale: Scale, y: float, series: Series, value: Estimate, said: str) -> None:
    if not math.isfinite(value.value):
        return
    if value.low is not None and value.high is not None:
        low, high = scale(value.low), scale(value.high)
        marks.append(Line(((low, y), (high, y)), series.paint, 2.2))
        marks += [Line(((end, y - 4), (end, y + 4)), series.paint, 2.2) for end in (low, high)]
    marks.append(Dot(scale(value.value), y, series.paint, series.shape, said))


def _grid(marks: list[Mark], scale: Scale, top: float, bottom: float, words: Words, most: int) -> None:
    for tick in ticks(scale.low, scale.high, most):
        marks.append(Line(((scale(tick), top), (scale(tick), bottom))))
        last = tick == scale.high and scale.end > 300
        anchor: Anchor = "start" if scale(tick) < SIDE + 12 else "end" if last else "middle"
        marks.append(Text(scale(tick), bottom + 14, words(tick), anchor, "faint", _SMALL))
