"""One pass over a workspace, after something of the agent's ran in it: what changed since the last pass is
hashed."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable

from mlagentbench.units import format_size
from mlagentbench.workspace.paths import MAX_DEPTH
from mlagentbench.workspace.places import Place
from mlagentbench.workspace.reading import FILE_FLAGS, FOLDER_FLAGS, LISTING_FLAGS
from mlagentbench.workspace.removal import chmod_open, folder_at
from mlagentbench.workspace.tree import PERMISSIONS, Key, Node

Fresh = list[tuple[Node, Key]]
"""Files just read or written, with the keys by which they will be known once their times are old enough."""

_GRANULARITY = 20_000_000
"""Nanoseconds within which two changes of a file can carry the same time."""

_NOWHERE = Place()


def key_of(status: os.stat_result) -> Key:
    """What changes whenever a file does. The change time is what `os.utime` cannot set back."""
    return (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def settle(fresh: Fresh) -> Fresh:
    """Let files be known by their keys, except those, given back, that could change now and keep the same
    times.

    Right only while nothing of the agent's runs.
    """
    old_enough = time.time_ns() - _GRANULARITY
    waiting = []
    for node, key in fresh:
        if key[3] < old_enough:
            node.key = key
        else:
            waiting.append((node, key))
    return waiting


class Scan:
    """One pass. `absorb` takes in an open file that may have the hash that it is told, and gives its hash and
    size; `fresh` gathers the files that were read. What its mode forbids to read is made readable for as long as that
    takes, or, where the folder is not the harness's to change, not kept."""

    def __init__(
        self, absorb: Callable[[int, str], tuple[str, int]], max_file: int, *, may_change: bool = True
    ) -> None:
        self.fresh: Fresh = []
        self._absorb = absorb
        self._max_file = max_file
        self._may_change = may_change

    def folder(
        self, descriptor: int, mode: int, old: Node | None, place: Place = _NOWHERE, depth: int = 0
    ) -> Node:
        """The folder open as `descriptor`; the very node `old` if nothing in it changed."""
        before = (old.children if old else None) or {}
        now: dict[str, Node] = {}
        inner = place.inner
        same = old is not None and old.mode == mode
        with os.scandir(descriptor) as listing:
            for found in listing:
                name = found.name
                if name in inner and inner[name].source:
                    continue
                try:
                    status = found.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                node = before.get(name)
                if node is not None and node.key == (
                    status.st_mode,
                    status.st_size,
                    status.st_mtime_ns,
                    status.st_ctime_ns,
                    status.st_ino,
                ):
                    now[name] = node
                    continue
                new = self._look(descriptor, name, status, node, inner.get(name, _NOWHERE), depth)
                if new is not None:
                    now[name] = new
                    same = same and new is node
        if old is not None and same and len(now) == len(before):
            return old
        return Node("folder", mode, children=now)

    def one(self, folder: int, name: str, place: Place) -> Node:
        """Whatever is at `name` in the open `folder`, looked at for the first time."""
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        node = self._look(folder, name, status, None, place, 0)
        if node is None:
            raise FileNotFoundError(name)
        return node

    def _look(
        self, folder: int, name: str, status: os.stat_result, old: Node | None, place: Place, depth: int
    ) -> Node | None:
        """What `name` is now: `old` itself if it is still that, None if it vanished."""
        mode = status.st_mode & PERMISSIONS
        try:
            if stat.S_ISDIR(status.st_mode):
                if depth == MAX_DEPTH:
                    new = Node("unkept", mode, target=f"nested deeper than {MAX_DEPTH} folders")
                else:
                    return self._inner_folder(folder, name, mode, old, place, depth)
            elif stat.S_ISREG(status.st_mode):
                new, status = self._file(folder, name, status, old)
            elif stat.S_ISLNK(status.st_mode):
                new = Node("link", target=os.readlink(name, dir_fd=folder))
            elif stat.S_ISFIFO(status.st_mode):
                new = Node("fifo", mode)
            elif stat.S_ISSOCK(status.st_mode):
                new = Node("socket", mode)
            else:
                kind = "block" if stat.S_ISBLK(status.st_mode) else "character"
                new = Node(
                    "device", mode, target=f"{kind} {os.major(status.st_rdev)}:{os.minor(status.st_rdev)}"
                )
        except FileNotFoundError:
            return None
        except PermissionError:
            if self._may_change:
                raise
            new = Node("unkept", mode, target="its mode forbids to read it")
        if old is not None and old.looks_like(new):
            new = old
        self.fresh.append((new, key_of(status)))
        return new

    def _inner_folder(
        self, folder: int, name: str, mode: int, old: Node | None, place: Place, depth: int
    ) -> Node | None:
        old = old if old is not None and old.kind == "folder" else None
        if mode & 0o500 == 0o500 or not self._may_change:
            descriptor = os.open(name, LISTING_FLAGS, dir_fd=folder)
            try:
                return self.folder(descriptor, mode, old, place, depth + 1)
            finally:
                os.close(descriptor)
        with folder_at(folder, name, 0o500) as descriptor:
            return self.folder(descriptor, mode, old, place, depth + 1)

    def _file(
        self, folder: int, name: str, status: os.stat_result, old: Node | None
    ) -> tuple[Node, os.stat_result]:
        mode = status.st_mode & PERMISSIONS
        if status.st_size > self._max_file:
            limit = f"larger than {format_size(self._max_file)}"
            return Node("unkept", mode, status.st_size, target=limit), status
        if self._may_change:
            descriptor = _open_whatever_its_mode(folder, name, mode)
        else:
            descriptor = os.open(name, FILE_FLAGS, dir_fd=folder)
        try:
            status = os.fstat(descriptor)
            expected = old.hash if old is not None and old.kind == "file" else ""
            content, size = self._absorb(descriptor, expected)
        finally:
            os.close(descriptor)
        return Node("file", mode, size, content), status


def _open_whatever_its_mode(folder: int, name: str, mode: int) -> int:
    if mode & 0o400:
        return os.open(name, FILE_FLAGS, dir_fd=folder)
    path = os.open(name, FOLDER_FLAGS & ~os.O_DIRECTORY, dir_fd=folder)
    try:
        chmod_open(path, mode | 0o400)
        try:
            return os.open(name, FILE_FLAGS, dir_fd=folder)
        finally:
            chmod_open(path, mode)
    finally:
        os.close(path)
