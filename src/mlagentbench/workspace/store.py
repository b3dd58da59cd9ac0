"""The content of all snapshots of one folder of runs: objects named by the sha256 of their bytes."""

from __future__ import annotations

import fcntl
import hashlib
import itertools
import os
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from mlagentbench.errors import RecordError
from mlagentbench.workspace.copying import CHUNK, copy_and_hash, hash_of, try_reflink
from mlagentbench.workspace.journal import (
    Journal,
    journal_files,
    journalled,
    sync_data,
    sync_file_system,
    sync_folder,
    write_all,
)
from mlagentbench.workspace.tree import reachable

_IS_HASH = re.compile(r"[0-9a-f]{64}").fullmatch
_SMALL = 64 * 1024
_MANY = 16
_JOURNAL_LIMIT = 16 * 2**20


@dataclass(frozen=True)
class Collected:
    """What a collection removed."""

    objects: int
    bytes: int


class Store:
    """Objects in a folder, safe with many processes.

    What was put can be read at once by every process; `flush` makes it survive a power failure. From its
    first `put` until `close` a store holds a shared lock, so that a collection waits for the run to end
    instead of removing what the run just wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._objects = folder / "objects"
        self._journal_folder = folder / "journal"
        self._journal = Journal(self._journal_folder)
        self._small: list[tuple[str, bytes]] = []
        self._small_bytes = 0
        self._large: list[str] = []
        self._lock = -1
        token = secrets.token_hex(8)
        self._aside = (self._objects / f".{os.getpid()}-{token}-{number}" for number in itertools.count())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, data: bytes) -> str:
        """Keep `data`; its hash is its name from now on."""
        self.lock_shared()
        name = hashlib.sha256(data).hexdigest()
        if self._is_kept(name, len(data)):
            return name
        aside = next(self._aside)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        aside.rename(self._objects / name)
        self._remember(name, data)
        return name

    def put_file(self, descriptor: int, expected: str = "") -> str:
        """Keep the rest of the file open as `descriptor`, without ever holding it in memory.

        `expected` is the hash that the file probably has; if it has, nothing is copied.
        """
        return self.absorb(descriptor, expected)[0]

    def absorb(self, descriptor: int, expected: str = "") -> tuple[str, int]:
        """Like `put_file`; also says how many bytes there were."""
        self.lock_shared()
        start = os.lseek(descriptor, 0, os.SEEK_CUR)
        size = os.fstat(descriptor).st_size - start
        if size <= CHUNK:
            data = b"".join(iter(lambda: os.read(descriptor, size + 1), b""))
            return self.put(data), len(data)
        if expected and self._is_kept(expected, size):
            if hash_of(descriptor) == (expected, size):
                return expected, size
            os.lseek(descriptor, start, os.SEEK_SET)
        aside = next(self._aside)
        copy = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            if start == 0 and try_reflink(descriptor, copy):
                name, size = hash_of(copy)
            else:
                name, size = copy_and_hash(descriptor, copy)
        except BaseException:
            aside.unlink()
            raise
        finally:
            os.close(copy)
        if self._is_kept(name, size):
            aside.unlink()
        else:
            aside.rename(self._objects / name)
            self._large.append(name)
        return name, size

    def get(self, name: str) -> bytes:
        """The bytes of an object, checked against its name."""
        try:
            data = self._path(name).read_bytes()
        except FileNotFoundError:
            return self._recover(name, "is missing from")
        if hashlib.sha256(data).hexdigest() != name:
            return self._recover(name, "is damaged in")
        return data

    def open(self, name: str) -> BinaryIO:
        """An object, open for reading; its bytes are not checked, so check their hash when they matter."""
        try:
            return self._path(name).open("rb")
        except FileNotFoundError:
            self._recover(name, "is missing from")
            return self._path(name).open("rb")

    def has(self, name: str) -> bool:
        return self._path(name).exists()

    def size(self, name: str) -> int:
        try:
            return self._path(name).stat().st_size
        except FileNotFoundError:
            return len(self._recover(name, "is missing from"))

    def flush(self) -> None:
        """Return when every object put since the last flush would survive a power failure."""
        if self._journal.size > _JOURNAL_LIMIT or len(self._large) > _MANY:
            sync_file_system(self._objects)
            self._journal.clear()
        else:
            for name in self._large:
                descriptor = os.open(self._objects / name, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    sync_data(descriptor)
                finally:
                    os.close(descriptor)
            if self._large:
                sync_folder(self._objects)
            if self._small:
                self._journal.write(self._small)
        self._forget()

    def lock_shared(self) -> None:
        """Keep collections away until `close`. Waits for one that is going on."""
        if self._lock < 0:
            self._objects.mkdir(parents=True, exist_ok=True)
            self._lock = self._open_lock()
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self) -> None:
        """Make everything durable and let go of the lock."""
        if self._small or self._large or self._journal.size:
            sync_file_system(self._objects)
            self._forget()
        self._journal.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def collect(self, live: Iterable[str]) -> Collected:
        """Remove every object that cannot be reached from `live`, hashes of snapshots and of single objects.

        `live` is gone through while no run can write, so let it be a generator that reads the runs.
        """
        if not self._objects.is_dir():
            return Collected(0, 0)
        lock = self._open_lock() if self._lock < 0 else self._lock
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RecordError(
                    f"A run is still writing to {self.folder}; collect again when it has ended."
                ) from None
            self._settle_journals()
            kept = reachable(self, live)
            objects = size = 0
            with os.scandir(self._objects) as listing:
                for found in listing:
                    if found.name not in kept:
                        objects += 1
                        size += found.stat(follow_symlinks=False).st_size
                        (self._objects / found.name).unlink()
            return Collected(objects, size)
        finally:
            if lock == self._lock:
                fcntl.flock(lock, fcntl.LOCK_SH)
            else:
                os.close(lock)

    def _remember(self, name: str, data: bytes) -> None:
        """Note what the next flush has to make durable, and in which of the two ways."""
        if len(data) > _SMALL or self._small_bytes + len(data) > _JOURNAL_LIMIT:
            self._large.append(name)
        else:
            self._small.append((name, data))
            self._small_bytes += len(data)

    def _forget(self) -> None:
        self._small.clear()
        self._large.clear()
        self._small_bytes = 0

    def _settle_journals(self) -> None:
        """Take over what runs that died left in their journals."""
        left = journal_files(self._journal_folder)
        for name, data in journalled(left):
            if not self._is_kept(name, len(data)):
                self.put(data)
        if left:
            sync_file_system(self._objects)
            self._forget()
            self._journal.clear()
            for path in left:
                path.unlink()

    def _open_lock(self) -> int:
        return os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _is_kept(self, name: str, size: int) -> bool:
        """Whether the object is there, whole: a power failure can leave an empty one, which is written
        again."""
        try:
            return (self._objects / name).stat().st_size == size
        except FileNotFoundError:
            return False

    def _path(self, name: str) -> Path:
        if not _IS_HASH(name):
            raise RecordError(
                f"{name!r} is not the name of an object in {self.folder}; the record is damaged."
            )
        return self._objects / name

    def _recover(self, name: str, problem: str) -> bytes:
        for journalled_name, data in journalled(journal_files(self._journal_folder)):
            if journalled_name == name:
                self._path(name).unlink(missing_ok=True)
                self.put(data)
                return data
        raise RecordError(
            f"Object {name} {problem} the store {self.folder}; restore the store from a copy, "
            "or run again what refers to it."
        )
