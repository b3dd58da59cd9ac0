"""The append-only log of events. Each line carries a hash of its event and of the hash before it, so that a changed
byte is noticed wherever it is, in the last line too; the chain begins with the hash of `run.json`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from mlagentbench import bounds
from mlagentbench.errors import RecordError
from mlagentbench.record.events import EVENT, Event
from mlagentbench.record.files import open_part
from mlagentbench.validation import problems_of

_OPENING = b'{"hash":"'
_MIDDLE = b'","event":'
_HASH_LENGTH = 64
_CHUNK = 2**16


_sync = getattr(os, "fdatasync", os.fsync)


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _link(previous: str, event: bytes) -> str:
    return _hash(previous.encode() + event)


@dataclass(frozen=True)
class History:
    """What a log holds: its events, the hash of the last line, and what was torn off its end."""

    events: tuple[Event, ...]
    head: str
    intact: int
    """Bytes up to the end of the last whole line."""
    dropped: int
    """Bytes after it: a line that a kill cut short."""


def read_history(file: Path, root: bytes) -> History:
    """The events of a log whose chain starts at `root`, the bytes of `run.json`.

    A torn last line is left out and counted; anything else that does not fit is damage, told with its line.
    """
    head, intact, dropped = _hash(root), 0, 0
    events: list[Event] = []
    for number, line in enumerate(read_lines(file), start=1):
        if not line.endswith(b"\n"):
            dropped = len(line)
            break
        event, head = _parse(line[:-1], head, f"{file}, line {number}")
        events.append(event)
        intact += len(line)
    return History(tuple(events), head, intact, dropped)


def read_lines(file: Path) -> Iterator[bytes]:
    """The lines of a log with their ends, one at a time, within bounds. The last one may be torn. None if there is no
    file."""
    try:
        stream = open_part(file.parent, file.name)
    except FileNotFoundError:
        return
    longest = bounds.LINE.value()
    with stream:
        bounds.RECORD.check(os.fstat(stream.fileno()).st_size, file)
        number = 0
        while line := stream.readline(longest + 1):
            number += 1
            bounds.LINE.check(len(line), f"{file}, line {number}")
            yield line


def read_head(file: Path, root: bytes) -> str:
    """The hash that the last whole line of a log carries, without reading or checking the rest of it."""
    try:
        with open_part(file.parent, file.name) as stream:
            return _last_hash(stream) or _hash(root)
    except FileNotFoundError:
        return _hash(root)


def _last_hash(stream: BinaryIO) -> str:
    """Looks from the end for the beginning of the last line that ends."""
    tail, start = b"", stream.seek(0, os.SEEK_END)
    longest = 2 * bounds.LINE.value()
    while start > 0 and len(tail) <= longest:
        size = min(_CHUNK, start)
        start -= size
        stream.seek(start)
        tail = stream.read(size) + tail
        end = tail.rfind(b"\n")
        begin = tail.rfind(b"\n", 0, end) + 1 if end >= 0 else 0
        if end >= 0 and (begin or start == 0):
            begin += len(_OPENING)
            return tail[begin : begin + _HASH_LENGTH].decode("ascii", "replace")
    return ""


def _parse(line: bytes, previous: str, where: str) -> tuple[Event, str]:
    start, end = len(_OPENING), len(_OPENING) + _HASH_LENGTH
    body = end + len(_MIDDLE)
    if line[:start] != _OPENING or line[end:body] != _MIDDLE or not line.endswith(b"}"):
        raise RecordError(f"{where} is not a line of a run's record. The record was changed from outside.")
    head = _link(previous, line[body:-1])
    if line[start:end] != head.encode():
        raise RecordError(
            f"{where} was changed from outside, or does not follow from the line before it; "
            f"what stands before that line can still be trusted."
        )
    try:
        return EVENT.validate_json(line[body:-1]), head
    except ValidationError as error:
        first = problems_of(error, Event)[0].rstrip(".")
        raise RecordError(f"{where} holds no event that this version knows ({first}).") from None


class EventLog:
    """The writing end. When `append` returns, the event is on disk."""

    def __init__(self, file: Path, history: History) -> None:
        self._descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        os.ftruncate(self._descriptor, history.intact)
        os.lseek(self._descriptor, history.intact, os.SEEK_SET)
        self.head = history.head

    def append(self, event: Event) -> None:
        body = event.model_dump_json().encode()
        head = _link(self.head, body)
        _write_all(self._descriptor, b"".join((_OPENING, head.encode(), _MIDDLE, body, b"}\n")))
        _sync(self._descriptor)
        self.head = head

    def close(self) -> None:
        os.close(self._descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
