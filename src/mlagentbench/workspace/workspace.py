"""The folder that an agent sees and changes: its files by the paths that agents write, and snapshots of
it."""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from mlagentbench.errors import PathRefusedError
from mlagentbench.units import format_size
from mlagentbench.workspace.copying import copy_and_hash, hash_of
from mlagentbench.workspace.durable import write_all
from mlagentbench.workspace.laying import converge, lay
from mlagentbench.workspace.paths import MAX_DEPTH, shown, split
from mlagentbench.workspace.places import Places
from mlagentbench.workspace.reading import (
    FOLDER_FLAGS,
    explain,
    kind_of,
    open_file,
    opened,
    status_of,
)
from mlagentbench.workspace.removal import remove_at, root_folder
from mlagentbench.workspace.scanning import Fresh, Scan, key_of, settle
from mlagentbench.workspace.spec import Entry, Snapshot
from mlagentbench.workspace.store import Store
from mlagentbench.workspace.tree import PERMISSIONS, Node, diff_nodes, load_all, save
from mlagentbench.workspace.view import View, refuse_unless_copyable

_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_MODE = 0o644
_FOLDER_MODE = 0o755


class Workspace:
    """A folder of files, with read-only data shown in it from elsewhere.

    `read_only` says which file or folder of the host is shown at which place. On disk a place holds only a
    mount point, or, with `link_read_only`, a link to the data; snapshots leave it out. `max_file` is the size
    up to which files are kept, and `seen_as` the absolute path under which the agent knows the workspace.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        read_only: Mapping[str, Path],
        *,
        link_read_only: bool = False,
        max_file: int,
        seen_as: str = "/workspace",
    ) -> None:
        self.folder = folder
        self.store = store
        self.read_only = dict(read_only)
        self._places = Places(read_only, link=link_read_only)
        self._view = View(folder, self._places)
        self._max_file = max_file
        self._seen_as = seen_as
        self._root: Node | None = None
        self._last = Node("folder", children={})
        self._fresh: Fresh = []
        token = os.urandom(6).hex()
        self._aside = (f".writing-{token}-{number}" for number in itertools.count())

    def lay_placeholders(self) -> None:
        """Put mount points or links at the read-only places, and remove what is there instead."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with root_folder(self.folder, 0o700) as folder:
            self._places.mend(folder)
        if self._root is not None:
            for names in self._places.parents():
                if not self._is_known_folder(names):
                    self._remember(names, Node("folder", _FOLDER_MODE, children={}))

    def list(self, path: str = "") -> list[Entry]:
        """What is in a folder, by name."""
        return self._view.list(self._split(path))

    def read(self, path: str, limit: int) -> bytes:
        """The bytes of a file, if they are at most `limit`."""
        return self._view.read(self._split(path), limit)

    def open(self, path: str, limit: int) -> BinaryIO:
        """A file that has at most `limit` bytes, open for reading."""
        return os.fdopen(self._view.open(self._split(path), limit), "rb")

    def exists(self, path: str) -> bool:
        """Whether anything is at `path`, be it a link that leads nowhere."""
        return self._view.exists(self._split(path))

    def write(self, path: str, data: bytes) -> None:
        """Make a file hold `data`: all of it or, if the harness dies, none. Missing folders are made."""
        names = self._split_writable(path)
        if len(data) > self._max_file:
            raise PathRefusedError(
                f"{format_size(len(data))} are too many for {shown(path)}; files have at most "
                f"{format_size(self._max_file)}."
            )
        self._replace(names, lambda descriptor: write_all(descriptor, data))

    def write_object(self, path: str, content: str) -> None:
        """Make a file hold an object of the store, however large it is."""
        self._replace(self._split_writable(path), lambda descriptor: self.store.copy_out(content, descriptor))

    def append(self, path: str, data: bytes) -> None:
        """Add `data` to the end of a file, however large it is; a missing one is made."""
        names = self._split_writable(path)
        if status_of(self.folder, "/".join(names)) is None:
            self.write(path, data)
            return
        before = open_file(self.folder, "/".join(names), max(0, self._max_file - len(data)))

        def fill(descriptor: int) -> None:
            copy_and_hash(before, descriptor)
            os.lseek(descriptor, 0, os.SEEK_END)
            write_all(descriptor, data)

        try:
            self._replace(names, fill)
        finally:
            os.close(before)

    def _replace(self, names: tuple[str, ...], fill: Callable[[int], None]) -> None:
        """Put what `fill` writes where `names` say: all of it or, if the harness dies, none."""
        with self._parent(names) as parent:
            mode = self._mode_to_keep(parent, names)
            aside = next(self._aside)
            descriptor = os.open(aside, _NEW_FILE, 0o600, dir_fd=parent)
            try:
                fill(descriptor)
                os.lseek(descriptor, 0, os.SEEK_SET)
                content, size = self.store.absorb(descriptor)
                os.fchmod(descriptor, _FILE_MODE if mode is None else mode)
                os.rename(aside, names[-1], src_dir_fd=parent, dst_dir_fd=parent)
                status = os.fstat(descriptor)
            except BaseException:
                remove_at(parent, aside)
                raise
            finally:
                os.close(descriptor)
        node = Node("file", status.st_mode & PERMISSIONS, size, content)
        self._fresh.append((node, key_of(status)))
        self._remember(names, node)

    def copy(self, source: str, destination: str) -> None:
        """Copy a file, over another one if there is one, or a folder to where nothing is yet."""
        origin, names = self._split(source), self._split_writable(destination)
        if names[: len(origin)] == origin:
            raise PathRefusedError(
                f"{shown(source)} cannot be copied to itself or into itself; copy it elsewhere."
            )
        node = self._view.keep(origin, Scan(self.store.absorb, self._max_file))
        refuse_unless_copyable(node, origin, len(names))
        with self._parent(names) as parent:
            there = status_of(parent, names[-1])
            if node.kind == "file":
                mode = self._mode_to_keep(parent, names)
                node.mode = node.mode if mode is None else mode
            elif there is not None:
                raise PathRefusedError(
                    f"There is already {kind_of(there)} at {shown(destination)}; choose another path."
                )
            aside = next(self._aside)
            try:
                lay(self.store, aside, node, parent, self._fresh)
                os.rename(aside, names[-1], src_dir_fd=parent, dst_dir_fd=parent)
            except BaseException:
                remove_at(parent, aside)
                raise
        self._remember(names, node)

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with everything in it."""
        names = self._split_writable(path)
        if not self.exists(path):
            raise PathRefusedError(f"There is no {shown(path)} in the workspace.")
        with self._parent(names) as parent:
            remove_at(parent, names[-1])
        self._remember(names, None)

    def snapshot(self, *, executed: bool) -> Snapshot:
        """The workspace as it is now, kept in the store.

        Unless something of the agent's was `executed` since the last snapshot, nothing is scanned: the
        harness knows what it wrote itself. Nothing of the agent's may be running meanwhile.
        """
        notes: list[str] = []
        root = self._root
        if executed or root is None:
            with root_folder(self.folder, 0o700) as folder:
                notes += self._places.mend(folder)
            root = self._scan(Scan(self.store.absorb, self._max_file))
        save(self.store, root)
        changes = diff_nodes(self._last, root, lambda node: node.children or {})
        notes += [
            f"{shown(change.path)} is not kept in snapshots: {change.after.target}."
            for change in changes
            if change.after and change.after.kind == "unkept"
        ]
        self._fresh = settle(self._fresh)
        self._root = self._last = root
        return Snapshot(root.hash, changes, tuple(notes))

    def preview(self) -> Snapshot:
        """What a snapshot would be now. Only where nothing was executed since the last one: nothing is scanned."""
        root = self._root or self._last
        save(self.store, root)
        return Snapshot(root.hash, diff_nodes(self._last, root, lambda node: node.children or {}), ())

    def adopt(self, name: str) -> None:
        """Take it that the workspace holds what snapshot `name` holds; the next scan checks every file."""
        self.store.lock_shared()
        self._root = self._last = load_all(self.store, name)
        self._fresh = []

    def restore(self, name: str) -> None:
        """Make the workspace hold exactly what snapshot `name` holds, whatever is in it now."""
        self.store.lock_shared()
        wanted = load_all(self.store, name)
        self.folder.mkdir(parents=True, exist_ok=True)
        there = self._scan(Scan(lambda descriptor, _: hash_of(descriptor), self._max_file))
        with root_folder(self.folder, 0o700) as folder:
            root = converge(self.store, there, wanted, folder, self._fresh)
        self.folder.chmod(wanted.mode)
        self._fresh = settle(self._fresh)
        self._root = self._last = root
        self.lay_placeholders()

    def recheck(self) -> None:
        """Let the next scan read every file anew, however unchanged it looks.

        A program that maps a file into its memory and goes on running can change it without changing its times;
        so when such a program has ended, or a snapshot is the last one, check.
        """
        self._fresh = []
        rest = [self._root] if self._root else []
        while rest:
            node = rest.pop()
            node.key = ()
            rest += (node.children or {}).values()

    def _scan(self, scan: Scan) -> Node:
        mode = self.folder.stat().st_mode & PERMISSIONS
        with root_folder(self.folder, 0o700) as folder:
            root = scan.folder(folder, mode, self._root, self._places.root)
        self._fresh += scan.fresh
        return root

    def normalise(self, path: str) -> str:
        """`path` as snapshots name it: relative, and spelled in one way only."""
        return "/".join(self._split(path))

    def _split(self, path: str) -> tuple[str, ...]:
        return split(path, self._seen_as)

    def _split_writable(self, path: str) -> tuple[str, ...]:
        names = self._split(path)
        if not names:
            raise PathRefusedError("That is the workspace itself; name something in it.")
        if len(names) > MAX_DEPTH:
            raise PathRefusedError(
                f"{shown(path)} is nested deeper than {MAX_DEPTH} folders; choose a shorter path."
            )
        self._places.refuse_change(names)
        return names

    @contextmanager
    def _parent(self, names: tuple[str, ...]) -> Iterator[int]:
        """The folder that is to hold `names`, made where it is missing; links on the way are refused."""
        with opened(self.folder) as root:
            parent = os.dup(root)
            try:
                for depth, name in enumerate(names[:-1]):
                    try:
                        below = _open_or_make(parent, name)
                    except OSError as error:
                        raise explain(root, names[: depth + 1], error) from None
                    os.close(parent)
                    parent = below
                try:
                    yield parent
                except PermissionError as error:
                    raise explain(root, names, error) from None
            finally:
                os.close(parent)

    def _mode_to_keep(self, parent: int, names: tuple[str, ...]) -> int | None:
        """The mode of the file that is about to be replaced; None if there is none, refused if it is no
        file."""
        try:
            status = os.stat(names[-1], dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            path = shown("/".join(names))
            raise PathRefusedError(
                f"{path} is {kind_of(status)}, not a plain file; choose another path or remove it."
            )
        return stat.S_IMODE(status.st_mode)

    def _remember(self, names: tuple[str, ...], node: Node | None) -> None:
        """Note in the index what the harness itself just did."""
        if self._root is not None:
            self._root = _replaced(self._root, names, node)

    def _is_known_folder(self, names: tuple[str, ...]) -> bool:
        node = self._root
        for name in names:
            node = (node.children or {}).get(name) if node else None
        return node is not None and node.kind == "folder"


def _replaced(folder: Node, names: tuple[str, ...], node: Node | None) -> Node:
    """`folder` with another node at `names`; the folders on the way are new nodes, all others are shared."""
    children = dict(folder.children or {})
    name = names[0]
    if len(names) > 1:
        inner = children.get(name)
        if inner is None or inner.kind != "folder":
            inner = Node("folder", _FOLDER_MODE, children={})
        children[name] = _replaced(inner, names[1:], node)
    elif node is None:
        children.pop(name, None)
    else:
        children[name] = node
    return Node("folder", folder.mode, children=children)


def _open_or_make(parent: int, name: str) -> int:
    try:
        return os.open(name, FOLDER_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        os.mkdir(name, _FOLDER_MODE, dir_fd=parent)
        os.chmod(name, _FOLDER_MODE, dir_fd=parent)
        return os.open(name, FOLDER_FLAGS, dir_fd=parent)
