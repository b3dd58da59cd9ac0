"""Which processes a program consists of, and what each of them holds."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_STATE, _PARENT, _CPU, _THREADS, _RSS = 0, 1, slice(11, 15), 17, 21
"""Places in /proc/PID/stat, counted after the command's name, which may itself contain anything."""


@dataclass(frozen=True)
class Member:
    """One process. `threads` is what it counts for against a limit of processes."""

    pid: int
    state: str
    threads: int
    resident: int
    cpu_seconds: float
    """Its own and that of the children that it has waited for."""


class Proportional(NamedTuple):
    """Memory with shared pages divided among those who share them."""

    total: int
    shared_objects: int
    """The part of it that lies in shared memory."""


class Descendants:
    """The tree below a process that every orphan of it falls back to, as the host numbers it."""

    def __init__(self, root: int, *, inclusive: bool) -> None:
        self._root = root
        self._inclusive = inclusive

    def pids(self) -> list[int]:
        """Everything below the root, parents first; the root itself where it belongs to the program."""
        found = [self._root]
        seen = {self._root}
        for pid in found:
            for child in _children(pid):
                if child not in seen:
                    seen.add(child)
                    found.append(child)
        return found if self._inclusive else found[1:]

    def members(self) -> list[Member]:
        return [member for pid in self.pids() if (member := _read_member(f"/proc/{pid}/stat", pid, None))]

    def proportional_memory(self, pid: int) -> Proportional | None:
        return _proportional_memory(f"/proc/{pid}/smaps_rollup", None)

    def shared_mappings(self, pid: int) -> dict[int, int]:
        return _shared_mappings(f"/proc/{pid}/maps", None)

    def unlinked(self, pid: int, device: int) -> dict[int, int]:
        return _unlinked_files(f"/proc/{pid}", None, device)

    def close(self) -> None:
        """Nothing is held."""


class Namespace:
    """Every process of a PID namespace, read through the /proc that the sandbox mounted for it.

    One listing gives all of them, however many threads they have and whoever their parents are.
    """

    def __init__(self, first: int) -> None:
        self._proc = os.open(f"/proc/{first}/root/proc", os.O_RDONLY | os.O_DIRECTORY)

    def members(self) -> list[Member]:
        pids = [int(name) for name in os.listdir(self._proc) if name.isdigit()]  # noqa: PTH208
        return [member for pid in pids if (member := _read_member(f"{pid}/stat", pid, self._proc))]

    def proportional_memory(self, pid: int) -> Proportional | None:
        return _proportional_memory(f"{pid}/smaps_rollup", self._proc)

    def shared_mappings(self, pid: int) -> dict[int, int]:
        return _shared_mappings(f"{pid}/maps", self._proc)

    def unlinked(self, pid: int, device: int) -> dict[int, int]:
        return _unlinked_files(str(pid), self._proc, device)

    def close(self) -> None:
        os.close(self._proc)


Tree = Descendants | Namespace


def stop_all(tree: Descendants, seconds: float = 2.0) -> None:
    """Stop every process of it; returns when all stand still.

    One that waits in the kernel and cannot be woken (`D`) stops before it runs again. Most are there for a moment, and
    are waited for; one that waits for a child which was stopped on its way to another program stays there.
    """
    deadline = time.monotonic() + seconds
    while (now := time.monotonic()) < deadline:
        running = [member for member in tree.members() if member.state not in "TtZX"]
        if not running or (all(member.state == "D" for member in running) and now > deadline - 0.9 * seconds):
            return
        _signal_each([member.pid for member in running], signal.SIGSTOP)
        time.sleep(0.0005)


def continue_all(tree: Descendants) -> None:
    """Let every stopped process go on, children before parents."""
    _signal_each(list(reversed(tree.pids())), signal.SIGCONT)


def _signal_each(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def _children(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except OSError:
        return []
    found: list[int] = []
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                found += map(int, file.read().split())
        except FileNotFoundError:
            if not Path("/proc/self/task", str(os.getpid()), "children").exists():
                return _children_by_scan(pid)
        except ProcessLookupError:
            pass
    return found


def _children_by_scan(parent: int) -> list[int]:
    """For kernels built without the list of children."""
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        fields = _read_stat(f"/proc/{name}/stat", None) if name.isdigit() else None
        if fields and int(fields[_PARENT]) == parent:
            found.append(int(name))
    return found


def _read_stat(path: str, folder: int | None) -> list[bytes] | None:
    try:
        descriptor = os.open(path, os.O_RDONLY, dir_fd=folder)
    except OSError:
        return None
    try:
        text = os.read(descriptor, 4096)
    except ProcessLookupError:
        return None
    finally:
        os.close(descriptor)
    return text[text.rindex(b")") + 2 :].split()


def _read_member(path: str, pid: int, folder: int | None) -> Member | None:
    fields = _read_stat(path, folder)
    if fields is None:
        return None
    cpu = sum(map(int, fields[_CPU])) / _TICKS
    return Member(pid, fields[_STATE].decode(), int(fields[_THREADS]), int(fields[_RSS]) * _PAGE, cpu)


def _proportional_memory(path: str, folder: int | None) -> Proportional | None:
    """None where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY, dir_fd=folder)
    except OSError:
        return None
    try:
        fields = [line.split() for line in os.read(descriptor, 8192).splitlines()[1:]]
    except OSError:
        return None
    finally:
        os.close(descriptor)
    found = {words[0]: int(words[1]) * 1024 for words in fields if len(words) > 1}
    return Proportional(found[b"Pss:"], found.get(b"Pss_Shmem:", 0)) if b"Pss:" in found else None


def _shared_mappings(path: str, folder: int | None) -> dict[int, int]:
    """Sizes of the anonymous shared memory that it maps, by the object's number: pages in there stay allocated
    when the process lets go of them, and then count for nobody."""
    found: dict[int, int] = {}
    for mapping in _mappings(path, folder):
        if mapping.name == b"/dev/zero (deleted)":
            found[mapping.inode] = found.get(mapping.inode, 0) + mapping.size
    return found


def _unlinked_files(process: str, folder: int | None, device: int) -> dict[int, int]:
    """Sizes of files on that device which have no name any more, by their number: no listing of a folder shows the
    space that they take. Those that are open, and those that are only mapped."""
    found: dict[int, int] = {}
    for mapping in _mappings(f"{process}/maps", folder):
        if mapping.device == device and mapping.name.endswith(b" (deleted)"):
            found[mapping.inode] = found.get(mapping.inode, 0) + mapping.size
    try:
        listing = os.open(f"{process}/fd", os.O_RDONLY | os.O_DIRECTORY, dir_fd=folder)
    except OSError:
        return found
    try:
        for name in os.listdir(listing):  # noqa: PTH208
            try:
                status = os.stat(name, dir_fd=listing)
            except OSError:
                continue
            if status.st_nlink == 0 and status.st_dev == device:
                found[status.st_ino] = status.st_blocks * 512
    except OSError:
        return found
    finally:
        os.close(listing)
    return found


class _Mapping(NamedTuple):
    size: int
    device: int
    inode: int
    name: bytes


def _mappings(path: str, folder: int | None) -> Iterator[_Mapping]:
    """What a process maps that has a name; nothing where that cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY, dir_fd=folder)
    except OSError:
        return
    with open(descriptor, "rb") as file:
        try:
            for line in file:
                addresses, _, _, device, inode, *name = line.rstrip(b"\n").split(maxsplit=5)
                if name:
                    start, end = addresses.split(b"-")
                    major, minor = device.split(b":")
                    number = os.makedev(int(major, 16), int(minor, 16))
                    yield _Mapping(int(end, 16) - int(start, 16), number, int(inode), name[0])
        except ProcessLookupError:
            return
