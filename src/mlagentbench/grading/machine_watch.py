"""Watches the machine while a program of a grading runs: disk, inodes, and processes that the system killed."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from mlagentbench.machine_fault import OUTSIDE_SIGNALS
from mlagentbench.sandbox import ResourceLimits, Result
from mlagentbench.units import format_size

_BETWEEN_LOOKS = 0.1
_LEAST_BYTES = 16 * 2**20
"""Where less is free, programs fail that are not at fault."""
_LEAST_FILES = 16
_SAID_WHEN_FULL = tuple(os.strerror(number).encode() for number in (errno.ENOSPC, errno.EDQUOT))


class MachineWatch:
    """A context manager around one program. `fault` says afterwards what the machine did to it, if anything."""

    def __init__(self, folders: Iterable[Path], limits: ResourceLimits) -> None:
        self._folders = [folder for folder in dict.fromkeys(folders) if folder.is_dir()]
        self._limits = limits
        self._free: dict[Path, tuple[int, int]] = {}
        self._kills = _system_kills()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, daemon=True)

    def __enter__(self) -> Self:
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        self._look()

    def fault(self, result: Result, output: bytes) -> str:
        """Why a failure of this program may be the machine's, as the end of a sentence; empty if it is its own.

        What the program says counts only together with what was measured, so that a program that reaches a limit
        of its own is not excused by its words.
        """
        if result.limit is not None and result.limit.name != "memory":
            return ""
        shortages = [(_LEAST_BYTES, _LEAST_FILES)]
        if any(word in output for word in _SAID_WHEN_FULL):
            shortages.append((self._limits.disk, self._limits.files))
        for least_size, least_files in shortages:
            for folder, (size, files) in self._free.items():
                if files < least_files:
                    return f"the file system of {folder} had room for only {files} more files"
                if size < least_size:
                    return f"only {format_size(size)} were free on the disk of {folder}"
        if result.limit is None and _system_kills() > self._kills:
            return "memory ran out and the system killed processes"
        return ""

    def _keep_looking(self) -> None:
        while not self._over.wait(_BETWEEN_LOOKS):
            self._look()

    def _look(self) -> None:
        for folder in self._folders:
            size, files = _free(folder)
            least_size, least_files = self._free.get(folder, (size, files))
            self._free[folder] = min(size, least_size), min(files, least_files)


def killed_from_outside(result: Result) -> bool:
    """Whether it was ended by a signal that no limit of its own explains."""
    return result.limit is None and result.signal in OUTSIDE_SIGNALS


def _free(folder: Path) -> tuple[int, int]:
    """Bytes and files for which there is room; file systems without a fixed number of files have room for all."""
    found = os.statvfs(folder)
    blocks, files = (found.f_bfree, found.f_ffree) if os.geteuid() == 0 else (found.f_bavail, found.f_favail)
    return blocks * found.f_frsize, files if found.f_files else 2**63


def _system_kills() -> int:
    """How many processes the system has killed for want of memory since it started; 0 where it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)
