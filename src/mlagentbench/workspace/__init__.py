"""Files that an agent may touch, and snapshots of them.

`Workspace` is the live folder; `Store` holds the content of snapshots; `entries`, `find`, `read`, `extract`, `diff`,
`materialise` and `objects` look at a snapshot without a workspace. `read_file` and `open_file` are the one
way in which anything else reads a folder that an agent could write.
"""

from mlagentbench.workspace.laying import materialise, materialise_plain
from mlagentbench.workspace.paths import MAX_DEPTH
from mlagentbench.workspace.places import lay_read_only
from mlagentbench.workspace.reading import open_file, read_file
from mlagentbench.workspace.removal import remove_tree
from mlagentbench.workspace.spec import Change, ChangeKind, Entry, EntryKind, Snapshot
from mlagentbench.workspace.store import Collected, Store
from mlagentbench.workspace.tree import diff, entries, extract, find, measure, objects, read
from mlagentbench.workspace.watching import fingerprint
from mlagentbench.workspace.workspace import Workspace

__all__ = [
    "MAX_DEPTH",
    "Change",
    "ChangeKind",
    "Collected",
    "Entry",
    "EntryKind",
    "Snapshot",
    "Store",
    "Workspace",
    "diff",
    "entries",
    "extract",
    "find",
    "fingerprint",
    "lay_read_only",
    "materialise",
    "materialise_plain",
    "measure",
    "objects",
    "open_file",
    "read",
    "read_file",
    "remove_tree",
]
