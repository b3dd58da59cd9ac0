"""What an agent sees at a path: the workspace's own files and, at their places, the read-only data."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from mlagentbench.errors import PathRefusedError
from mlagentbench.workspace.paths import MAX_DEPTH, shown
from mlagentbench.workspace.places import Place, Places
from mlagentbench.workspace.reading import (
    LISTING_FLAGS,
    explain,
    open_beneath,
    open_file,
    opened,
    read_file,
    status_of,
)
from mlagentbench.workspace.scanning import Scan
from mlagentbench.workspace.spec import Entry, EntryKind
from mlagentbench.workspace.tree import Node

_KINDS: dict[int, EntryKind] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "fifo",
    stat.S_IFSOCK: "socket",
}


class View:
    """A workspace's folder and its read-only places, as one tree to look at. Paths are given as names."""

    def __init__(self, folder: Path, places: Places) -> None:
        self._folder = folder
        self._places = places

    def list(self, names: tuple[str, ...]) -> list[Entry]:
        """What is in a folder, by name."""
        base, inner = self._where(names)
        read_only = base != self._folder
        place = None if read_only else self._places.at(names)
        data = {name: below.source for name, below in place.inner.items() if below.source} if place else {}
        descriptor = open_beneath(base, inner, LISTING_FLAGS, "/".join(names))
        try:
            entries = [
                _entry(descriptor, name, (*names, name), read_only=read_only)
                for name in _names(descriptor)
                if name not in data
            ]
        except PermissionError as error:
            with opened(base) as root:
                raise explain(root, inner, error, "/".join(names)) from None
        finally:
            os.close(descriptor)
        for name, source in data.items():
            with opened(source.parent) as parent:
                entries.append(_entry(parent, source.name, (*names, name), read_only=True))
        return sorted((entry for entry in entries if entry), key=lambda entry: entry.path)

    def read(self, names: tuple[str, ...], limit: int) -> bytes:
        """The bytes of a file, if they are at most `limit`."""
        base, inner = self._where(names)
        return read_file(base, "/".join(inner), limit, "/".join(names))

    def open(self, names: tuple[str, ...], limit: int) -> int:
        """A descriptor of a file that has at most `limit` bytes, open for reading; the caller closes it."""
        base, inner = self._where(names)
        return open_file(base, "/".join(inner), limit, "/".join(names))

    def exists(self, names: tuple[str, ...]) -> bool:
        """Whether anything is there, be it a link that leads nowhere."""
        base, inner = self._where(names)
        return status_of(base, "/".join(inner)) is not None

    def keep(self, names: tuple[str, ...], scan: Scan) -> Node:
        """Everything at `names`, read-only data included, kept in the store by `scan`, to be laid
        elsewhere."""
        base, inner = self._where(names)
        with opened(base) as root:
            parent = open_beneath(root, inner[:-1], LISTING_FLAGS, "/".join(names[:-1]))
            try:
                found = scan.one(parent, inner[-1] if inner else ".", self._places.at(names) or Place())
            except FileNotFoundError as error:
                raise explain(root, inner, error, "/".join(names)) from None
            finally:
                os.close(parent)
        if base != self._folder:
            _make_writable(found)
        elif place := self._places.at(names):
            self._add_data(found, place, names, scan)
        return found

    def _add_data(self, node: Node, place: Place, names: tuple[str, ...], scan: Scan) -> None:
        for name, below in place.inner.items():
            if node.children is None:
                return
            if below.source:
                node.children[name] = self.keep((*names, name), scan)
            elif name in node.children:
                self._add_data(node.children[name], below, (*names, name), scan)

    def _where(self, names: tuple[str, ...]) -> tuple[Path, tuple[str, ...]]:
        """The folder of the host, and the names in it, at which `names` are really found."""
        data = self._places.shown(names)
        if data is None:
            return self._folder, names
        source, inner = data
        return source.parent, (source.name, *inner)


def refuse_unless_copyable(node: Node, names: tuple[str, ...], depth: int) -> None:
    """Refuse to copy what cannot be laid again, or would be nested too deep `depth` folders down."""
    rest = [(node, names, depth)]
    while rest:
        node, names, depth = rest.pop()
        if node.kind == "unkept":
            raise PathRefusedError(f"{shown('/'.join(names))} cannot be copied: it is {node.target}.")
        if node.kind in ("fifo", "socket", "device"):
            raise PathRefusedError(f"{shown('/'.join(names))} is a {node.kind} and cannot be copied.")
        if depth > MAX_DEPTH:
            raise PathRefusedError(
                f"The copy of {shown('/'.join(names))} would be nested deeper than {MAX_DEPTH} folders."
            )
        rest += [(child, (*names, name), depth + 1) for name, child in (node.children or {}).items()]


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as listing:
        return [found.name for found in listing]


def _make_writable(node: Node) -> None:
    """Give the owner of a copy the rights that read-only data lack."""
    rest = [node]
    while rest:
        node = rest.pop()
        node.mode |= {"file": 0o600, "folder": 0o700}.get(node.kind, 0)
        rest += (node.children or {}).values()


def _entry(folder: int, name: str, names: tuple[str, ...], *, read_only: bool) -> Entry | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        target = os.readlink(name, dir_fd=folder) if stat.S_ISLNK(status.st_mode) else ""
    except FileNotFoundError:
        return None
    kind = _KINDS.get(stat.S_IFMT(status.st_mode), "device")
    size = status.st_size if kind == "file" else 0
    return Entry(
        "/".join(names), kind, stat.S_IMODE(status.st_mode), size, target=target, read_only=read_only
    )
