"""Processes that do not outlive a harness that was killed: the next one ends them.

bubblewrap ties its program to the harness, but not in its first half millisecond: a harness that is killed just then
leaves a process that waits for ever to be let into its sandbox. Nothing of the program's has run in it.
"""

from __future__ import annotations

import os
import re
import signal
from functools import cache
from pathlib import Path

from mlagentbench.sandbox.temporary import pid_namespace

_MARK = re.compile(rb"mlagentbench-of-(\d+)-(\d+)")


def mark() -> str:
    """An argument by which a process is known to be of this harness."""
    return f"mlagentbench-of-{pid_namespace()}-{os.getpid()}"


@cache
def end_stale() -> None:
    """End what this user's harnesses left that are dead by now; once in a process."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
            owner = folder.stat().st_uid
        except OSError:
            continue
        if owner != os.geteuid() or not arguments[0].endswith(b"bwrap"):
            continue
        marks = [found for found in map(_MARK.fullmatch, arguments) if found]
        ours = marks and int(marks[0][1]) == pid_namespace()
        if ours and not Path("/proc", marks[0][2].decode()).exists():
            try:
                os.kill(int(folder.name), signal.SIGKILL)
            except ProcessLookupError:
                continue
