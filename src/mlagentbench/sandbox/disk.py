"""How much a workspace holds, counted without following anything in it."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Iterator
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
        next_folder: int | None = _open_folder(str(folder), None)
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
    mode = os.fstat(frame.descriptor).st_mode & 0o7777
    if mode & 0o500 == 0o500 or os.geteuid() == 0:
        return _list_readable(frame)
    os.fchmod(frame.descriptor, mode | 0o500)
    try:
        return _list_readable(frame)
    finally:
        os.fchmod(frame.descriptor, mode)


def _list_readable(frame: _Frame) -> Footprint:
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


def _open_folder(name: str, parent: int | None) -> int:
    """Open it for listing, also where its mode forbids that to its owner: files can be made in such a
    folder, so it would be a place to hide them from the count."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=parent)
    except PermissionError:
        pass
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    try:
        magic = Path(f"/proc/self/fd/{place}")
        mode = os.fstat(place).st_mode & 0o7777
        magic.chmod(mode | 0o700)
        try:
            return os.open(magic, os.O_RDONLY | os.O_DIRECTORY)
        finally:
            magic.chmod(mode)
    finally:
        os.close(place)


def make_usable(folder: Path) -> None:
    """Give a workspace back to its owner, if a program inside has locked everybody out."""
    mode = folder.stat().st_mode & 0o7777
    if mode & 0o700 != 0o700:
        folder.chmod(mode | 0o700)


def remove(folder: Path) -> None:
    """Remove it with all that is in it, whatever the modes, however deep: each folder gives its own folders
    to the top before it goes, so that nothing is ever deeper than one level."""
    top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        names = itertools.count()
        while entries := os.listdir(top):  # noqa: PTH208
            for entry in entries:
                _remove_entry(top, entry, names)
    finally:
        os.close(top)
    folder.rmdir()


def _remove_entry(top: int, name: str, names: Iterator[int]) -> None:
    if not stat.S_ISDIR(os.lstat(name, dir_fd=top).st_mode):
        os.unlink(name, dir_fd=top)
        return
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for entry in list(os.scandir(inner)):
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.name, 0o700, dir_fd=inner)
                os.rename(entry.name, f".{next(names)}-{os.getpid()}", src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(entry.name, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)
