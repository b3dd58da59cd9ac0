"""How much a workspace holds, counted without following anything in it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_BLOCK = 512
_MOST_OPEN = 256
"""Folders held open at once; only a tree with that many branching levels reaches it."""


class Footprint(NamedTuple):
    size: int
    entries: int


class TooDeepError(Exception):
    """A tree that branches at more levels than anybody needs."""


@dataclass
class _Frame:
    descriptor: int
    pending: list[str]


def measure(folder: Path, most_entries: int) -> Footprint:
    """Blocks and entries below `folder`; counting ends once there are more than `most_entries`."""
    size = entries = 0
    stack: list[_Frame] = []
    try:
        next_folder: int | None = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        while next_folder is not None:
            frame = _Frame(next_folder, [])
            stack.append(frame)
            size_here, entries_here = _list(frame)
            size += size_here
            entries += entries_here
            if entries > most_entries:
                break
            if len(stack) > _MOST_OPEN:
                raise TooDeepError
            next_folder = _descend(stack)
    finally:
        for frame in stack:
            os.close(frame.descriptor)
    return Footprint(size, entries)


def _list(frame: _Frame) -> Footprint:
    size = entries = 0
    with os.scandir(frame.descriptor) as listing:
        for entry in listing:
            entries += 1
            try:
                status = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue
            size += status.st_blocks * _BLOCK
            if entry.is_dir(follow_symlinks=False):
                frame.pending.append(entry.name)
    return Footprint(size, entries)


def _descend(stack: list[_Frame]) -> int | None:
    """Open the next folder to list. A folder with nothing more to give is closed first, so that a mere chain
    of folders, however deep, needs two descriptors."""
    while stack:
        frame = stack[-1]
        if not frame.pending:
            os.close(stack.pop().descriptor)
            continue
        name = frame.pending.pop()
        try:
            opened = _open_folder(name, frame.descriptor)
        except OSError:
            continue
        if not frame.pending:
            os.close(stack.pop().descriptor)
        return opened
    return None


def _open_folder(name: str, parent: int) -> int:
    """Open it for listing, also where its mode forbids that to its owner: files can be made in such a
    folder, so it would be a place to hide them from the count."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        pass
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        magic = f"/proc/self/fd/{place}"
        mode = os.fstat(place).st_mode & 0o7777
        os.chmod(magic, mode | 0o700)  # noqa: PTH101 - a Path adds nothing to a descriptor's own link
        try:
            return os.open(magic, os.O_RDONLY | os.O_DIRECTORY)
        finally:
            os.chmod(magic, mode)  # noqa: PTH101
    finally:
        os.close(place)
