"""Writing so that it stays written."""

from __future__ import annotations

import os
from pathlib import Path


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
