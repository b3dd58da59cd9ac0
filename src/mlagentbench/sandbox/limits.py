"""Limits: their defaults on this machine, and putting them on a process from outside."""

from __future__ import annotations

import os
import resource
import shutil
import sys
from pathlib import Path
from typing import Literal

from mlagentbench.sandbox.spec import Job, ResourceLimits
from mlagentbench.sandbox.surroundings import around_this_process

_GB = 10**9
_OPEN_FILES = 4096
_SLACK = 8
"""The kernel's limit of processes lies this much above the watcher's, which tells of it."""

_ROOM_FOR_OTHERS = 256
"""Where all of a user's processes count together: what others of them may start meanwhile."""

Counting = Literal["sandbox", "user", "nothing"]


def default_limits(folder: Path | None = None) -> ResourceLimits:
    """What one program may use on this machine, with its files below `folder`."""
    free = shutil.disk_usage(folder or Path.cwd()).free
    return ResourceLimits(
        seconds=600.0,
        memory=max(min(1 * _GB, total_memory()), min(total_memory() // 2, 64 * _GB)),
        processes=max(256, 16 * (os.cpu_count() or 1)),
        disk=max(_GB // 10, min(10 * _GB, free // 2)),
        files=100_000,
        output=64_000_000,
    )


def total_memory() -> int:
    """Bytes of memory that the machine has, or the control groups around this process allow."""
    installed = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(installed, around_this_process().memory() or installed)


def put_on(pid: int, job: Job, overhead: int, counts: Counting) -> None:
    """What the kernel holds for a process and all that it starts: no core files, bounded open files, size of
    one file, processes of its user (or, in a user namespace, of the sandbox), and its cores."""
    if sys.platform != "linux":
        return
    _lower(pid, resource.RLIMIT_CORE, 0)
    _lower(pid, resource.RLIMIT_NOFILE, _OPEN_FILES)
    _lower(pid, resource.RLIMIT_FSIZE, job.limits.disk)
    if counts != "nothing":
        others = _tasks_of_user() + _ROOM_FOR_OTHERS if counts == "user" else overhead + _SLACK
        _lower(pid, resource.RLIMIT_NPROC, job.limits.processes + others)
    if job.cores:
        os.sched_setaffinity(pid, job.cores)


def _tasks_of_user() -> int:
    """Processes and threads that this user has on the machine."""
    user = os.geteuid()
    found = 0
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and folder.stat().st_uid == user:
                found += sum(1 for _ in (folder / "task").iterdir())
        except OSError:
            continue
    return found


def own_peak_memory() -> int:
    """The largest that this process has been. A process that it starts reports at least that much as its own
    peak, since for a moment the two were one."""
    return maximum_resident(resource.getrusage(resource.RUSAGE_SELF))


def maximum_resident(usage: resource.struct_rusage) -> int:
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _lower(pid: int, what: int, value: int) -> None:
    _, hard = resource.prlimit(pid, what)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.prlimit(pid, what, (value, value))
