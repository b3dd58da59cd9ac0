"""Temporary folders that do not outlive a harness that was killed: the next one removes them."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from mlagentbench.sandbox import disk

_NAME = re.compile(r"mlagentbench-[a-z]+-(\d+)-(\d+)-\w+")


@contextmanager
def temporary_folder(kind: str, parent: str | None = None) -> Iterator[Path]:
    """A new folder, named after this process; removed afterwards, whatever a program has made of it."""
    where = parent or tempfile.gettempdir()
    remove_stale(where)
    folder = Path(tempfile.mkdtemp(prefix=f"mlagentbench-{kind}-{pid_namespace()}-{os.getpid()}-", dir=where))
    try:
        yield folder
    finally:
        disk.remove(folder)


@cache
def remove_stale(parent: str) -> None:
    """Remove what this user's harnesses left that are dead by now; once in a process."""
    for folder in Path(parent).glob("mlagentbench-*"):
        match = _NAME.fullmatch(folder.name)
        if not match or int(match[1]) != pid_namespace() or _lives(int(match[2])):
            continue
        try:
            if folder.lstat().st_uid == os.geteuid():
                disk.remove(folder)
        except FileNotFoundError:
            continue


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


@cache
def pid_namespace() -> int:
    """Process numbers mean something within one PID namespace only; containers may share a temporary folder."""
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0
