"""Where small objects live while their run goes on: one file that only grows.

Making and syncing a file for each small object costs several disk flushes a step; appending all of a step's
objects to one file costs one. When the run ends, its objects become files of their own; when it is killed, they
are read from its journal.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from mlagentbench.workspace.durable import sync_data, sync_folder, write_all

_HASH_BYTES = 32
_HEAD_BYTES = _HASH_BYTES + 8


class Journal:
    """The journal that one process writes, made when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"{os.getpid()}-{os.urandom(6).hex()}"
        self._descriptor = -1
        self._size = 0
        self._where: dict[str, tuple[int, int]] = {}

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def __contains__(self, name: str) -> bool:
        return name in self._where

    def __bool__(self) -> bool:
        return bool(self._where)

    def __iter__(self) -> Iterator[str]:
        return iter(self._where)

    def write(self, objects: dict[str, bytes]) -> None:
        """Append `objects` and return when they are on the disk."""
        if self._descriptor < 0:
            self._folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
            sync_folder(self._folder)
        parts = []
        where = {}
        size = self._size
        for name, data in objects.items():
            parts += [bytes.fromhex(name), len(data).to_bytes(_HEAD_BYTES - _HASH_BYTES, "little"), data]
            where[name] = (size + _HEAD_BYTES, len(data))
            size += _HEAD_BYTES + len(data)
        write_all(self._descriptor, b"".join(parts))
        sync_data(self._descriptor)
        self._size = size
        self._where |= where

    def read(self, name: str) -> bytes:
        """The bytes of an object of this journal."""
        start, length = self._where[name]
        return os.pread(self._descriptor, length, start)

    def remove(self) -> None:
        """Remove the file, once its objects are safe elsewhere."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._path.unlink(missing_ok=True)
        self._descriptor, self._size, self._where = -1, 0, {}


class OtherJournals:
    """The journals of runs that go on elsewhere or were killed, read as far as they are whole."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[Path, int] = {}
        self._where: dict[str, tuple[Path, int, int]] = {}

    def read(self, name: str) -> bytes | None:
        """The bytes of an object; None if no journal has it, undamaged."""
        if name not in self._where:
            self._look_again()
        if name not in self._where:
            return None
        path, start, length = self._where[name]
        try:
            with path.open("rb") as file:
                data = os.pread(file.fileno(), length, start)
        except FileNotFoundError:
            return None
        return data if hashlib.sha256(data).hexdigest() == name else None

    def paths(self) -> list[Path]:
        return sorted(self._folder.iterdir()) if self._folder.is_dir() else []

    def names(self) -> list[str]:
        self._look_again()
        return list(self._where)

    def _look_again(self) -> None:
        """Note what was added since the last look; an object that a crash cut off ends its journal."""
        for path in self.paths():
            position = self._read.get(path, 0)
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                while position + _HEAD_BYTES <= size:
                    head = os.pread(file.fileno(), _HEAD_BYTES, position)
                    length = int.from_bytes(head[_HASH_BYTES:], "little")
                    if position + _HEAD_BYTES + length > size:
                        break
                    self._where[head[:_HASH_BYTES].hex()] = (path, position + _HEAD_BYTES, length)
                    position += _HEAD_BYTES + length
            self._read[path] = position
