"""A person's own folder, looked at before it is copied: what is copied, what is only shown, what is left out.

Nothing here follows a link or changes anything in the folder.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.units import format_size
from mlagentbench.workspace.paths import MAX_DEPTH
from mlagentbench.workspace.reading import FILE_FLAGS

COPY_LIMIT = 200_000_000
_LARGE = 10
"""A file of more than this fraction of the limit is shown rather than copied."""
_MOST_ENTRIES = 10_000
_MOST_SHOWN = 100

_VERSIONS = frozenset({".git", ".hg", ".svn", ".jj"})
_SECRETS = frozenset({".env", ".envrc", ".netrc", ".pypirc", ".ssh", ".aws", ".gnupg"})
_CLUTTER = frozenset(
    {"__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".ipynb_checkpoints", ".tox", ".nox",
     "node_modules"}
)  # fmt: skip
_MARKS_OF_ENVIRONMENTS = ("pyvenv.cfg", "conda-meta")


@dataclass(frozen=True)
class Survey:
    """Paths are relative to the folder, with `/`."""

    files: int
    """How many are copied, links among them."""
    size: int
    shown: dict[str, int]
    """Files and folders that are too large to be copied, with their sizes."""
    left_out: dict[str, str]
    """What is neither copied nor shown, each with the reason."""
    outward: dict[str, str]
    """Links that lead out of the folder, each with its target. They are copied as links, so they lead nowhere."""


@dataclass
class _Folder:
    path: str
    size: int = 0
    count: int = 0
    whole: int = 0
    """Bytes of all that is in it, shown files too."""
    inner: dict[str, _Folder] = field(default_factory=dict)
    shown: dict[str, int] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    outward: dict[str, str] = field(default_factory=dict)
    private: bool = False
    """Whether something in it must not be seen, so that the folder cannot be shown as one."""

    def add(self, inner: _Folder) -> None:
        self.inner[inner.path] = inner
        for name in ("size", "count", "whole"):
            setattr(self, name, getattr(self, name) + getattr(inner, name))
        self.shown |= inner.shown
        self.left_out |= inner.left_out
        self.outward |= inner.outward
        self.private |= inner.private

    def show(self, inner: _Folder) -> None:
        """Show a folder as one instead of copying it."""
        del self.inner[inner.path]
        self.size -= inner.size
        self.count -= inner.count
        for name in ("shown", "left_out", "outward"):
            setattr(
                self, name, {k: v for k, v in getattr(self, name).items() if k not in getattr(inner, name)}
            )
        self.shown[inner.path] = inner.whole


def never_copied(path: str) -> bool:
    """Whether a name on the path is one of those that are left out of every copy, and that nothing is applied to."""
    return bool((_VERSIONS | _SECRETS | _CLUTTER) & set(path.split("/")))


def survey(folder: Path, leave_out: Iterable[str] = (), limit: int = COPY_LIMIT) -> Survey:
    """Look at all of `folder`. `leave_out` are globs over names and paths; `limit` is what may be copied."""
    root = _look(folder, "", tuple(leave_out), limit, 0)
    if _too_much(root, limit):
        most = "" if root.size > limit else f" in {root.count:,} files, more than {_MOST_ENTRIES:,}"
        raise UsageError(
            f"{folder} holds {format_size(root.size)}{most} that would be copied; at most {format_size(limit)} are. "
            "Leave something out with --leave-out PATTERN, or raise --copy-limit."
        )
    return Survey(root.count, root.size, root.shown, root.left_out, root.outward)


def _too_much(folder: _Folder, limit: int) -> bool:
    return folder.size > limit or folder.count > _MOST_ENTRIES or len(folder.shown) > _MOST_SHOWN


def _look(folder: Path, path: str, leave_out: tuple[str, ...], limit: int, depth: int) -> _Folder:
    found = _Folder(path)
    for entry in _listing(folder):
        place = f"{path}/{entry.name}" if path else entry.name
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if reason := _reason(entry, place, status, leave_out, depth):
            found.left_out[place] = reason
            found.private |= entry.name not in _CLUTTER and reason != _ENVIRONMENT
        elif stat.S_ISDIR(status.st_mode):
            found.add(_look(folder / entry.name, place, leave_out, limit, depth + 1))
        elif stat.S_ISREG(status.st_mode) and status.st_size > limit // _LARGE:
            found.shown[place] = status.st_size
            found.whole += status.st_size
        else:
            found.count += 1
            if stat.S_ISREG(status.st_mode):
                found.size += status.st_size
                found.whole += status.st_size
            elif leads_out(place, target := os.readlink(entry.path)):  # noqa: PTH115
                found.outward[place] = target
    while _too_much(found, limit):
        largest = max(
            (inner for inner in found.inner.values() if not inner.private),
            key=lambda inner: (inner.size, inner.count, len(inner.shown)),
            default=None,
        )
        if largest is None:
            break
        found.show(largest)
    return found


_ENVIRONMENT = "a virtual environment"


def _reason(
    entry: os.DirEntry[str], place: str, status: os.stat_result, leave_out: tuple[str, ...], depth: int
) -> str:
    """Why an entry is left out; empty where it is not."""
    name, mode = entry.name, status.st_mode
    if name in _VERSIONS:
        return "version control"
    if name in _SECRETS:
        return "may hold secrets"
    if name in _CLUTTER:
        return "can be made again"
    if any(fnmatch(name, glob) or fnmatch(place, glob) for glob in leave_out):
        return "as you said"
    if not place.isprintable():
        return "its name is not printable"
    if stat.S_ISDIR(mode):
        if any(os.path.lexists(f"{entry.path}/{mark}") for mark in _MARKS_OF_ENVIRONMENTS):
            return _ENVIRONMENT
        if depth + 1 >= MAX_DEPTH:
            return f"nested deeper than {MAX_DEPTH} folders"
        return "" if os.access(entry.path, os.R_OK | os.X_OK) else "cannot be read"
    if stat.S_ISLNK(mode):
        return ""
    if not stat.S_ISREG(mode):
        return "not a plain file"
    return "" if os.access(entry.path, os.R_OK) else "cannot be read"


def leads_out(place: str, target: str) -> bool:
    """Whether a link at `place` leads out of the folder, by its text alone."""
    if target.startswith("/"):
        return True
    depth = place.count("/")
    for name in target.split("/"):
        depth += -1 if name == ".." else 0 if name in ("", ".") else 1
        if depth < 0:
            return True
    return False


def copy_folder(source: Path, target: Path, without: Set[str]) -> None:
    """Copy `source` into the new folder `target`: modes, times and links as they are, without the paths in `without`,
    names that cannot be printed, and what is neither file, folder nor link."""
    target.mkdir(parents=True)
    for entry in _listing(source):
        if entry.name.isprintable() and entry.name not in without:
            inner = {path.partition("/")[2] for path in without if path.startswith(f"{entry.name}/")}
            _copy(entry, target / entry.name, inner)
    target.chmod(stat.S_IMODE(source.stat().st_mode) & 0o777)


def _copy(entry: os.DirEntry[str], target: Path, without: Set[str]) -> None:
    if entry.is_symlink():
        target.symlink_to(os.readlink(entry.path))  # noqa: PTH115
    elif entry.is_dir(follow_symlinks=False):
        copy_folder(Path(entry.path), target, without)
    elif entry.is_file(follow_symlinks=False):
        with open(os.open(entry.path, FILE_FLAGS), "rb") as reader, target.open("xb") as writer:
            shutil.copyfileobj(reader, writer)
            status = os.fstat(reader.fileno())
            os.fchmod(writer.fileno(), stat.S_IMODE(status.st_mode) & 0o777)
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _listing(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as listing:
        yield from sorted(listing, key=lambda entry: entry.name)
