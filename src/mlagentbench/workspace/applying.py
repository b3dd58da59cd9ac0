"""Carrying what changed between two snapshots over into another folder, which somebody else may have changed too.

Everything is checked before anything is done. Each file is then old or new, never half, whenever the harness dies, and
to do it again completes it. No link is followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.errors import PathRefusedError, UsageError
from mlagentbench.workspace.copying import hash_of
from mlagentbench.workspace.paths import shown, split
from mlagentbench.workspace.reading import FILE_FLAGS, FOLDER_FLAGS, open_beneath, status_of
from mlagentbench.workspace.removal import remove_at
from mlagentbench.workspace.spec import Change, Entry
from mlagentbench.workspace.store import Store

_NEW_FILE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_RIGHTS = 0o777

Known = Mapping[str, Sequence[Entry | None]]
"""What may lie at a path besides what lay there at first: what was put there earlier from the same run."""


@dataclass(frozen=True)
class Applied:
    """What was done, by path."""

    changed: tuple[str, ...]
    already: tuple[str, ...]
    """What was as wanted before."""


def apply_changes(store: Store, changes: Sequence[Change], folder: Path, known: Known) -> Applied:
    """Make `folder` hold what `changes` lead to. Refused, with nothing done, where something in the folder is
    neither as it was before them nor as it is after them."""
    work = _Work(store, folder, known)
    waiting = work.check(changes)
    work.carry_out(waiting)
    done = {change.path for change in waiting}
    return Applied(
        tuple(change.path for change in changes if change.path in done),
        tuple(change.path for change in changes if change.path not in done),
    )


def with_needed(changes: Iterable[Change], chosen: Iterable[str]) -> list[Change]:
    """The changes at the paths `chosen`, and those that go with them: the folders around what is new, the removal of
    what is in a folder that goes, and of a folder from which everything goes."""
    wanted, kept = set(chosen), []
    every = sorted(changes, key=lambda change: change.path)
    replaced = [
        c.path for c in every if c.path in wanted and _is_folder(c.before) and not _is_folder(c.after)
    ]
    for change in every:
        beneath = any(change.path.startswith(f"{path}/") for path in replaced)
        around = (
            _is_folder(change.after)
            and not _is_folder(change.before)
            and any(path.startswith(f"{change.path}/") for path in wanted)
        )
        if change.path in wanted or beneath or around or _is_emptied(change, every, wanted):
            kept.append(change)
    return kept


def _is_emptied(change: Change, every: Sequence[Change], wanted: set[str]) -> bool:
    """Whether a folder goes because all that was in it is wanted to go."""
    if change.after is not None or not _is_folder(change.before):
        return False
    inner = [c.path for c in every if c.path.startswith(f"{change.path}/") and not _is_folder(c.before)]
    return bool(inner) and wanted.issuperset(inner)


class _Work:
    def __init__(self, store: Store, folder: Path, known: Known) -> None:
        self._store = store
        self._folder = folder
        self._known = known

    def check(self, changes: Sequence[Change]) -> list[Change]:
        """The changes that are not made yet; refused if any of them meets something unexpected."""
        removed = {change.path for change in changes if change.after is None}
        folders = {change.path for change in changes if _is_folder(change.after)}
        replaced = [change.path for change in changes if change.after and change.path not in folders]
        waiting: list[Change] = []
        problems: list[str] = []
        for change in changes:
            try:
                now = self._present(change.path)
            except PathRefusedError as error:
                makes_way = change.before is None and _parent_of(change.path) in folders
                made_way = change.after is None and any(change.path.startswith(f"{p}/") for p in replaced)
                if makes_way or made_way:
                    now = None  # it lies in a folder where a file is, before or after these changes
                else:
                    problems.append(str(error))
                    continue
            if not _is_done(change, now):
                waiting.append(change)
                problems += self._problems(change, now, removed, folders)
        if problems:
            told = " ".join(problems[:5]) + (f" And {len(problems) - 5} more." if len(problems) > 5 else "")
            raise UsageError(
                f"Nothing was applied, because {self._folder} is not as it was when the copy was made. {told} "
                "Put these back, or apply the other files alone."
            )
        return waiting

    def _problems(
        self, change: Change, now: Entry | None, removed: set[str], folders: set[str]
    ) -> Iterator[str]:
        """Why a change cannot be made."""
        path = shown(change.path)
        if not self._is_expected(change, now):
            yield f"{path} {_what_happened(change, now)}."
        elif _is_folder(now) and _needs_room(change):
            for name in self._names_in(change.path):
                if f"{change.path}/{name}" not in removed:
                    yield f"{path} holds {shown(name)}, which the copy knows nothing of."
        parent = _parent_of(change.path)
        if now is None and parent and parent not in folders and not _is_folder(self._present(parent)):
            yield f"The folder of {path} is not there any more."

    def _is_expected(self, change: Change, now: Entry | None) -> bool:
        cut_short = now is None and _needs_room(change)
        expected = (change.before, *self._known.get(change.path, ()))
        return cut_short or any(_same(now, entry) for entry in expected)

    def carry_out(self, changes: Sequence[Change]) -> None:
        rooms = [change.path for change in changes if _needs_room(change)]
        early = [c for c in changes if c.after is None and any(c.path.startswith(f"{r}/") for r in rooms)]
        touched: set[tuple[str, ...]] = set()
        for change in reversed(early):
            self._remove(change, touched)
        for change in changes:
            if _needs_room(change):
                self._remove(change, touched)
            if change.after is not None:
                self._put(change, change.after, touched)
        for change in reversed(changes):
            if change.after is None and change not in early:
                self._remove(change, touched)
            elif change.after is not None and _is_folder(change.after):
                self._set_mode(change.path, change.after.mode)
        for names in touched:
            self._sync(names)

    def _put(self, change: Change, entry: Entry, touched: set[tuple[str, ...]]) -> None:
        *parents, name = split(change.path)
        touched.add(tuple(parents))
        with self._parent(tuple(parents)) as parent:
            now = _entry_at(parent, name)
            if _same(now, entry):
                return
            if not self._is_expected(change, now):
                raise UsageError(
                    f"{shown(change.path)} was changed in {self._folder} while changes were applied to it. Those that "
                    "are applied stay; look at the file, and apply again."
                )
            if _is_folder(now):
                return  # its mode is set when all that goes into it is there
            aside = _aside(change.path)
            remove_at(parent, aside)
            if entry.kind == "folder":
                os.mkdir(aside, 0o700, dir_fd=parent)
                os.chmod(aside, (entry.mode & _RIGHTS) | 0o700, dir_fd=parent)
            elif entry.kind == "link":
                os.symlink(entry.target, aside, dir_fd=parent)
            else:
                self._write(parent, aside, name, entry)
            os.rename(aside, name, src_dir_fd=parent, dst_dir_fd=parent)

    def _write(self, parent: int, aside: str, name: str, entry: Entry) -> None:
        descriptor = os.open(aside, _NEW_FILE, 0o600, dir_fd=parent)
        try:
            self._store.copy_out(entry.hash, descriptor)
            _keep_owner(parent, name, descriptor)
            os.fchmod(descriptor, entry.mode & _RIGHTS)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _remove(self, change: Change, touched: set[tuple[str, ...]]) -> None:
        *parents, name = split(change.path)
        try:
            parent = open_beneath(self._folder, tuple(parents), FOLDER_FLAGS)
        except PathRefusedError:
            return  # The folder around it is gone, and it is gone with that.
        try:
            now = _entry_at(parent, name)
            if now is None or (now.kind != "folder" and not _same(now, change.before)):
                return
            touched.add(tuple(parents))
            if now.kind != "folder":
                os.unlink(name, dir_fd=parent)
                return
            try:
                os.rmdir(name, dir_fd=parent)
            except OSError as error:
                # What was left out of the copy still lies in it.
                if error.errno != errno.ENOTEMPTY or _needs_room(change):
                    raise
        finally:
            os.close(parent)

    def _set_mode(self, path: str, mode: int) -> None:
        descriptor = open_beneath(self._folder, split(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fchmod(descriptor, mode & _RIGHTS)
        finally:
            os.close(descriptor)

    def _sync(self, names: tuple[str, ...]) -> None:
        try:
            descriptor = open_beneath(self._folder, names, os.O_RDONLY | os.O_DIRECTORY)
        except PathRefusedError:
            return
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _present(self, path: str) -> Entry | None:
        """What lies at `path` now, read without following anything."""
        *parents, name = split(path)
        if status_of(self._folder, path) is None:
            return None
        parent = open_beneath(self._folder, tuple(parents), FOLDER_FLAGS)
        try:
            return _entry_at(parent, name)
        finally:
            os.close(parent)

    def _names_in(self, path: str) -> list[str]:
        descriptor = open_beneath(self._folder, split(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            return os.listdir(descriptor)  # noqa: PTH208
        finally:
            os.close(descriptor)

    @contextmanager
    def _parent(self, names: tuple[str, ...]) -> Iterator[int]:
        parent = open_beneath(self._folder, names, FOLDER_FLAGS)
        try:
            yield parent
        finally:
            os.close(parent)


def _entry_at(parent: int, name: str) -> Entry | None:
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISDIR(status.st_mode):
        return Entry(name, "folder", mode)
    if stat.S_ISLNK(status.st_mode):
        return Entry(name, "link", target=os.readlink(name, dir_fd=parent))
    if not stat.S_ISREG(status.st_mode):
        return Entry(name, "device", mode)
    descriptor = os.open(name, FILE_FLAGS, dir_fd=parent)
    try:
        content, size = hash_of(descriptor)
    finally:
        os.close(descriptor)
    return Entry(name, "file", mode, size, content)


def _same(one: Entry | None, other: Entry | None) -> bool:
    if one is None or other is None:
        return one is other
    if one.kind != other.kind:
        return False
    if one.kind == "link":
        return one.target == other.target
    same_mode = one.mode & _RIGHTS == other.mode & _RIGHTS
    return same_mode and (one.kind == "folder" or one.hash == other.hash)


def _is_done(change: Change, now: Entry | None) -> bool:
    """A folder that is to be made is done by whoever made it."""
    return _same(now, change.after) or (
        change.before is None and _is_folder(now) and _is_folder(change.after)
    )


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.kind == "folder"


def _needs_room(change: Change) -> bool:
    """Whether what is there must go before what comes can be put in its place: a folder and something else."""
    return (
        change.before is not None
        and change.after is not None
        and _is_folder(change.before) != _is_folder(change.after)
    )


def _parent_of(path: str) -> str:
    return path.rpartition("/")[0]


def _what_happened(change: Change, now: Entry | None) -> str:
    if now is None:
        return "is not there any more"
    if change.before is None:
        return "has come to be there meanwhile, and is not what would be put there"
    return "has been changed meanwhile"


def _aside(path: str) -> str:
    """Always the same for a path, so that what a kill left is found and removed."""
    return f".mlagentbench-{hashlib.sha256(os.fsencode(path)).hexdigest()[:16]}"


def _keep_owner(parent: int, name: str, descriptor: int) -> None:
    """A file that root replaces stays its owner's."""
    if os.geteuid() == 0:
        try:
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            status = os.stat(".", dir_fd=parent)
        os.fchown(descriptor, status.st_uid, status.st_gid)
