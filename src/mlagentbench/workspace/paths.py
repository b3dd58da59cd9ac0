"""Paths as agents write them, turned into names inside a folder, or refused with a sentence."""

from __future__ import annotations

import os

from mlagentbench.errors import PathRefusedError

MAX_DEPTH = 100
"""Folders nested deeper than this are neither written nor kept in snapshots."""

_MAX_NAME = 255
_MAX_PATH = 4095


def shown(path: str) -> str:
    """`path` as it can stand in a sentence: quoted, on one line, printable, and not too long."""
    return repr(path if len(path) <= 120 else f"{path[:80]}…{path[-30:]}")


def split(path: str, seen_as: str = "") -> tuple[str, ...]:
    """The names in `path`, outermost first; empty for the folder itself.

    `seen_as` is the absolute path under which the agent sees the folder; paths that begin with it are taken
    to be inside.

    >>> split("./data//train.csv")
    ('data', 'train.csv')
    >>> split("/workspace/train.py", seen_as="/workspace")
    ('train.py',)
    """
    try:
        encoded = os.fsencode(path)
    except UnicodeEncodeError:
        raise PathRefusedError(
            f"{shown(path)} cannot be the name of a file; use ordinary characters."
        ) from None
    if b"\0" in encoded:
        raise PathRefusedError(
            f"{shown(path)} contains a NUL character, which no file name can; leave it out."
        )
    inside = path
    if path.startswith("/"):
        prefix = seen_as.rstrip("/")
        if not prefix or not (path == prefix or path.startswith(prefix + "/")):
            raise PathRefusedError(
                f"{shown(path)} is outside of the workspace; write the path relative to the workspace."
            )
        inside = path[len(prefix) :]
    names = tuple(name for name in inside.split("/") if name not in ("", "."))
    if ".." in names:
        raise PathRefusedError(
            f"{shown(path)} contains '..'; write the path relative to the workspace, without '..'."
        )
    if len(encoded) > _MAX_PATH or any(len(os.fsencode(name)) > _MAX_NAME for name in names):
        raise PathRefusedError(
            f"{shown(path)} is too long; names have at most {_MAX_NAME} bytes and paths at most {_MAX_PATH}."
        )
    return names
