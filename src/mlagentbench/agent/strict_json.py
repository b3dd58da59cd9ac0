"""Reads one JSON object exactly, or says why not. Nothing is repaired: a repaired file is a changed file."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from mlagentbench.agent.protocol import FormatError

DEEPEST = 40
"""Lists and objects inside each other."""
_LONGEST_NUMBER = 300
_SURROGATE = re.compile("[\ud800-\udfff]")
_BEGUN_WORD = re.compile(r"-|\.|[eE][+-]?|t|tr|tru|f|fa|fal|fals|n|nu|nul")
_LONGEST_ESCAPE = len(r"\u0000")
_STRING = re.compile(r'"""(?P<verbatim>.*?)"""(?=\s*[,}\]])|"(?:[^"\\]|\\.)*"', re.DOTALL)


class _RefusedError(ValueError):
    """Valid JSON that could not be given on exactly."""


def read_object(
    text: str, start: int = 0, *, triple_quotes: bool = False
) -> tuple[dict[str, Any], int] | FormatError:
    """The object that begins at `start`, and where it ends. Line breaks inside of strings may stand as they are. With
    `triple_quotes`, a string between three quotes is taken as it stands, without escapes."""
    if not text[start:].strip():
        return FormatError("The reply ends where the JSON should begin: it was cut off or left unfinished.")
    if text[start] != "{":
        found = text[start : start + 40].splitlines()[0]
        return FormatError(
            f"The input of an action is a JSON object, {{…}}, and nothing before it; here stands {found!r}."
        )
    try:
        value, end = _DECODER.raw_decode(text, start)
        _check(value, 1)
    except RecursionError:
        return FormatError("The JSON is nested too deeply.")
    except json.JSONDecodeError as error:
        if triple_quotes and (read := _with_triple_quotes(text, start)):
            return read
        return FormatError(_sentence(text, error))
    except _RefusedError as error:
        return FormatError(f"The JSON cannot be used: {error}.")
    assert isinstance(value, dict)
    return value, end


def _with_triple_quotes(text: str, start: int) -> tuple[dict[str, Any], int] | None:
    """The same, after each string between three quotes was written as JSON writes it."""
    written, kept = "", start
    shifts = []
    for found in _STRING.finditer(text, start):
        if found["verbatim"] is not None:
            written += text[kept : found.start()] + json.dumps(found["verbatim"])
            kept = found.end()
            shifts.append((len(written), kept))
    if not shifts:
        return None
    read = read_object(written + text[kept:])
    if isinstance(read, FormatError):
        return None
    value, end = read
    before = [(place, original) for place, original in shifts if place <= end]
    place, original = before[-1] if before else (0, start)
    return value, original + end - place


def _sentence(text: str, error: json.JSONDecodeError) -> str:
    if error.msg.startswith("Unterminated string"):
        return (
            "The reply ends inside of a JSON string: it was cut off, or a quote is not closed. "
            'Write all of it, and write quotes inside of strings as \\".'
        )
    rest = text[error.pos :].rstrip()
    escape = "escape" in error.msg and len(text.rstrip()) - error.pos < _LONGEST_ESCAPE
    if not rest or escape or _BEGUN_WORD.fullmatch(rest):
        return "The reply ends before its JSON does: it was cut off. Write all of it."
    near = text[max(error.pos - 20, 0) : error.pos + 20]
    return (
        f"The JSON is not valid: {error.msg}, near {near!r}. "
        f'Inside of strings, write quotes as \\", backslashes as \\\\ and line breaks as \\n.'
    )


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _RefusedError(f"the name {twice[:100]!r} stands twice in one object")
    return value


def _constant(text: str) -> Any:
    raise _RefusedError(f"{text} is not JSON")


def _integer(text: str) -> int:
    if len(text) > _LONGEST_NUMBER:
        raise _RefusedError(f"a number has {len(text)} digits")
    return int(text)


def _float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _RefusedError(f"the number {text[:40]} is too large")
    return number


def _check(value: object, depth: int) -> None:
    if isinstance(value, str):
        if _SURROGATE.search(value):
            raise _RefusedError("a string holds half of a surrogate pair, which is no character")
    elif isinstance(value, dict | list):
        if depth > DEEPEST:
            raise _RefusedError(f"it is nested deeper than {DEEPEST} levels")
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            _check(inner, depth + 1)


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_constant=_constant,
    parse_int=_integer,
    parse_float=_float,
    strict=False,
)
