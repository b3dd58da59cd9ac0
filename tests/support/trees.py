"""What lies in a folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below with mode and bytes, links with their target, anything else with its kind."""
    found: dict[str, bytes] = {}
    for root, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(root) / name
            status = path.lstat()
            mode = f"{status.st_mode:o} ".encode()
            if stat.S_ISREG(status.st_mode):
                mode += path.read_bytes()
            elif stat.S_ISLNK(status.st_mode):
                mode = b"-> " + os.fsencode(path.readlink())
            found[path.relative_to(folder).as_posix()] = mode
    return found
