"""What an agent had observed when it said something: every number that a program printed or a file held, with what it
measures as far as its line says so."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Literal, NamedTuple

from mlagentbench.evaluation.figures import DIGIT, Figure, Token, compatible, metric_of, split_of, tokens
from mlagentbench.evaluation.vocabulary import FRACTIONS, PLACES, Split

LONGEST_TEXT = 40_000
"""Characters of one observation that are looked at: its beginning and its end."""
MOST_NUMBERS = 4_000
"""Of one observation."""
_LONGEST_LINE = 2_000
_FEW = 6
"""So many numbers can be told apart without being named."""

_MANY_COLUMNS = 5
"""So many commas, and nothing named: a row of data."""
_MOST_COLUMNS = 12
_CHOSEN = PLACES | {"threshold", "lr", "alpha", "rate", "size"}

Source = Literal["output", "file"]

UNNAMED = ""
"""What is measured is not said."""
_LONE = "lone"
"""One of a few numbers that a program printed: with so few, no name is needed."""


class Seen(NamedTuple):
    """A number that was observed."""

    value: float
    step: int
    metric: str
    split: Split


_BY_VALUE = itemgetter(0)


class Observed:
    """Everything that was observed up to some point, ordered so that a value is found without looking at all."""

    def __init__(self) -> None:
        self._by_metric: dict[str, list[Seen]] = {}
        self._known: set[tuple[str, Split, float]] = set()
        self._ends: dict[tuple[str, Split], dict[int, float]] = {}
        self._means: dict[str, list[Seen]] = {}

    def take(self, text: str, step: int, source: Source) -> None:
        """Take in what an observation shows. Of a file, numbers count only where it says what they measure: a table of
        data holds every number."""
        seen = list(_numbers(_bounded(text), step, named_only=source == "file"))
        lone = source == "output" and sum(not each.metric for each in seen) <= _FEW
        groups: dict[str, list[Seen]] = {}
        for each in seen:
            if not each.metric and source == "file":
                continue
            name = each.metric or (_LONE if lone else UNNAMED)
            groups.setdefault(name, []).append(each)
            if each.metric and source == "output":
                self._ends.setdefault((each.metric, each.split), {})[step] = each.value
            if (name, each.split, each.value) not in self._known:
                self._known.add((name, each.split, each.value))
                self._by_metric.setdefault(name, []).append(each)
        for name, group in groups.items():
            self._by_metric[name].sort(key=_BY_VALUE)
            if name not in (UNNAMED,) and 2 <= len(group) <= 200:
                self._mean(name, group)

    def _mean(self, name: str, group: list[Seen]) -> None:
        first = group[0]
        middle = sum(each.value for each in group) / len(group)
        insort(self._means.setdefault(name, []), Seen(middle, first.step, first.metric, first.split))

    def between(
        self, low: float, high: float, metric: str, split: Split, *, precise: bool, mean: bool = False
    ) -> Seen | None:
        """A value in these bounds that can be of this metric. One that is not named counts only for a claim that is
        `precise` enough not to be met by chance."""
        for listed in self._fitting(metric, precise, mean):
            for index in range(bisect_left(listed, low, key=_BY_VALUE), len(listed)):
                if listed[index].value > high:
                    break
                if not split or not listed[index].split or listed[index].split == split:
                    return listed[index]
        return None

    def _fitting(self, metric: str, precise: bool, mean: bool) -> Iterator[list[Seen]]:
        for tables in (self._by_metric, self._means) if mean else (self._by_metric,):
            for name, listed in tables.items():
                if name == _LONE or (name == UNNAMED and precise) or (name and compatible(metric, name)):
                    yield listed

    def nearest(self, value: float, metric: str) -> Seen | None:
        """What comes nearest to a value that was not observed: of the same metric if there is any."""
        fitting = [name for name in self._by_metric if name not in ("", _LONE) and compatible(metric, name)]
        lists = [self._by_metric[name] for name in fitting or self._by_metric]
        near = []
        for listed in lists:
            place = bisect_left(listed, value, key=_BY_VALUE)
            near += listed[max(place - 1, 0) : place + 1]
        return min(near, key=lambda seen: (abs(seen.value - value), -seen.step), default=None)

    def series(self, metric: str) -> Iterator[tuple[str, list[tuple[int, float]]]]:
        """The last value of each experiment, and the mean of its values, each with its step, by what they measure."""
        for (name, _), ends in self._ends.items():
            if compatible(metric, name):
                yield name, list(ends.items())
        for name, means in self._means.items():
            if name != _LONE and compatible(metric, name) and len(means) > 1:
                yield name, sorted((mean.step, mean.value) for mean in means)


def _bounded(text: str) -> str:
    half = LONGEST_TEXT // 2
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]}\n{text[-half:]}"


def _numbers(text: str, step: int, *, named_only: bool = False) -> Iterator[Seen]:
    count = 0
    heads: list[str] = []
    for line in text.splitlines():
        if named_only and line.count(",") >= _MANY_COLUMNS and ":" not in line and "=" not in line:
            continue
        row = list(_row(line[:_LONGEST_LINE], step, heads))
        if row:
            yield from row
            count += len(row)
        elif words := _heads(line[:_LONGEST_LINE]):
            heads = words
        if count >= MOST_NUMBERS:
            return


def _heads(line: str) -> list[str]:
    """The metrics that the columns of a table below this line are of, from the right; none if it is no such line."""
    columns = line.split()
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        return []
    found = [_last_metric(tokens(column)) for column in columns]
    return found[::-1] if sum(map(bool, found)) >= 2 else []


def _row(line: str, step: int, heads: list[str]) -> Iterator[Seen]:
    if not DIGIT.search(line):
        return
    read = list(tokens(line))
    figures = [index for index, token in enumerate(read) if token.figure is not None]
    if not figures:
        return
    named = any(token.word and metric_of(token.text) for token in read)
    metric, split = "", _line_split(read, figures[0])
    previous = -1
    for place, index in enumerate(figures):
        figure = read[index].figure
        assert figure is not None
        if _counts_something(read, index):
            previous = index
            continue
        own = _last_metric(read[previous + 1 : index])
        split = _last_split(read[previous + 1 : index]) or split
        if figure.unit in ("s", "B", "/s"):
            of = {"s": "time", "B": "memory", "/s": "throughput"}[figure.unit]
        elif own:
            of = metric = own
        elif after := _following(read, index, figures[place + 1] if place + 1 < len(figures) else len(read)):
            of = after
        elif not named and place >= len(figures) - len(heads):
            of = heads[len(figures) - 1 - place]
        else:
            of = metric
        yield Seen(figure.value, step, of, split)
        if of == "time" and split == "held out":
            yield Seen(figure.value, step, "score", split)  # of a task whose score is a time
        previous = index


def _counts_something(read: list[Token], index: int) -> bool:
    """`Epoch 3/10`: places in a row and settings, and not measured."""
    before = read[index - 1].text if index else ""
    after = read[index + 1].text if index + 1 < len(read) else ""
    return "/" in (before, after) or before in _CHOSEN


def _last_metric(read: Iterable[Token]) -> str:
    found, before = "", ""
    for token in read:
        if token.word:
            found = metric_of(token.text, before) or found
            before = token.text
    return found


def _last_split(read: Iterable[Token]) -> Split:
    found: Split = ""
    for token in read:
        if token.word:
            found = split_of(token.text) or found
    return found


def _line_split(read: list[Token], first: int) -> Split:
    return _last_split(read[:first])


def _following(read: list[Token], index: int, end: int) -> str:
    """`0.92 accuracy`: named after it, and not what the next number is introduced by."""
    words = read[index + 1 : end]
    if end < len(read) and len(words) > 0 and (words[-1].text in (":", "=") or len(words) <= 2):
        return ""
    for token in words[:3]:
        if not token.word:
            return ""
        if found := metric_of(token.text):
            return found
    return ""


def scales(figure: Figure, metric: str) -> tuple[float, ...]:
    """By what a claimed value may be multiplied to be as it was observed."""
    if figure.unit == "%" or (metric in FRACTIONS and figure.unit == ""):
        return (1.0, 100.0, 0.01)
    return (1.0,)
