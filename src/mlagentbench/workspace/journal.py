"""What makes many small objects durable with one write: a file that repeats them until the disk has them
anyway.

Syncing each small object costs a disk flush a piece. A journal costs one flush for all objects of a step; it
is only ever read after a power failure, when an object turns out to be missing or damaged.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

_HASH_BYTES = 32
_LENGTH_BYTES = 8


class Journal:
    """The journal of one process, made when it is first written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._descriptor = -1
        self.size = 0

    def write(self, objects: list[tuple[str, bytes]]) -> None:
        """Append `objects` and return when they are on the disk."""
        if self._descriptor < 0:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
            self._folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, flags, 0o600)
            sync_folder(self._folder)
        block = b"".join(
            part
            for name, data in objects
            for part in (bytes.fromhex(name), len(data).to_bytes(_LENGTH_BYTES, "little"), data)
        )
        write_all(self._descriptor, block)
        sync_data(self._descriptor)
        self.size += len(block)

    def clear(self) -> None:
        """Forget everything, once the objects themselves are on the disk."""
        if self._descriptor >= 0:
            os.ftruncate(self._descriptor, 0)
        self.size = 0

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._path.unlink(missing_ok=True)
            self._descriptor = -1


def journal_files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def journalled(paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Every whole object in these journals; what a crash cut off or damaged is passed over."""
    for path in paths:
        with path.open("rb") as file:
            while len(head := file.read(_HASH_BYTES + _LENGTH_BYTES)) == _HASH_BYTES + _LENGTH_BYTES:
                data = file.read(
                    min(int.from_bytes(head[_HASH_BYTES:], "little"), os.fstat(file.fileno()).st_size)
                )
                if hashlib.sha256(data).digest() != head[:_HASH_BYTES]:
                    break
                yield head[:_HASH_BYTES].hex(), data


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of `data`, also where the system takes it in pieces."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_data(descriptor: int) -> None:
    """Return when what was written to `descriptor` is on the disk."""
    if hasattr(os, "fdatasync"):
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def sync_folder(folder: Path) -> None:
    """Return when the names in `folder` are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_file_system(folder: Path) -> None:
    """Return when everything on the file system of `folder` is on the disk."""
    import ctypes

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        os.sync()
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if syncfs(descriptor) != 0:
            raise OSError(ctypes.get_errno(), "the file system could not be synced", str(folder))
    finally:
        os.close(descriptor)
