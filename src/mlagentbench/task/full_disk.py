"""Tells a full disk from other failures of programs that make things ready."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

from mlagentbench.errors import PreparationError
from mlagentbench.units import format_size

_LITTLE_SPACE, _FEW_FILES = 1 << 20, 16
_SAID = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT))


def demand_space(folder: Path, said: str) -> None:
    """Raise PreparationError if a program that writes to `folder` failed because a disk is full, which it `said`, or
    which can be seen."""
    temporary = Path(tempfile.gettempdir())
    full = [place for place in (_existing(folder), temporary) if _is_full(place)]
    if not full and not any(words in said for words in _SAID):
        return
    place = full[0] if full else _existing(folder)
    other = "TMPDIR" if place == temporary else "MLAGENTBENCH_CACHE"
    free = format_size(os.statvfs(place).f_bavail * os.statvfs(place).f_frsize)
    raise PreparationError(
        f"The disk of {place} is full: {free} and {os.statvfs(place).f_favail} files are left of it."
        f" Free some of it (`mlagentbench gc` helps), or set {other} to a folder on another disk."
    )


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _is_full(place: Path) -> bool:
    status = os.statvfs(place)
    no_files = status.f_files > 0 and status.f_favail < _FEW_FILES
    return no_files or status.f_bavail * status.f_frsize < _LITTLE_SPACE
