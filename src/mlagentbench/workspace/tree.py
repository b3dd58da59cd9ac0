"""Snapshots as trees of objects: one object a folder, so that equal folders are the same object.

A tree is lines of JSON: first the format and the folder's own mode, then one line an entry, sorted. A
snapshot's name is the hash of its root tree.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from mlagentbench import bounds
from mlagentbench.errors import PathRefusedError, RecordError
from mlagentbench.units import format_size
from mlagentbench.workspace.paths import MAX_DEPTH, shown, split
from mlagentbench.workspace.spec import Change, ChangeKind, Entry, EntryKind

if TYPE_CHECKING:
    from mlagentbench.workspace.store import Store

_FORMAT = "mlagentbench tree 1"
_KINDS = frozenset(get_args(EntryKind))
_encode = json.JSONEncoder(separators=(",", ":")).encode

Key = tuple[int, ...]

PERMISSIONS = 0o777
"""What of a mode is kept and laid. Never set-user-id, set-group-id or sticky: a snapshot can come from anybody, and the
files that are laid belong to whoever lays them."""


@dataclass(slots=True, eq=False)
class Node:
    """One entry in memory. `children` is None for what is no folder, and for a folder that is not loaded yet.

    Nodes are shared between snapshots and never change, but for what is only remembered here: `hash` of a
    folder that is not saved yet, the encoded `line`, and `key`, by which a scan knows an unchanged file.
    """

    kind: EntryKind
    mode: int = 0
    size: int = 0
    hash: str = ""
    target: str = ""
    children: dict[str, Node] | None = None
    key: Key = ()
    line: bytes = b""

    def entry(self, path: str) -> Entry:
        return Entry(path, self.kind, self.mode, self.size, self.hash, self.target)

    def looks_like(self, other: Node) -> bool:
        """Whether both would be the same entry; folders count by their own mode, not by what is in them."""
        return (self.kind, self.mode, self.size, self.target) == (
            other.kind,
            other.mode,
            other.size,
            other.target,
        ) and (self.kind == "folder" or self.hash == other.hash)


def save(store: Store, folder: Node) -> str:
    """Put `folder`, and every folder in it that is not in the store yet, into the store."""
    if folder.hash:
        return folder.hash
    lines = []
    for name, child in (folder.children or {}).items():
        if not child.line:
            if child.kind == "folder":
                fields = [name, "folder", 0, 0, save(store, child), ""]
            else:
                fields = [name, child.kind, child.mode, child.size, child.hash, child.target]
            child.line = _encode(fields).encode("ascii")
        lines.append(child.line)
    lines.sort()
    head = _encode([_FORMAT, folder.mode]).encode("ascii")
    folder.hash = store.put(b"\n".join([head, *lines]))
    return folder.hash


def load(store: Store, name: str) -> Node:
    """The folder whose tree is called `name`; the folders in it are not loaded."""
    damaged = RecordError(
        f"Object {name} in {store.folder} is not a tree; the record that refers to it is damaged."
    )
    head, *lines = store.get(name, bounds.TREE).split(b"\n")
    children: dict[str, Node] = {}
    try:
        format_name, mode = json.loads(head)
        if format_name != _FORMAT or type(mode) is not int or not 0 <= mode <= 0o7777:
            raise damaged
        for line in lines:
            entry, kind, entry_mode, size, content, target = json.loads(line)
            if kind not in _KINDS or not _is_name(entry) or not 0 <= entry_mode <= 0o7777 or size < 0:
                raise damaged
            children[entry] = Node(
                kind, entry_mode & PERMISSIONS, int(size), str(content), str(target), line=line
            )
    except (ValueError, TypeError):
        raise damaged from None
    return Node("folder", mode & PERMISSIONS, hash=name, children=children)


def load_all(store: Store, name: str) -> Node:
    """The folder whose tree is called `name`, with everything in it."""
    root = load(store, name)
    count = Extent(name)
    rest = [(root, 0)]
    while rest:
        folder, depth = rest.pop()
        children = open_children(store, folder)
        count.add(children, depth)
        rest += [(child, depth + 1) for child in children.values() if child.kind == "folder"]
    return root


class Extent:
    """How much of a snapshot was gone through. Equal folders are one object, so that a few small objects can stand for
    more files than any disk holds; beyond the bounds it is refused."""

    def __init__(self, name: str) -> None:
        self._what = f"Snapshot {name}"
        self._entries = self._size = 0
        self._most, self._largest = bounds.ENTRIES.value(), bounds.EXPANDED.value()

    def add(self, children: Mapping[str, Node], depth: int) -> None:
        if children and depth > MAX_DEPTH:
            raise RecordError(f"{self._what} is nested deeper than {MAX_DEPTH} folders; it is damaged.")
        self._entries += len(children)
        self._size += sum(child.size for child in children.values() if child.kind == "file")
        if self._entries > self._most:
            bounds.ENTRIES.check(self._entries, self._what)
        if self._size > self._largest:
            bounds.EXPANDED.check(self._size, self._what)


def open_children(store: Store, node: Node) -> dict[str, Node]:
    """What is in a folder, loaded when it is not yet; nothing for what is no folder."""
    if node.children is None:
        if node.kind != "folder":
            return {}
        loaded = load(store, node.hash)
        node.mode, node.children = loaded.mode, loaded.children
    return node.children or {}


def entries(store: Store, name: str) -> Iterator[Entry]:
    """Everything in a snapshot, folders before what is in them, without the root."""
    count = Extent(name)
    rest = [("", load(store, name), 0)]
    while rest:
        path, node, depth = rest.pop()
        children = open_children(store, node)
        count.add(children, depth)
        if path:
            yield node.entry(path)
        rest += [
            (f"{path}/{child}" if path else child, children[child], depth + 1)
            for child in sorted(children, reverse=True)
        ]


def find(store: Store, name: str, path: str) -> Entry | None:
    """What lies at `path` in a snapshot; None if nothing does."""
    node = load(store, name)
    names = split(path)
    for part in names:
        child = open_children(store, node).get(part)
        if child is None:
            return None
        node = child
    open_children(store, node)
    return node.entry("/".join(names))


def read(store: Store, name: str, path: str, limit: int) -> bytes:
    """The bytes of the file at `path` in a snapshot, if they are at most `limit`."""
    return store.get(_file_at(store, name, path, limit).hash)


def extract(store: Store, name: str, path: str, target: Path, limit: int) -> None:
    """Copy the file at `path` in a snapshot to the new file `target`, if it has at most `limit` bytes."""
    entry = _file_at(store, name, path, limit)
    with target.open("xb", buffering=0) as file:
        store.copy_out(entry.hash, file.fileno())


def _file_at(store: Store, name: str, path: str, limit: int) -> Entry:
    entry = find(store, name, path)
    if entry is None:
        raise PathRefusedError(f"There is no {shown(path)} in the workspace.")
    if entry.kind == "unkept":
        raise PathRefusedError(f"The content of {shown(path)} was not kept: {entry.target}.")
    if entry.kind != "file":
        raise PathRefusedError(f"{shown(path)} is a {entry.kind}, not a plain file.")
    if max(entry.size, store.size(entry.hash)) > limit:
        raise PathRefusedError(
            f"{shown(path)} has {format_size(entry.size)}; at most {format_size(limit)} is read here."
        )
    return entry


def diff(store: Store, before: str, after: str) -> tuple[Change, ...]:
    """What differs between two snapshots, by path; folders that are equal are not even read."""
    if before == after:
        return ()
    return diff_nodes(load(store, before), load(store, after), lambda node: open_children(store, node))


def diff_nodes(
    before: Node, after: Node, children_of: Callable[[Node], Mapping[str, Node]]
) -> tuple[Change, ...]:
    """What differs between two trees in memory, without their roots."""
    nothing: Mapping[str, Node] = {}
    changes: list[Change] = []
    rest: list[tuple[str, Node | None, Node | None]] = [("", before, after)]
    counts = Extent(before.hash), Extent(after.hash)
    while rest:
        path, old, new = rest.pop()
        if old is new or (old and new and old.hash and old.hash == new.hash and old.looks_like(new)):
            continue
        old_children = children_of(old) if old else nothing
        new_children = children_of(new) if new else nothing
        depth = path.count("/") + bool(path)
        counts[0].add(old_children, depth)
        counts[1].add(new_children, depth)
        if path and not (old and new and old.looks_like(new)):
            kind: ChangeKind = "added" if old is None else "removed" if new is None else "changed"
            changes.append(
                Change(path, kind, old.entry(path) if old else None, new.entry(path) if new else None)
            )
        for name, child in new_children.items():
            if child is not (other := old_children.get(name)):
                rest.append((f"{path}/{name}" if path else name, other, child))
        for name in old_children.keys() - new_children.keys():
            rest.append((f"{path}/{name}" if path else name, old_children[name], None))
    return tuple(sorted(changes, key=lambda change: change.path))


def measure(store: Store, name: str, known: dict[str, tuple[int, int, int]]) -> tuple[int, int, int]:
    """The files and folders, the bytes and the depth of a snapshot, without going through equal folders twice: what is
    in `known` is not looked at again. Raises RecordError beyond the bounds."""
    _measure(store, name, known, 0)
    entries, size, _ = known[name]
    bounds.ENTRIES.check(entries, f"Snapshot {name}")
    bounds.EXPANDED.check(size, f"Snapshot {name}")
    return known[name]


def _measure(store: Store, name: str, known: dict[str, tuple[int, int, int]], depth: int) -> None:
    if depth + (known[name][2] if name in known else 0) > MAX_DEPTH:
        raise RecordError(f"A snapshot is nested deeper than {MAX_DEPTH} folders; it is damaged.")
    if name in known:
        return
    children = (load(store, name).children or {}).values()
    entries, size, deepest = len(children), 0, 0
    for child in children:
        if child.kind == "file":
            size += child.size
        elif child.kind == "folder":
            _measure(store, child.hash, known, depth + 1)
            inner = known[child.hash]
            entries, size, deepest = entries + inner[0], size + inner[1], max(deepest, inner[2] + 1)
    known[name] = entries, size, deepest


def objects(store: Store, name: str) -> set[str]:
    """The names of all objects that a snapshot is made of, its trees included."""
    trees, files, rest = set[str](), set[str](), [name]
    while rest:
        _expand(load(store, rest.pop()), trees, files, rest)
    return trees | files | {name}


def reachable(store: Store, names: Iterable[str]) -> set[str]:
    """All objects that snapshots and single objects called `names` need; what is damaged ends the search
    there."""
    trees, files = set[str](), set(names)
    rest = [name for name in files if _begins_like_a_tree(store, name)]
    while rest:
        try:
            _expand(load(store, rest.pop()), trees, files, rest)
        except RecordError:
            continue
    return trees | files


def _expand(folder: Node, trees: set[str], files: set[str], rest: list[str]) -> None:
    """Sort the children of `folder` by what they are. The two sets must not mix: a file of an agent can have
    the bytes, and so the name, of a tree."""
    for child in (folder.children or {}).values():
        if child.kind == "folder" and child.hash not in trees:
            trees.add(child.hash)
            rest.append(child.hash)
        elif child.kind == "file":
            files.add(child.hash)


def _begins_like_a_tree(store: Store, name: str) -> bool:
    try:
        with store.open(name) as file:
            return file.read(len(_FORMAT) + 2) == f'["{_FORMAT}'.encode("ascii")
    except RecordError:
        return False


def _is_name(name: object) -> bool:
    """Whether a name of a tree is one name inside its folder: a tree can come from a stranger's file."""
    return isinstance(name, str) and name not in ("", ".", "..") and "/" not in name and "\0" not in name
