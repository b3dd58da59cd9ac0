"""An action as the record keeps it: plain JSON, and valid Unicode."""

from __future__ import annotations

import math

from mlagentbench.errors import UsageError
from mlagentbench.record.steps import Action

_DEEPEST = 50
"""Lists in lists, in an action's arguments."""
_LARGEST_NUMBER = 1024
"""Bits."""


def speakable(action: Action) -> Action:
    """`action` as the record will give it back: plain JSON, and valid Unicode, which a lone surrogate is not.

    What parsers let through and a record cannot hold (not a number, nested beyond reason) becomes null, which no
    argument is.
    """
    return Action(
        valid_text(action.name), {valid_text(key): _plain(value, 0) for key, value in action.args.items()}
    )


def _plain(value: object, depth: int) -> object:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _LARGEST_NUMBER else None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, list | tuple):
        return None if depth >= _DEEPEST else [_plain(inner, depth + 1) for inner in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return (
            None
            if depth >= _DEEPEST
            else {valid_text(key): _plain(inner, depth + 1) for key, inner in value.items()}
        )
    raise UsageError(f"The arguments of an action are plain JSON, and a {type(value).__name__} is not.")


def valid_text(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def readable_path(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
