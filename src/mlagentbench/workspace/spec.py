"""What passes between the workspace, the snapshots of it, and everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

EntryKind = Literal["file", "folder", "link", "fifo", "socket", "device", "unkept"]
ChangeKind = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class Entry:
    """One thing in a snapshot or a listing. `path` is relative, with `/`; bytes that are not UTF-8 are
    surrogate-escaped. `hash` names a file's content (or a folder's tree) in the store; `target` is a link's
    text. An `unkept` entry existed but its content was not kept; `target` then says why in a few words."""

    path: str
    kind: EntryKind
    mode: int = 0
    size: int = 0
    hash: str = ""
    target: str = ""
    read_only: bool = False


@dataclass(frozen=True)
class Change:
    """One path that differs between two snapshots."""

    path: str
    kind: ChangeKind
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True)
class Snapshot:
    """A whole workspace at one instant: the hash of its root tree in the store, what differs from the
    snapshot before it, and sentences about what was found wrong and set right (a read-only place that was
    replaced, a file too large to keep)."""

    id: str
    changes: tuple[Change, ...]
    notes: tuple[str, ...]
