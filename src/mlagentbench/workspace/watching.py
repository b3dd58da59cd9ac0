"""Whether anything in a workspace changes while a program works in it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from mlagentbench.workspace.paths import MAX_DEPTH
from mlagentbench.workspace.reading import LISTING_FLAGS
from mlagentbench.workspace.scanning import key_of


def fingerprint(folder: Path) -> str:
    """Another one whenever something below `folder` was made, removed, written or given another mode, as far as times
    and sizes tell. Nothing is opened but folders, and nothing is followed; what cannot be listed is passed over."""
    digest = hashlib.sha256()
    descriptor = _open(os.fspath(folder), None)
    if descriptor is not None:
        _walk(descriptor, digest, 0)
    return digest.hexdigest()


def _walk(folder: int, digest: hashlib._Hash, depth: int) -> None:
    """Closes `folder`."""
    inner = []
    try:
        with os.scandir(folder) as listing:
            found = sorted(listing, key=lambda entry: entry.name)
        for entry in found:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            digest.update(os.fsencode(entry.name) + b"\0" + repr(key_of(status)).encode())
            if entry.is_dir(follow_symlinks=False) and depth < MAX_DEPTH:
                inner.append(entry.name)
        for name in inner:
            below = _open(name, folder)
            if below is not None:
                _walk(below, digest, depth + 1)
                digest.update(b"\0")
    finally:
        os.close(folder)


def _open(name: str, parent: int | None) -> int | None:
    try:
        return os.open(name, LISTING_FLAGS, dir_fd=parent)
    except OSError:
        return None
