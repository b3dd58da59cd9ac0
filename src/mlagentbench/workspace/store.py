"""The content of all snapshots of one folder of runs: objects named by the sha256 of their bytes."""

from __future__ import annotations

import fcntl
import hashlib
import io
import itertools
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Self

from mlagentbench.bounds import Bound
from mlagentbench.errors import RecordError
from mlagentbench.workspace.copying import CHUNK, copy_and_hash, hash_of, try_reflink
from mlagentbench.workspace.durable import sync_data, sync_file_system, sync_folder, write_all
from mlagentbench.workspace.journal import Journal, OtherJournals
from mlagentbench.workspace.tree import reachable

_IS_HASH = re.compile(r"[0-9a-f]{64}").fullmatch
_SMALL = 64 * 1024
_MOST_WAITING = 16 * 2**20
_MANY = 16


@dataclass(frozen=True)
class Collected:
    """What a collection removed."""

    objects: int
    bytes: int


class Store:
    """Objects in a folder, safe with many processes.

    What was put can be read at once by this process; after `flush` by all of them, and it survives a power
    failure. From its first `put` until `close` a store holds a shared lock, so that nobody collects what a run
    just wrote.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._objects = folder / "objects"
        self._journal = Journal(folder / "journal")
        self._others = OtherJournals(folder / "journal")
        self._waiting: dict[str, bytes] = {}
        self._waiting_bytes = 0
        self._unsynced: list[str] = []
        self._lock = -1
        token = os.urandom(8).hex()
        self._aside = (self._objects / f".{os.getpid()}-{token}-{number}" for number in itertools.count())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def put(self, data: bytes) -> str:
        """Keep `data`; its hash is its name from now on."""
        self.lock_shared()
        name = hashlib.sha256(data).hexdigest()
        if name in self._waiting or name in self._journal or self._has_file(name, len(data)):
            return name
        if len(data) > _SMALL or self._waiting_bytes + len(data) > _MOST_WAITING:
            self._put_as_file(name, data)
        else:
            self._waiting[name] = data
            self._waiting_bytes += len(data)
        return name

    def put_file(self, descriptor: int, expected: str = "") -> str:
        """Keep the rest of the file open as `descriptor`, however large it is.

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
        if expected and self._has_file(expected, size):
            if hash_of(descriptor) == (expected, size):
                return expected, size
            os.lseek(descriptor, start, os.SEEK_SET)
        with self._new_file() as (aside, copy):
            if start == 0 and try_reflink(descriptor, copy):
                name, size = hash_of(copy)
            else:
                name, size = copy_and_hash(descriptor, copy)
            if self._has_file(name, size):
                aside.unlink()
            else:
                aside.rename(self._objects / name)
                self._unsynced.append(name)
        return name, size

    def get(self, name: str, bound: Bound | None = None) -> bytes:
        """The bytes of an object, checked against its name. One beyond `bound` is refused before it is read."""
        data = self._from_memory_or_journal(name)
        problem = "is missing from"
        if data is None and self._path(name).exists():
            if bound is not None:
                bound.check(self._path(name).stat().st_size, f"Object {name} in {self.folder}")
            data, problem = self._path(name).read_bytes(), "is damaged in"
        if data is None or hashlib.sha256(data).hexdigest() != name:
            data = self._others.read(name)
        if data is None:
            raise self._lost(name, problem)
        return data

    def check(self, name: str) -> None:
        """Raises RecordError unless the object is there and is what its name says; never holds a large one whole."""
        try:
            with self._path(name).open("rb") as stream:
                if hash_of(stream.fileno())[0] == name:
                    return
        except FileNotFoundError:
            self.get(name)
        else:
            if self._others.read(name) is None:
                raise self._lost(name, "is damaged in")

    def open(self, name: str) -> BinaryIO:
        """An object, open for reading; its bytes are not checked, so check their hash when they matter."""
        try:
            return self._path(name).open("rb")
        except FileNotFoundError:
            return io.BytesIO(self.get(name))

    def copy_out(self, name: str, destination: int) -> None:
        """Write an object to the empty file open as `destination`, however large it is; its bytes are checked."""
        if self.size(name) <= CHUNK:
            write_all(destination, self.get(name))
            return
        with self._path(name).open("rb", buffering=0) as source:
            shared = try_reflink(source.fileno(), destination)
            found, _ = hash_of(source.fileno()) if shared else copy_and_hash(source.fileno(), destination)
        if found != name:
            os.ftruncate(destination, 0)
            os.lseek(destination, 0, os.SEEK_SET)
            write_all(destination, self.get(name))

    def has(self, name: str) -> bool:
        return (
            self._path(name).exists()
            or self._from_memory_or_journal(name) is not None
            or self._others.read(name) is not None
        )

    def size(self, name: str) -> int:
        try:
            return self._path(name).stat().st_size
        except FileNotFoundError:
            return len(self.get(name))

    def adopt(self, file: Path, name: str) -> None:
        """Take `file`, whose bytes are known to have the hash `name`, as it is. It must lie on the store's own disk."""
        self.lock_shared()
        if not self._has_file(name, file.stat().st_size):
            file.chmod(0o444)
            file.rename(self._path(name))
            self._unsynced.append(name)

    def flush(self) -> None:
        """Return when every object put since the last flush would survive a power failure."""
        if len(self._unsynced) > _MANY:
            sync_file_system(self._objects)
        elif self._unsynced:
            for name in self._unsynced:
                descriptor = os.open(self._objects / name, os.O_RDONLY | os.O_CLOEXEC)
                try:
                    sync_data(descriptor)
                finally:
                    os.close(descriptor)
            sync_folder(self._objects)
        self._unsynced.clear()
        if self._waiting:
            self._journal.write(self._waiting)
            self._waiting = {}
            self._waiting_bytes = 0

    def lock_shared(self) -> None:
        """Keep collections away until `close`. Waits for one that is going on."""
        if self._lock < 0:
            self._objects.mkdir(parents=True, exist_ok=True)
            self._lock = self._open_lock()
            fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self) -> None:
        """Make files of all objects and let go of the lock. What was flushed stays as durable as it was."""
        self._leave_journal()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __del__(self) -> None:
        """A store that was only dropped lets go of its lock; its journal is read by whoever comes next."""
        if self._lock >= 0:
            os.close(self._lock)

    def collect(self, live: Iterable[str]) -> Collected:
        """Remove every object that cannot be reached from `live`, hashes of snapshots and of single objects.

        `live` is gone through while no run can write, so let it be a generator that reads the runs.
        """
        if not self.folder.is_dir():
            return Collected(0, 0)
        with self._alone():
            self._leave_journal()
            left = self._others.paths()
            for name in self._others.names():
                data = self._others.read(name)
                if data is not None and not self._has_file(name, len(data)):
                    self._put_as_file(name, data)
            if left:
                self.flush()
            for path in left:
                path.unlink()
            self._others = OtherJournals(self.folder / "journal")
            kept = reachable(self, live)
            return self._sweep(kept)

    def _sweep(self, kept: set[str]) -> Collected:
        objects = size = 0
        with os.scandir(self._objects) as listing:
            for found in listing:
                if found.name not in kept:
                    objects += 1
                    size += found.stat(follow_symlinks=False).st_size
                    (self._objects / found.name).unlink()
        return Collected(objects, size)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the lock with nobody else, and afterwards as it was held before."""
        was_locked = self._lock >= 0
        self._objects.mkdir(parents=True, exist_ok=True)
        if not was_locked:
            self._lock = self._open_lock()
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise RecordError(
                f"A run is still writing to {self.folder}; collect when it has ended."
            ) from None
        finally:
            if was_locked:
                fcntl.flock(self._lock, fcntl.LOCK_SH)
            else:
                os.close(self._lock)
                self._lock = -1

    def _leave_journal(self) -> None:
        """Make files of all objects that are not yet, and remove this process's journal."""
        waiting, self._waiting, self._waiting_bytes = self._waiting, {}, 0
        for name, data in waiting.items():
            self._put_as_file(name, data)
        if not self._journal:
            return
        for name in self._journal:
            data = self._journal.read(name)
            if not self._has_file(name, len(data)):
                self._put_as_file(name, data)
        self.flush()
        self._journal.remove()

    def _put_as_file(self, name: str, data: bytes) -> None:
        with self._new_file() as (aside, descriptor):
            write_all(descriptor, data)
            aside.rename(self._objects / name)
        self._unsynced.append(name)

    @contextmanager
    def _new_file(self) -> Iterator[tuple[Path, int]]:
        """A file to be filled and renamed; gone if it cannot be filled."""
        aside = next(self._aside)
        descriptor = os.open(aside, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
        try:
            yield aside, descriptor
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)

    def _open_lock(self) -> int:
        return os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _has_file(self, name: str, size: int) -> bool:
        """Whether the object is there, whole: a power failure can leave an empty one, which is put again."""
        try:
            return (self._objects / name).stat().st_size == size
        except FileNotFoundError:
            return False

    def _from_memory_or_journal(self, name: str) -> bytes | None:
        if name in self._journal:
            return self._journal.read(name)
        return self._waiting.get(name)

    def _lost(self, name: str, problem: str) -> RecordError:
        return RecordError(
            f"Object {name} {problem} the store {self.folder}; restore the store from a copy, or run again "
            "what refers to it."
        )

    def _path(self, name: str) -> Path:
        if not _IS_HASH(name):
            raise RecordError(
                f"{name!r} is not the name of an object of {self.folder}; the record is damaged."
            )
        return self._objects / name
