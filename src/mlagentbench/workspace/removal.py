"""Removing folders whatever an agent put into them: unreadable modes, and nesting beyond any path length."""

from __future__ import annotations

import itertools
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlagentbench.workspace.reading import FOLDER_FLAGS, LISTING_FLAGS


def remove_tree(folder: Path) -> None:
    """Remove `folder` and everything beneath it. A missing folder is fine; links are removed, not
    followed."""
    try:
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        remove_at(parent, folder.name)
    finally:
        os.close(parent)


def remove_at(parent: int, name: str) -> None:
    """Remove whatever `name` is in the folder open as `parent`."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=parent)
        return
    with folder_at(parent, name, 0o700, keep_mode=False) as folder:
        empty(folder)
    os.rmdir(name, dir_fd=parent)


def empty(folder: int) -> None:
    """Remove everything in the folder open as `folder`.

    Folders found inside are first moved up into `folder`, so that nothing is ever deeper than two levels and
    two descriptors are enough.
    """
    fresh = (f".removing-{number}" for number in itertools.count())
    while names := _unlink_files(folder):
        for name in names:
            with folder_at(folder, name, 0o700, keep_mode=False) as inner:
                for deeper in _unlink_files(inner):
                    with folder_at(inner, deeper, 0o700, keep_mode=False):
                        pass  # moving a folder needs the right to write into it
                    _move_up(inner, deeper, folder, fresh)
            os.rmdir(name, dir_fd=folder)


def _unlink_files(folder: int) -> list[str]:
    """Unlink all that is not a folder, and name the folders."""
    with os.scandir(folder) as listing:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in listing]
    for name, is_folder in found:
        if not is_folder:
            os.unlink(name, dir_fd=folder)
    return [name for name, is_folder in found if is_folder]


def _move_up(inner: int, name: str, folder: int, fresh: Iterator[str]) -> None:
    for new_name in fresh:
        try:
            os.stat(new_name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(name, new_name, src_dir_fd=inner, dst_dir_fd=folder)
            return


@contextmanager
def folder_at(parent: int, name: str, rights: int, *, keep_mode: bool = True) -> Iterator[int]:
    """The folder `name`, open for listing, with at least the owner's `rights` for as long as it is open."""
    path = os.open(name, FOLDER_FLAGS, dir_fd=parent)
    with _with_rights(path, rights, keep_mode=keep_mode) as folder:
        yield folder


@contextmanager
def root_folder(folder: Path, rights: int) -> Iterator[int]:
    """Like `folder_at`, for a folder whose path is the harness's own."""
    path = os.open(folder, (FOLDER_FLAGS & ~os.O_NOFOLLOW))
    with _with_rights(path, rights, keep_mode=True) as descriptor:
        yield descriptor


@contextmanager
def _with_rights(path: int, rights: int, *, keep_mode: bool) -> Iterator[int]:
    try:
        mode = stat.S_IMODE(os.fstat(path).st_mode)
        lacking = mode & rights != rights
        if lacking:
            chmod_open(path, mode | rights)
        folder = os.open(".", LISTING_FLAGS, dir_fd=path)
        try:
            yield folder
        finally:
            if lacking and keep_mode:
                os.fchmod(folder, mode)
            os.close(folder)
    finally:
        os.close(path)


def chmod_open(descriptor: int, mode: int) -> None:
    """Change the mode of what is open as `descriptor`, also where it was opened only as a path."""
    if sys.platform.startswith("linux"):
        Path(f"/proc/self/fd/{descriptor}").chmod(mode)  # fchmod refuses descriptors of O_PATH
    else:
        os.fchmod(descriptor, mode)
