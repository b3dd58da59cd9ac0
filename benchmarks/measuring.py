"""Clocks. Things that are compared are measured in turns, so that what disturbs one disturbs the other."""

from __future__ import annotations

import os
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


class Stopwatch:
    """Seconds on the wall, by name."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(list)

    def time(self, name: str, work: Callable[[], T]) -> T:
        started = time.perf_counter()
        result = work()
        self.seconds[name].append(time.perf_counter() - started)
        return result

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])


class Yardstick:
    """A 1 KB append with fdatasync: the least that a durable record of anything costs."""

    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / "yardstick", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def append(self) -> None:
        os.write(self._descriptor, b"x" * 1024)
        os.fdatasync(self._descriptor)


def stat_pass(folder: Path) -> int:
    """Look at every file once; how many there are."""
    files = 0
    for place, _, names in os.walk(folder):
        for name in names:
            os.lstat(os.path.join(place, name))  # noqa: PTH118 - as fast as a pass can be
            files += 1
    return files


def on_disk(*folders: Path) -> int:
    """Bytes of disk that everything below takes, folders included."""
    entries = [entry for folder in folders for entry in (folder, *folder.rglob("*"))]
    return sum(entry.lstat().st_blocks * 512 for entry in entries)


def cpu_seconds(
    argv: Sequence[str], environment: Mapping[str, str], folder: Path, accepted: tuple[int, ...] = (0,)
) -> float:
    """User and system time of a program and of all that it waited for."""
    with open(os.devnull, "r+b") as nothing:
        descriptor = nothing.fileno()
        actions = [(os.POSIX_SPAWN_DUP2, descriptor, stream) for stream in (0, 1)]
        before = Path.cwd()
        os.chdir(folder)
        try:
            pid = os.posix_spawn(argv[0], list(argv), dict(environment), file_actions=actions)
        finally:
            os.chdir(before)
    _, status, usage = os.wait4(pid, 0)
    if (code := os.waitstatus_to_exitcode(status)) not in accepted:
        raise RuntimeError(f"{' '.join(argv)} ended with status {code}")
    return usage.ru_utime + usage.ru_stime
