"""Snapshots back into folders, exactly: modes, empty folders, links that lead nowhere, FIFOs and sockets."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from mlagentbench.errors import RecordError, UsageError
from mlagentbench.workspace.removal import folder_at, remove_at, root_folder
from mlagentbench.workspace.scanning import Fresh, key_of
from mlagentbench.workspace.spec import Entry
from mlagentbench.workspace.store import Store
from mlagentbench.workspace.tree import Node, load_all

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def materialise(store: Store, name: str, folder: Path) -> None:
    """Make `folder`, which must be empty or not there, hold what the snapshot called `name` holds.

    Device nodes and what was not kept are left out.
    """
    _lay_root(store, load_all(store, name), folder)


def materialise_plain(store: Store, name: str, folder: Path) -> list[Entry]:
    """Like `materialise`, but files and folders only: nothing that could lead a reader elsewhere or keep it waiting.

    What was left out, by path.
    """
    root = load_all(store, name)
    left_out: list[Entry] = []
    rest = [("", root)]
    while rest:
        path, node = rest.pop()
        for child, inner in list((node.children or {}).items()):
            place = f"{path}/{child}" if path else child
            if inner.kind == "folder":
                rest.append((place, inner))
            elif inner.kind != "file":
                left_out.append(inner.entry(place))
                del (node.children or {})[child]
    _lay_root(store, root, folder)
    return sorted(left_out, key=lambda entry: entry.path)


def _lay_root(store: Store, root: Node, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with root_folder(folder, 0o700) as descriptor:
        with os.scandir(descriptor) as listing:
            if next(listing, None) is not None:
                raise UsageError(f"{folder} is not empty; give an empty folder to lay a snapshot into.")
        lay_children(store, root, descriptor, [])
    folder.chmod(root.mode)


def converge(store: Store, there: Node, wanted: Node, folder: int, fresh: Fresh) -> Node:
    """Make the open `folder`, in which is what `there` says, hold what is `wanted`, and touch nothing else.

    What was not kept stays if it still looks as it did: it cannot be laid again.
    """
    now, then = there.children or {}, wanted.children or {}
    result = {}
    for name in now.keys() - then.keys():
        remove_at(folder, name)
    for name, child in then.items():
        old = now.get(name)
        if old is not None and old.kind == child.kind == "folder":
            with folder_at(folder, name, 0o700, keep_mode=False) as inner:
                result[name] = converge(store, old, child, inner, fresh)
                os.fchmod(inner, child.mode)
        elif old is not None and old.looks_like(child):
            result[name] = old
        else:
            remove_at(folder, name)
            lay(store, name, child, folder, fresh)
            result[name] = child
    return Node("folder", wanted.mode, hash=wanted.hash, children=result, line=wanted.line)


def lay_children(store: Store, node: Node, folder: int, fresh: Fresh) -> None:
    """Lay everything in `node` into the empty folder open as `folder`; `fresh` gets the files' new keys."""
    for name, child in (node.children or {}).items():
        lay(store, name, child, folder, fresh)


def lay(store: Store, name: str, node: Node, folder: int, fresh: Fresh) -> None:
    """Lay one entry, under a name that is free."""
    if node.kind == "file":
        _lay_file(store, name, node, folder, fresh)
    elif node.kind == "folder":
        os.mkdir(name, 0o700, dir_fd=folder)
        with folder_at(folder, name, 0o700) as inner:
            lay_children(store, node, inner, fresh)
            os.fchmod(inner, node.mode)
    elif node.kind == "link":
        os.symlink(node.target, name, dir_fd=folder)
    elif node.kind in ("fifo", "socket"):
        os.mknod(name, (stat.S_IFIFO if node.kind == "fifo" else stat.S_IFSOCK) | 0o600, dir_fd=folder)
        os.chmod(name, node.mode, dir_fd=folder)


def _lay_file(store: Store, name: str, node: Node, folder: int, fresh: Fresh) -> None:
    descriptor = os.open(name, _NEW_FILE, 0o600, dir_fd=folder)
    try:
        if store.size(node.hash) != node.size:
            raise RecordError(
                f"Object {node.hash} in {store.folder} has not the size that its snapshot says; the record is damaged."
            )
        store.copy_out(node.hash, descriptor)
        os.fchmod(descriptor, node.mode)
        fresh.append((node, key_of(os.fstat(descriptor))))
    finally:
        os.close(descriptor)
