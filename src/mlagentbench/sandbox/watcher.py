"""Holds the limits that no kernel mechanism holds for us, by looking now and then.

Looking is cheap and rare: processes and memory some ten times a second (more often as a limit comes near,
and soon after the start), the workspace when the free space of its disk has moved or when a pause in
proportion to the cost of counting has passed. Nothing here delays a short program: it is only called while
there is nothing else to do.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.sandbox.disk import Footprint, TooDeepError, measure
from mlagentbench.sandbox.measuring import Latest
from mlagentbench.sandbox.spec import LimitReached, ResourceLimits
from mlagentbench.sandbox.tree import Member, Tree

_FIRST_LOOK, _LONGEST_PAUSE, _NEAR_PAUSE = 0.004, 0.1, 0.02
_FIRST_COUNT, _SHORTEST_COUNT_PAUSE, _COUNT_SHARE = 0.25, 0.25, 0.02
"""Counting the workspace may take this share of the time at most."""
_FEW = 32
"""Processes that can be looked at in an instant."""
_MOVED = 16
"""A drop of the free space by the limit's part of this size is a reason to count at once."""


@dataclass
class _Space:
    free: int
    free_entries: int


@dataclass(frozen=True)
class _Memory:
    """What one process uses, where pages that are shared are divided among those who share them."""

    used: int
    shared_objects: int
    mappings: dict[int, int]


def _shared_memory() -> int:
    """Bytes of shared memory on the whole machine; 0 where that is not told."""
    try:
        with open("/proc/meminfo", "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(b"Shmem:")), 0)


class Watcher:
    """Watches one program from its start: the folders that it can write to on disk, the first being its
    workspace, and file systems that are memory. `overhead` processes of the tree are the sandbox's own."""

    def __init__(
        self,
        limits: ResourceLimits,
        folders: tuple[Path, ...],
        tree: Tree,
        *,
        overhead: int = 0,
        memory_folders: tuple[str, ...] = (),
    ) -> None:
        self._limits = limits
        self._folders = folders
        self._disks = {folder.stat().st_dev: folder for folder in folders}
        self._tree = tree
        self._memories = Latest(self._memory_of)
        self._nameless = Latest(self._nameless_of)
        self._overhead = overhead
        self._memory_folders = [os.open(path, os.O_RDONLY | os.O_DIRECTORY) for path in memory_folders]
        self.peak_memory = 0
        self.cpu_seconds = 0.0
        """Seen so far. The kernel forgets the time of processes that die with their namespace."""
        self._cpu_at_start = 0.0
        """What making the walls has cost."""
        self._members()
        self._cpu_at_start, self.cpu_seconds = self.cpu_seconds, 0.0
        now = time.monotonic()
        self._pause = _FIRST_LOOK
        self.next_look = now + self._pause
        self._next_count = now + _FIRST_COUNT
        self._shared_at_start = _shared_memory()
        self._folders_at_start = 0
        self._folders_at_start = self._memory_in_folders()
        self._space_at_start = self._space()
        self._space_at_count = self._space_at_start

    def close(self) -> None:
        self._tree.close()
        for descriptor in self._memory_folders:
            os.close(descriptor)

    def look(self, now: float) -> LimitReached | None:
        """What has been reached, if anything; sets when to look next."""
        members = self._members()
        reached = self._processes(members)
        if not reached:
            used, share = self._memory(members)
            self._pause = min(self._pause * 1.6, _NEAR_PAUSE if share > 0.5 else _LONGEST_PAUSE)
            reached = used or self._disk(now, members)
        self.next_look = time.monotonic() + self._pause
        return reached

    def note_time(self) -> None:
        """To be called before everything is killed. Among many processes it would put that off for too long."""
        if self._crowd <= _FEW:
            self._members()

    def look_at_end(self) -> LimitReached | None:
        """After the last process is gone: only if it left so much that it has to be counted."""
        space = self._space()
        dropped = self._space_at_start.free - space.free
        entries = self._space_at_start.free_entries - space.free_entries
        if dropped >= self._limits.disk // 2 or entries >= self._limits.files // 2:
            return self._count([])
        return None

    def _members(self) -> list[Member]:
        members = self._tree.members()
        self._crowd = len(members)
        spent = sum(member.cpu_seconds for member in members) - self._cpu_at_start
        self.cpu_seconds = max(self.cpu_seconds, spent)
        self.peak_memory = max(self.peak_memory, max((member.resident for member in members), default=0))
        return members

    def _processes(self, members: list[Member]) -> LimitReached | None:
        count = sum(member.threads for member in members if member.state not in "ZX") - self._overhead
        if count > self._limits.processes or len(members) - self._overhead > 2 * self._limits.processes:
            return LimitReached("processes", self._limits.processes)
        return None

    def _memory(self, members: list[Member]) -> tuple[LimitReached | None, float]:
        """Resident memory counts shared pages once for each who shares them, so it is the trigger only."""
        limit = self._limits.memory
        in_folders = self._memory_in_folders()
        resident = sum(member.resident for member in members) + in_folders
        growth = _shared_memory() - self._shared_at_start
        if resident <= limit and growth <= limit // 2:
            self.peak_memory = max(self.peak_memory, resident)
            return None, max(resident, growth) / limit
        used = in_folders
        counted = in_folders
        mappings: dict[int, int] = {}
        for each in self._memories.of(members):
            used += each.used
            counted += each.shared_objects
            mappings |= each.mappings
        used += max(0, min(sum(mappings.values()) + in_folders, growth) - counted)
        self.peak_memory = max(self.peak_memory, used)
        return (LimitReached("memory", limit) if used > limit else None), 1.0

    def _memory_of(self, member: Member) -> _Memory:
        proportional = self._tree.proportional_memory(member.pid)
        used, shared = (member.resident, 0) if proportional is None else proportional
        return _Memory(used, shared, self._tree.shared_mappings(member.pid))

    def _memory_in_folders(self) -> int:
        """What has come into file systems that are memory."""
        statuses = [os.fstatvfs(descriptor) for descriptor in self._memory_folders]
        now = sum((status.f_blocks - status.f_bfree) * status.f_frsize for status in statuses)
        return max(0, now - self._folders_at_start)

    def _entries_in_folders(self) -> int:
        statuses = [os.fstatvfs(descriptor) for descriptor in self._memory_folders]
        return sum(status.f_files - status.f_ffree for status in statuses)

    def _disk(self, now: float, members: list[Member]) -> LimitReached | None:
        if self._entries_in_folders() > self._limits.files:
            return LimitReached("files", self._limits.files)
        space = self._space()
        dropped = self._space_at_count.free - space.free
        entries = self._space_at_count.free_entries - space.free_entries
        moved = dropped * _MOVED > self._limits.disk or entries * _MOVED > self._limits.files
        if not moved and now < self._next_count:
            return None
        started = time.monotonic()
        reached = self._count(members)
        ended = time.monotonic()
        self._next_count = ended + max(_SHORTEST_COUNT_PAUSE, (ended - started) / _COUNT_SHARE)
        self._space_at_count = space
        return reached

    def _count(self, members: list[Member]) -> LimitReached | None:
        try:
            counts = [measure(folder, self._limits.files) for folder in self._folders]
            found = Footprint(sum(c.size for c in counts), sum(c.entries for c in counts))
        except TooDeepError:
            found = Footprint(0, self._limits.files + 1)
        if found.entries > self._limits.files:
            return LimitReached("files", self._limits.files)
        if found.size <= self._limits.disk and self._space_at_start.free > self._space().free:
            found = Footprint(found.size + self._unlinked(members), found.entries)
        if found.size > self._limits.disk:
            return LimitReached("disk", self._limits.disk)
        return None

    def _unlinked(self, members: list[Member]) -> int:
        """Space of files on the folders' disks that have no name but are open."""
        sizes: dict[tuple[int, int], int] = {}
        for each in self._nameless.of(members):
            sizes |= each
        return sum(sizes.values())

    def _nameless_of(self, member: Member) -> dict[tuple[int, int], int]:
        return {
            (device, number): size
            for device in self._disks
            for number, size in self._tree.unlinked(member.pid, device).items()
        }

    def _space(self) -> _Space:
        """What is free on all of the folders' disks together."""
        statuses = [os.statvfs(folder) for folder in self._disks.values()]
        free = sum(status.f_bfree * status.f_frsize for status in statuses)
        return _Space(free, sum(status.f_ffree for status in statuses))
