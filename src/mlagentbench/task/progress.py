"""Lines for a person who waits: what long work says while it goes on."""

from __future__ import annotations

import codecs
import re
from collections import deque
from collections.abc import Callable

Progress = Callable[[str], None]
"""Gets one line at a time, without its end."""

_LINE_END = re.compile(r"\r\n|\n|\r(?!$)")


def silent(line: str) -> None:
    """The sink of callers who do not want to be told."""


class Lines:
    """Turns chunks of a program's output into lines for a sink, and keeps the last ones for messages."""

    def __init__(self, sink: Progress | None, keep: int = 25) -> None:
        self._sink = sink or silent
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._kept: deque[str] = deque(maxlen=keep)

    def feed(self, chunk: bytes) -> None:
        *lines, self._rest = _LINE_END.split(self._rest + self._decoder.decode(chunk))
        for line in lines:
            self._tell(line)

    def close(self) -> None:
        self._tell(self._rest + self._decoder.decode(b"", final=True))
        self._rest = ""

    def tail(self) -> str:
        """The last lines, for a message; empty where nothing was said."""
        return "\n".join(self._kept)

    def _tell(self, line: str) -> None:
        if line := line.rstrip():
            self._kept.append(line)
            self._sink(line)
