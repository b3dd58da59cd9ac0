"""Snapshots of folders that are not workspaces: another program's copies of one, which stay as they are."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass

from mlagentbench.workspace.paths import shown
from mlagentbench.workspace.reading import LISTING_FLAGS, open_beneath
from mlagentbench.workspace.scanning import Scan
from mlagentbench.workspace.store import Store
from mlagentbench.workspace.tree import PERMISSIONS, Node, entries, save


@dataclass(frozen=True)
class Kept:
    """A folder in the store."""

    snapshot: str
    notes: tuple[str, ...]
    """What was not kept, or leads elsewhere, a sentence each."""


def keep_folder(store: Store, root: int, names: tuple[str, ...], max_file: int) -> Kept:
    """Keep what lies at `names` beneath the open folder `root`. No link is followed, and nothing is changed."""
    descriptor = open_beneath(root, names, LISTING_FLAGS)
    try:
        mode = os.fstat(descriptor).st_mode & PERMISSIONS
        node = Scan(store.absorb, max_file, may_change=False).folder(descriptor, mode, None)
    finally:
        os.close(descriptor)
    snapshot = save(store, node)
    return Kept(snapshot, tuple(_notes(store, snapshot)))


def keep_nothing(store: Store) -> str:
    """The snapshot of an empty folder."""
    return save(store, Node("folder", 0o755, children={}))


def _notes(store: Store, snapshot: str) -> list[str]:
    notes = []
    for entry in entries(store, snapshot):
        if entry.kind == "unkept":
            notes.append(f"{shown(entry.path)} is not kept: {entry.target}.")
        elif entry.kind == "link" and _leads_out(entry.path, entry.target):
            notes.append(
                f"{shown(entry.path)} is a link that leads out, to {shown(entry.target)}; it is kept as a link."
            )
        elif entry.kind in ("device", "fifo", "socket"):
            notes.append(f"{shown(entry.path)} is a {entry.kind} and has no content.")
    return notes


def _leads_out(path: str, target: str) -> bool:
    """By the link's text alone, since nothing is followed."""
    end = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return end.startswith(("/", "../")) or end == ".."
