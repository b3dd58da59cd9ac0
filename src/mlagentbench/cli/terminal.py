"""A person at a terminal: questions are put to them, and Ctrl-C is a question of theirs.

Reading and writing go past Python's buffers, so that both can be done while a signal is handled.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from mlagentbench.cli.screen import cleaned
from mlagentbench.workspace.durable import write_all

_LONGEST = 65_536
_AGAIN = "\n(Ctrl-C once more leaves; everything is kept.)\n"


class Terminal:
    """Standard input, and standard output or standard error."""

    def __init__(self, *, json: bool = False) -> None:
        self._source = sys.stdin.fileno()
        self._target = (sys.stderr if json else sys.stdout).fileno()
        self._left, self._leaving = os.pipe()
        self._prompt = ""
        self._pausing = False
        self._interrupts = 0

    @staticmethod
    def is_there(*, json: bool = False) -> bool:
        """Whether somebody can be asked."""
        return sys.stdin.isatty() and (sys.stderr if json else sys.stdout).isatty()

    def say(self, text: str) -> None:
        write_all(self._target, f"{cleaned(text)}\n".encode())

    def ask(self, prompt: str) -> str:
        """What they type, without the spaces around it. What was typed before the question was put is no answer to it.
        The end of input, and Ctrl-C twice, leave."""
        self._interrupts = 0
        self._prompt = prompt
        try:
            termios.tcflush(self._source, termios.TCIFLUSH)
            write_all(self._target, cleaned(prompt).encode())
            return self._read().decode("utf-8", "replace").strip()
        finally:
            self._prompt = ""

    def _read(self) -> bytes:
        """A line, and the lines that come with it when several are pasted at once."""
        typed = bytearray()
        while len(typed) < _LONGEST:
            ready, _, _ = select.select([self._source, self._left], [], [], 0 if typed else None)
            if not ready:
                break
            if self._left in ready or not (line := os.read(self._source, _LONGEST)):
                raise KeyboardInterrupt
            typed += line
        return bytes(typed)

    @contextmanager
    def interruptible(self, paused: Callable[[], None]) -> Iterator[None]:
        """Meanwhile Ctrl-C calls `paused`, wherever the run is, and the run waits; what it raises ends the block. At a
        question, and in `paused` itself, the next Ctrl-C leaves."""

        def interrupted(number: int, frame: FrameType | None) -> None:
            if not (self._prompt or self._pausing):
                self._pausing = True
                try:
                    paused()
                finally:
                    self._pausing = False
                return
            self._interrupts += 1
            if self._pausing or self._interrupts > 1:
                os.write(self._leaving, b"x")  # a question may be put by another thread than this one
                raise KeyboardInterrupt
            write_all(self._target, f"{_AGAIN}{cleaned(self._prompt)}".encode())

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
