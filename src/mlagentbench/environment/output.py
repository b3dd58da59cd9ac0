"""Turning a program's output into what an agent reads: progress bars collapsed, the middle of long ones left out."""

from __future__ import annotations

import codecs
import re
import threading
from collections import deque
from collections.abc import Callable
from typing import IO

from mlagentbench.model.redaction import Redaction

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LONGEST_LINE = 20_000


class OutputCollector:
    """Takes chunks as they come; keeps all of them in a file and, in memory, only the head and the tail."""

    def __init__(self, keep: IO[bytes], head: int, tail: int, live: Callable[[str], None]) -> None:
        self._keep = keep
        self._live = live
        self._head_limit = head
        self._tail_limit = tail
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._line = ""
        self._pending_return = False
        self._head: list[str] = []
        self._head_size = 0
        self._tail: deque[str] = deque()
        self._tail_size = 0
        self._left_out = 0
        self.size = 0

    def feed(self, chunk: bytes) -> None:
        self._keep.write(chunk)
        self.size += len(chunk)
        text = self._decoder.decode(chunk)
        self._live(text)
        self._take(text)

    def text(self) -> str:
        """What the agent is shown of it. Call it once, at the end."""
        self._take(self._decoder.decode(b"", final=True))
        if self._line:
            self._commit(self._line)
            self._line = ""
        head, tail = "".join(self._head), "".join(self._tail)
        if not self._left_out:
            return head + tail
        return f"{head}\n[… {self._left_out:,} characters left out here …]\n{tail}"

    @property
    def cut(self) -> bool:
        return self._left_out > 0

    def _take(self, text: str) -> None:
        if self._pending_return:
            text = "\r" + text
            self._pending_return = False
        if text.endswith("\r"):
            text = text[:-1]
            self._pending_return = True
        *lines, rest = text.replace("\r\n", "\n").split("\n")
        for line in lines:
            self._commit(_after_rewrites(self._line + line) + "\n")
            self._line = ""
        self._line = _after_rewrites(self._line + rest)
        if len(self._line) > _LONGEST_LINE:
            self._commit(self._line)
            self._line = ""

    def _commit(self, line: str) -> None:
        line = _CONTROLS.sub("", _ESCAPES.sub("", line))
        room = 0 if self._tail else self._head_limit - self._head_size
        if room:
            self._head.append(line[:room])
            self._head_size += len(line[:room])
            line = line[room:]
        if not line:
            return
        self._tail.append(line)
        self._tail_size += len(line)
        while self._tail_size > self._tail_limit:
            oldest = self._tail.popleft()
            excess = self._tail_size - self._tail_limit
            if len(oldest) > excess:
                self._tail.appendleft(oldest[excess:])
                self._tail_size -= excess
                self._left_out += excess
            else:
                self._tail_size -= len(oldest)
                self._left_out += len(oldest)


class OutputTurns:
    """The output of a program that stays over several steps: each chunk goes to the step that is under way. Secrets
    that the program was given are taken out of it before it goes anywhere."""

    def __init__(self, redaction: Redaction | None = None) -> None:
        self._clean = (redaction or Redaction()).stream()
        self._collector: OutputCollector | None = None
        self._late = bytearray()
        """Written by what still ran when a step was over; the next step tells it."""
        self._lock = threading.Lock()

    def listen(self, collector: OutputCollector | None) -> None:
        with self._lock:
            if collector is not None and self._late:
                collector.feed(bytes(self._late))
                self._late.clear()
            self._collector = collector

    def feed(self, chunk: bytes) -> None:
        """Called by the sandbox's own thread, at any time."""
        with self._lock:
            self._pass_on(self._clean.feed(chunk))

    def end(self) -> None:
        """The program has ended: nothing follows what it wrote."""
        with self._lock:
            self._pass_on(self._clean.rest())

    def _pass_on(self, chunk: bytes) -> None:
        if self._collector is not None:
            self._collector.feed(chunk)
        else:
            self._late += chunk


def _after_rewrites(line: str) -> str:
    """What a terminal would show last of a line that was written over and over."""
    return line.rsplit("\r", 1)[-1]


def plain_text(text: str) -> str:
    """`text` without what could steer the terminal of the person who reads it."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text)).replace("\r", "\n")
