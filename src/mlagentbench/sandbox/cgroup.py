"""Control groups, where this process may make them: limits that the kernel itself holds.

Version 2 where memory and pids are delegated to us; version 1 controllers where we are root and they are
mounted, because the kernel exempts the real root from its limit of processes per user. Groups are named
after the process that made them, so that those of a dead harness can be told and removed.
"""

from __future__ import annotations

import itertools
import os
import signal
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mlagentbench.sandbox.spec import LimitReached, ResourceLimits
from mlagentbench.sandbox.surroundings import Surroundings, event
from mlagentbench.sandbox.temporary import pid_namespace

_PREFIX = "mlagentbench-of-"
_numbers = itertools.count()


@dataclass(frozen=True)
class Hierarchies:
    """Folders in which groups can be made; None where there is none."""

    unified: Path | None = None
    """Version 2 with memory and pids."""
    freezer: Path | None = None
    """Version 2 with or without controllers: freezing is part of its core."""
    pids: Path | None = None
    memory: Path | None = None

    def kinds(self) -> tuple[str, ...]:
        """What the kernel holds here, in words, for people."""
        if self.unified:
            return ("memory", "processes")
        return tuple(name for name, path in (("memory", self.memory), ("processes", self.pids)) if path)


class Group:
    """The groups of one program, one in each hierarchy that is used."""

    def __init__(
        self, hierarchies: Hierarchies, limits: ResourceLimits, *, overhead: int, freezable: bool
    ) -> None:
        self._limits = limits
        name = f"{_own_prefix()}{next(_numbers)}"
        self._made: list[Path] = []
        try:
            self._unified = self._make(hierarchies.unified, name)
            freezer = hierarchies.freezer if freezable and not hierarchies.unified else None
            self._freezer = self._unified or self._make(freezer, name)
            self._pids = self._unified or self._make(hierarchies.pids, name)
            self._memory = None if self._unified else self._make(hierarchies.memory, name)
            if self._pids:
                _write(self._pids / "pids.max", limits.processes + overhead)
            if self._unified:
                _write(self._unified / "memory.max", limits.memory)
                _write_if_there(self._unified / "memory.swap.max", 0)
                _write_if_there(self._unified / "memory.oom.group", 1)
            if self._memory:
                _write(self._memory / "memory.limit_in_bytes", limits.memory)
        except OSError:
            self.remove()
            raise

    def _make(self, folder: Path | None, name: str) -> Path | None:
        if folder is None:
            return None
        made = folder / name
        made.mkdir()
        self._made.append(made)
        return made

    def add(self, pid: int) -> None:
        """Put a process in; what it starts from now on is in as well."""
        for folder in self._made:
            _write(folder / "cgroup.procs", pid)

    def reached(self) -> LimitReached | None:
        """Whether the kernel has refused or killed something because of a limit."""
        if self._pids and event(self._pids / "pids.events", b"max"):
            return LimitReached("processes", self._limits.processes)
        if self._unified and event(self._unified / "memory.events", b"oom_kill"):
            return self._memory_ran_out(event(self._unified / "memory.events", b"max"))
        if self._memory and event(self._memory / "memory.oom_control", b"oom_kill"):
            return self._memory_ran_out(int((self._memory / "memory.failcnt").read_bytes()))
        return None

    def _memory_ran_out(self, times_at_own_limit: int) -> LimitReached | None:
        """Which limit it was: the program's own, or that of a group around it. None where others took the memory."""
        if times_at_own_limit:
            return LimitReached("memory", self._limits.memory)
        return shared_limit(Surroundings(tuple((self._unified or self._made[-1]).parents)), self._limits)

    def freeze(self) -> bool:
        """True if all of it stands still now (or is gone); False if there is no such hierarchy."""
        if self._freezer is None:
            return False
        if not self._set_frozen(1):
            return True
        deadline = time.monotonic() + 2
        while time.monotonic() < deadline:
            if event(self._freezer / "cgroup.events", b"frozen"):
                return True
            time.sleep(0.0005)
        return False

    def thaw(self) -> None:
        self._set_frozen(0)

    def _set_frozen(self, value: int) -> bool:
        """False if the group is gone: the program has ended meanwhile."""
        if self._freezer is None:
            return False
        try:
            _write(self._freezer / "cgroup.freeze", value)
        except FileNotFoundError:
            return False
        return True

    def kill(self) -> None:
        """End whatever is still in it, until nothing is."""
        for folder in self._made[:1]:
            _kill_all(folder)

    def remove(self) -> None:
        for folder in self._made:
            _remove(folder)


def shared_limit(around: Surroundings, limits: ResourceLimits) -> LimitReached | None:
    """The limit that a program shares with the harness, where that is smaller than its own."""
    memory = around.memory()
    return LimitReached("memory", memory, shared=True) if memory and memory <= limits.memory else None


@cache
def hierarchies() -> Hierarchies:
    """Where this process may make groups; found once, and cleaned of what dead harnesses left."""
    own = _own_groups()
    unified = freezer = None
    mounts = _mounts()
    if root := mounts.get("2"):
        unified = _delegated(root, own.get("", "/"))
        freezer = unified or _usable(root / own.get("", "/").strip("/"))
    pids = _usable(mounts["pids"] / own.get("pids", "/").strip("/")) if "pids" in mounts else None
    memory = _usable(mounts["memory"] / own.get("memory", "/").strip("/")) if "memory" in mounts else None
    found = Hierarchies(unified, freezer, pids, memory)
    for folder in {unified, freezer, pids, memory} - {None}:
        if folder:
            _remove_stale(folder)
    return found


def _mounts() -> dict[str, Path]:
    """Mount points by version 1 controller; version 2 under `2`."""
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        before, _, after = line.partition(" - ")
        kind, _, options = after.split(" ", 2)
        fields = before.split()
        if fields[3] != "/":
            continue
        if kind == "cgroup2":
            found["2"] = Path(fields[4])
        elif kind == "cgroup":
            for option in options.split(","):
                if option in ("pids", "memory"):
                    found[option] = Path(fields[4])
    return found


def _own_groups() -> dict[str, str]:
    """This process's group by controller; that of version 2 under the empty name."""
    found: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(","):
            found[name] = path
    return found


def _delegated(root: Path, own: str) -> Path | None:
    """The nearest group above our own in which new ones get memory and pids, and into which we may move
    processes."""
    folder = root / own.strip("/")
    for candidate in (folder, *folder.parents):
        if not candidate.is_relative_to(root):
            return None
        try:
            enabled = (candidate / "cgroup.subtree_control").read_text().split()
        except OSError:
            return None
        if {"memory", "pids"} <= set(enabled):
            return _usable(candidate)
    return None


def _usable(folder: Path) -> Path | None:
    """`folder`, if a group can really be made there and removed again."""
    probe = folder / f"{_own_prefix()}probe"
    if not os.access(folder / "cgroup.procs", os.W_OK):
        return None
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError:
        return None
    return folder


def _own_prefix() -> str:
    return f"{_PREFIX}{pid_namespace()}-{os.getpid()}-"


def _remove_stale(folder: Path) -> None:
    """Remove the groups of harnesses that are dead, with what is still dying in them."""
    for group in folder.glob(f"{_PREFIX}*"):
        namespace, owner, *_ = [*group.name.removeprefix(_PREFIX).split("-"), ""]
        if namespace == str(pid_namespace()) and not Path("/proc", owner).exists():
            _kill_all(group)
            _remove(group)


def _kill_all(group: Path) -> None:
    for _ in range(2000):
        try:
            left = (group / "cgroup.procs").read_bytes().split()
        except FileNotFoundError:
            return
        if not left:
            return
        for pid in left:
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.001)


def _remove(group: Path) -> None:
    """A group can stay busy for a moment after its last process is gone."""
    for _ in range(200):
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.005)
        else:
            return


def _write(path: Path, value: int) -> None:
    path.write_bytes(str(value).encode())


def _write_if_there(path: Path, value: int) -> None:
    if path.exists():
        _write(path, value)
