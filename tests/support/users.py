"""Running a command of the tests as a user without privileges, also where only root can reach the interpreter."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from functools import cache
from pathlib import Path

import mlagentbench

USER = 54321
_CHECKOUT = Path(__file__).resolve().parents[2]


def as_unprivileged(command: list[str]) -> list[str]:
    """`command` for an ordinary user, who has no name and no home."""
    needed = sorted(
        {Path(sys.base_prefix), Path(sys.prefix), _CHECKOUT, Path(mlagentbench.__file__).resolve().parent}
    )
    closed = {
        folder for path in needed for folder in path.parents if not folder.stat().st_mode & stat.S_IXOTH
    }
    view = [_bubblewrap(), "--bind", "/", "/", "--dev-bind", "/dev", "/dev"]
    for folder in sorted(closed, key=lambda path: len(path.parts)):
        if not any(folder.is_relative_to(other) for other in closed - {folder}):
            view += ["--tmpfs", str(folder)]
    for path in needed:
        if any(path.is_relative_to(folder) for folder in closed):
            for folder in reversed(path.parents[:-1]):
                view += ["--perms", "0755", "--dir", str(folder)]
            view += ["--ro-bind", str(path), str(path)]
    view += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--die-with-parent"]
    return [*view, "setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", *command]


@cache
def why_not() -> str:
    """Why this machine cannot do it; empty if it can."""
    if os.geteuid() != 0:
        return "the tests run as an ordinary user already"
    for program in ("bwrap", "setpriv"):
        if not shutil.which(program):
            return f"{program} is missing, which is needed to change to another user"
    return ""


def _bubblewrap() -> str:
    found = shutil.which("bwrap")
    assert found
    return found
