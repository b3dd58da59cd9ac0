"""The user's cache folder, and locks between processes that build something in it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlagentbench.task.progress import Progress, silent


@contextmanager
def locked(file: Path, what: str, progress: Progress | None = None) -> Iterator[int]:
    """Hold the lock `file` while the block runs; the kernel lets go of it when the process dies.

    A program that builds something must be passed the descriptor that this yields: should the harness be
    killed, the lock is held until that program has ended too, and nobody cleans up under its hands.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            (progress or silent)(f"Another process is making {what}; waiting for it.")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def write_durably(file: Path, content: bytes, mode: int = 0o644) -> None:
    """Put `content` at `file` so that a reader, or a power cut, sees all of it or the file as it was."""
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    aside.unlink(missing_ok=True)
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    with open(descriptor, "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    aside.replace(file)
    sync_folder(file.parent)


def sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
