"""The difference of two texts as people and models read it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

_NO_NEWLINE = "\\ No newline at end of file"


def text_diff(before: str, after: str, names: tuple[str, str], context: int = 3) -> Iterator[str]:
    """A unified diff, line by line, without line ends. A last line that has none is marked as `diff` marks it.

    >>> list(text_diff("a", "a\\n", ("old", "new")))[3:]
    ['-a', '\\\\ No newline at end of file', '+a']
    """
    for line in difflib.unified_diff(_lines(before), _lines(after), *names, n=context):
        yield line.removesuffix("\n")
        if not line.endswith("\n"):
            yield _NO_NEWLINE


def _lines(text: str) -> list[str]:
    """With their line ends. Only a line feed ends a line: other separators are content."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]
