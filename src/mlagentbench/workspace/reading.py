"""The one way in which the harness opens anything under a folder that an agent could write.

It never follows a link, never leaves the folder, never waits for the other end of a FIFO, and never reads
more than it was told to. On Linux one `openat2` call does the walk; elsewhere the path is opened name by
name.
"""

from __future__ import annotations

import errno
import functools
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mlagentbench.errors import PathRefusedError
from mlagentbench.units import format_size
from mlagentbench.workspace.paths import shown, split

Opener = Callable[[int, tuple[str, ...], int], int]

_O_PATH: int = getattr(os, "O_PATH", os.O_RDONLY)
FOLDER_FLAGS = _O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Opens a folder to go through it; where the system allows, without needing to be able to list it."""

LISTING_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
FILE_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC

_OPENAT2 = 437
_BENEATH_WITHOUT_LINKS = 0x02 | 0x04 | 0x08  # RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH
_ATTEMPTS = 8

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFLNK: "a link",
}


def read_file(folder: int | Path, path: str, limit: int, known_as: str = "") -> bytes:
    """The bytes of the plain file at `path` beneath `folder`, if they are at most `limit`.

    `known_as` is the path by which a refusal calls the file, where that is another one.
    """
    descriptor = open_file(folder, path, limit, known_as)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        data = bytearray()
        while len(data) <= limit and (chunk := file.read(min(limit + 1 - len(data), 2**20))):
            data += chunk
    if len(data) > limit:
        raise PathRefusedError(
            f"{shown(known_as or path)} grew beyond {format_size(limit)} while it was read."
        )
    return bytes(data)


def open_file(folder: int | Path, path: str, limit: int, known_as: str = "") -> int:
    """A descriptor of the plain file at `path` beneath `folder`, open for reading; the caller closes it."""
    descriptor = open_beneath(folder, split(path), FILE_FLAGS, known_as)
    try:
        status = os.fstat(descriptor)
        name = shown(known_as or path)
        if not stat.S_ISREG(status.st_mode):
            raise PathRefusedError(f"{name} is {kind_of(status)}, not a plain file.")
        if status.st_size > limit:
            size = format_size(status.st_size)
            raise PathRefusedError(f"{name} has {size}; at most {format_size(limit)} is read here.")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def status_of(folder: int | Path, path: str) -> os.stat_result | None:
    """What is at `path` beneath `folder`, the last name not followed if it is a link; None if nothing is."""
    names = split(path)
    with opened(folder) as root:
        if not names:
            return os.fstat(root)
        try:
            parent = _opener()(root, names[:-1], FOLDER_FLAGS) if len(names) > 1 else os.dup(root)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explain(root, names[:-1], error) from None
        try:
            return os.stat(names[-1], dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise explain(root, names, error) from None
        finally:
            os.close(parent)


def open_beneath(folder: int | Path, names: tuple[str, ...], flags: int, known_as: str = "") -> int:
    """A descriptor of what lies at `names` beneath `folder`, with no link on the way or at the end."""
    with opened(folder) as root:
        try:
            return _opener()(root, names, flags)
        except OSError as error:
            raise explain(root, names, error, known_as) from None


@contextmanager
def opened(folder: int | Path) -> Iterator[int]:
    """`folder` as a descriptor. A path given here is the harness's own and is trusted."""
    if isinstance(folder, int):
        yield folder
        return
    descriptor = os.open(folder, _O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def kind_of(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "a plain file")


def explain(root: int, names: tuple[str, ...], error: OSError, known_as: str = "") -> PathRefusedError:
    """Why `names` could not be opened, as a sentence about the first name that is in the way."""
    known = split(known_as) or names
    folder = os.dup(root)
    try:
        for depth, name in enumerate(names):
            last = depth == len(names) - 1
            here = shown("/".join(known[: len(known) - len(names) + depth + 1]))
            try:
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                if stat.S_ISLNK(status.st_mode):
                    target = os.readlink(name, dir_fd=folder)
                    return PathRefusedError(
                        f"{here} is a link (to {shown(target)}), and links are not followed here; "
                        "use the path of the file itself."
                    )
                if last:
                    break
                if not stat.S_ISDIR(status.st_mode):
                    return PathRefusedError(f"{here} is {kind_of(status)}, so there is nothing beneath it.")
                below = os.open(name, FOLDER_FLAGS, dir_fd=folder)
            except FileNotFoundError:
                return PathRefusedError(f"There is no {here} in the workspace.")
            except PermissionError:
                return PathRefusedError(
                    f"{here} cannot be opened: its mode forbids it; change the mode first."
                )
            os.close(folder)
            folder = below
    except OSError as another:
        error = another
    finally:
        os.close(folder)
    path = shown("/".join(known) or ".")
    if isinstance(error, PermissionError):
        return PathRefusedError(f"{path} cannot be opened: its mode forbids it; change the mode first.")
    if error.errno in (errno.ENXIO, errno.EOPNOTSUPP, errno.ENODEV):
        return PathRefusedError(f"{path} is a socket or a device, not a plain file.")
    if isinstance(error, NotADirectoryError):
        return PathRefusedError(f"{path} is not a folder.")
    return PathRefusedError(f"{path} cannot be opened: {os.strerror(error.errno or 0)}.")


def open_by_names(root: int, names: tuple[str, ...], flags: int) -> int:
    """Open name by name, so that no link can lead anywhere. Works on every system."""
    folder = os.dup(root)
    try:
        for name in names[:-1]:
            below = os.open(name, FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(names[-1] if names else ".", flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    finally:
        os.close(folder)


@functools.cache
def openat2_opener() -> Opener | None:
    """An opener that leaves the walk to the kernel, or None where this kernel or its filter has no
    `openat2`."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    class OpenHow(ctypes.Structure):
        _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]

    syscall = ctypes.CDLL(None, use_errno=True).syscall
    syscall.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t]
    syscall.restype = ctypes.c_long

    def open_by_kernel(root: int, names: tuple[str, ...], flags: int) -> int:
        how = OpenHow(flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0, _BENEATH_WITHOUT_LINKS)
        path = os.fsencode("/".join(names) or ".")
        problem = 0
        for _ in range(_ATTEMPTS):
            descriptor: int = syscall(_OPENAT2, root, path, ctypes.byref(how), ctypes.sizeof(how))
            if descriptor >= 0:
                return descriptor
            problem = ctypes.get_errno()
            if problem not in (errno.EAGAIN, errno.EINTR):  # EAGAIN: something was renamed during the walk
                break
        raise OSError(problem, os.strerror(problem), "/".join(names))

    try:
        with opened(Path("/")) as root:
            os.close(open_by_kernel(root, (), FOLDER_FLAGS))
    except OSError:
        return None
    return open_by_kernel


def _opener() -> Opener:
    return openat2_opener() or open_by_names
