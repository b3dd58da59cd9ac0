"""Numbers in prose and in outputs, each with how precisely it is written, its unit, and what it measures.

Everything here reads text that a model or its program wrote: every pattern is linear, every length is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from mlagentbench.evaluation.vocabulary import APART, ERRORS, METRIC_PAIRS, METRICS, SPLITS, Split

Unit = Literal["", "%", "s", "B", "x", "/s"]
"""As written; per cent; seconds; bytes; times; a second."""

_NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,5}(?!\d)|\d{1,15})(?:\.\d{1,18})?(?:[eE][-+]?\d{1,3})?|\.\d{1,18}"
_UNIT = (
    r"percentage\ points?|percent|points?|pp|%"
    r"|tokens?\ ?(?:/|per|a)\ ?s(?:ec(?:onds?)?)?|(?:it|its|images?|samples?)/s(?:ec)?"
    r"|seconds?|secs?|ms|milliseconds?|µs|us|minutes?|mins?|hours?|hrs?|s|h|m"
    r"|GiB|MiB|KiB|GB|MB|KB|[kKM]|times|x|×"
)
TOKEN = re.compile(
    rf"(?P<number>(?<![\w.])[-+−]?(?:{_NUMBER})(?!\.\d))(?:[ ]?(?P<unit>{_UNIT})(?![A-Za-z0-9]))?"
    r"|(?P<word>[A-Za-z²_][A-Za-z0-9²_]{0,60}|[A-Za-z0-9_]{1,60})"
    r"|(?P<mark>[^\sA-Za-z0-9_])",
    re.ASCII,
)
DIGIT = re.compile(r"[0-9]")
"""Text without one holds no figure, and need not be read for them."""
_SCALES: dict[str, tuple[float, Unit]] = {
    "percent": (0.01, "%"), "%": (0.01, "%"), "pp": (0.01, "%"), "point": (0.01, "%"), "points": (0.01, "%"),
    "percentage point": (0.01, "%"), "percentage points": (0.01, "%"),
    "ms": (1e-3, "s"), "millisecond": (1e-3, "s"), "milliseconds": (1e-3, "s"), "µs": (1e-6, "s"), "us": (1e-6, "s"),
    "s": (1, "s"), "sec": (1, "s"), "secs": (1, "s"), "second": (1, "s"), "seconds": (1, "s"),
    "m": (60, "s"), "min": (60, "s"), "mins": (60, "s"), "minute": (60, "s"), "minutes": (60, "s"),
    "h": (3600, "s"), "hr": (3600, "s"), "hrs": (3600, "s"), "hour": (3600, "s"), "hours": (3600, "s"),
    "kb": (1e3, "B"), "mb": (1e6, "B"), "gb": (1e9, "B"), "kib": (1e3, "B"), "mib": (1e6, "B"), "gib": (1e9, "B"),
    "k": (1e3, ""), "K": (1e3, ""), "M": (1e6, ""), "times": (1, "x"), "x": (1, "x"), "×": (1, "x"),
}  # fmt: skip


class Figure(NamedTuple):
    """A number as it is written."""

    value: float
    """Per cent as a share, times in seconds, sizes in bytes."""
    last: float
    """What one more in its last written digit would be."""
    digits: int
    """How many of its digits say something."""
    unit: Unit
    whole: bool
    """Written without a fraction."""


class Token(NamedTuple):
    text: str
    """In lower case."""
    start: int
    end: int
    figure: Figure | None = None
    word: bool = False


def tokens(text: str) -> Iterator[Token]:
    for found in TOKEN.finditer(text):
        start, end = found.span()
        kind = found.lastgroup
        if kind == "word" or kind == "mark":
            yield Token(found[0].lower(), start, end, None, kind == "word")
        else:
            glued = text[end : end + 1].isalpha() or text[end : end + 1] == "_"
            figure = None if glued else _figure(found["number"], found["unit"] or "")
            yield Token(found[0].lower(), start, end, figure, glued)


def _figure(number: str, unit: str) -> Figure | None:
    plain = number.replace(",", "").replace("−", "-")
    value = float(plain)
    if abs(value) > 1e30:
        return None
    mantissa, _, exponent = plain.lower().partition("e")
    whole, _, fraction = mantissa.lstrip("+-").partition(".")
    scale, kind = _scale(unit)
    power = int(exponent or 0) - len(fraction)
    digits = len((whole + fraction).lstrip("0"))
    if not fraction and not exponent:
        zeros = len(whole) - len(whole.rstrip("0"))
        if digits - zeros >= 2:
            power, digits = zeros, digits - zeros
    return Figure(value * scale, 10.0**power * scale, digits, kind, not fraction and not exponent)


def _scale(unit: str) -> tuple[float, Unit]:
    if not unit:
        return 1, ""
    if "/" in unit or unit.startswith("token"):
        return 1, "/s"
    return _SCALES.get(unit) or _SCALES.get(unit.lower()) or (1, "")


def parts(word: str) -> list[str]:
    """`val_accuracy` is said in two words."""
    return word.split("_") if "_" in word else [word]


@lru_cache(maxsize=20_000)
def metric_of(word: str, before: str = "") -> str:
    """What a word says is measured, the word before it taken into account; empty if it says nothing of the kind."""
    pieces = [before, *parts(word)]
    for first, second in reversed(list(pairwise(pieces))):
        if found := METRIC_PAIRS.get((first, second)) or METRICS.get(second):
            return found
    return ""


@lru_cache(maxsize=20_000)
def split_of(word: str) -> Split:
    """Which part of the data a word speaks of."""
    for piece in parts(word):
        if found := SPLITS.get(piece):
            return found
    return ""


def compatible(claimed: str, observed: str) -> bool:
    """Whether a number that was observed as one thing can be what is claimed as another."""
    if claimed == observed:
        return True
    if claimed in APART or observed in APART:
        return False
    if "score" in (claimed, observed):
        return True
    return claimed in ERRORS and observed in ERRORS and bool({"error", "loss"} & {claimed, observed})
