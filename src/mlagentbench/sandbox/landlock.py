"""The fallback that needs no program: Landlock, a system-call filter and limits of the kernel. It is partial.

Nothing can be mounted, so the workspace is seen at its own path, read-only data are links to where they lie,
and other processes and files can be seen to exist. What it does not stop on this machine's kernel, `gaps`
tells.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType

from mlagentbench.errors import SandboxError, SandboxUnavailableError
from mlagentbench.sandbox import broker, launcher, seccomp, view
from mlagentbench.sandbox.launch import CONTROL_VARIABLE, LAUNCHER, Channels, Launch
from mlagentbench.sandbox.process import Supervisor
from mlagentbench.sandbox.spec import Job, OutputSink, Process, Promise, Result
from mlagentbench.sandbox.started import Started
from mlagentbench.sandbox.temporary import temporary_folder

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_DEVICES = 1 << 6 | 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15
_FIRST = (1 << 13) - 1
"""Every right of the first version."""
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_BIND_TCP, _CONNECT_TCP = 1, 2
_SCOPE_ALL = 3
_TRUNCATES_FROM, _NETWORK_FROM, _IOCTL_FROM, _SCOPES_FROM = 3, 4, 5, 6

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_KERNEL_FILES = (
    # As they are: resolved here, /proc/self would be the harness.
    *(
        "/proc/self",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/stat",
        "/proc/loadavg",
        "/proc/version",
        "/proc/uptime",
    ),
    *(
        "/proc/filesystems",
        "/proc/vmstat",
        "/proc/zoneinfo",
        "/proc/diskstats",
        "/proc/partitions",
        "/proc/modules",
    ),
    *("/proc/devices", "/proc/swaps", "/proc/cmdline", "/proc/sys", "/proc/pressure"),
    *("/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage"),
    "/sys/kernel/mm/hugepages",
)
_GROUP_FILES = (
    *(
        "cpu.max",
        "cpu.weight",
        "cpuset.cpus.effective",
        "memory.max",
        "memory.high",
        "memory.current",
        "pids.max",
    ),
    *("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us", "cpu/cpu.shares", "cpuset/cpuset.cpus"),
    *("cpu,cpuacct/cpu.cfs_quota_us", "cpu,cpuacct/cpu.cfs_period_us", "cpu,cpuacct/cpu.shares"),
    *("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "pids/pids.max"),
)
"""What libraries ask control groups for, in both versions, below /sys/fs/cgroup. They look whether a file is there, and
do not expect that it cannot be read then."""
_ETC_FILES = (
    *(
        "passwd",
        "group",
        "hosts",
        "host.conf",
        "hostname",
        "os-release",
        "lsb-release",
        "debian_version",
        "issue",
    ),
    *("timezone", "locale.alias", "locale.conf", "default/locale", "inputrc", "terminfo", "magic", "shells"),
    *("bash.bashrc", "profile", "profile.d", "login.defs", "networks", "rpc", "ethertypes"),
)
_UNCONFIGURED = {"GIT_CONFIG_NOSYSTEM": "1", "PIP_CONFIG_FILE": "/dev/null"}
"""These programs fail where the system's configuration for them is there and cannot be read. It may hold passwords."""


class LandlockSandbox:
    """Programs run beside the harness, under rules that they cannot take off."""

    name = "landlock"
    isolating = True
    own_network = False
    cannot: Mapping[Promise, str] = MappingProxyType(
        {
            "services": "its rules name ports and not addresses, so a program could reach any host at a service's port",
            "timing": "rounds share memory and the page cache with all that this user runs, so a speed could be forged",
        }
    )

    def __init__(self, version: int | None = None) -> None:
        """`version` of Landlock to use, where it shall be an older one than the kernel has."""
        self._plan = partial(plan, version=version)

    def gaps(self) -> tuple[str, ...]:
        found = [
            f"Timed tasks are refused: {self.cannot['timing']}.",
            "Tasks with services, and agents that are programs and ask a model, are refused: "
            f"{self.cannot['services']}.",
            "Files and processes outside can be seen to exist, though not read.",
            "The link that stands for a read-only file can be replaced in the workspace; the data behind it cannot.",
            "Hidden folders inside visible ones can be listed, though none of their files can be read.",
            "There is no /dev/shm, so locks and queues of multiprocessing fail, and joblib works in one process.",
            "There is no loopback, and /tmp cannot be written (TMPDIR can).",
            "A program's children cannot read their own /proc/self.",
        ]
        if os.geteuid() != 0:
            found.append("A burst of processes is held by watching only, some ten times a second.")
        return tuple(found)

    def workspace_path(self, workspace: Path) -> str:
        return str(workspace)

    def links_read_only(self) -> bool:
        return True

    def run(self, job: Job, on_output: OutputSink, stdin: bytes = b"") -> Result:
        return Supervisor(self._plan, job, on_output, stdin).run()

    def start(self, job: Job, on_output: OutputSink, *, talks: bool = True) -> Process:
        return Started(self._plan, job, on_output, talks)

    def check(self) -> None:
        """Raise SandboxUnavailableError unless the kernel has what is needed."""
        if sys.platform != "linux":
            raise SandboxUnavailableError("Landlock exists on Linux only.")
        seccomp.filter_program()
        if launcher.landlock_version() < 1:
            raise SandboxUnavailableError(
                f"This kernel ({platform.release()}) has no Landlock: it needs 5.13 or newer, with Landlock enabled."
            )


def plan(job: Job, channels: Channels, version: int | None = None) -> Launch:
    """What the launcher is told."""
    if job.services:
        raise SandboxError(f"Services cannot be offered here: {LandlockSandbox.cannot['services']}.")
    temporary = channels.later.enter_context(temporary_folder("tmp")).resolve()
    environment = _UNCONFIGURED | view.environment(job, home=str(temporary), temporary=str(temporary))
    descriptors = [channels.status]
    if channels.control is not None:
        environment[CONTROL_VARIABLE] = str(channels.control)
        descriptors.append(channels.control)
    version = version or launcher.landlock_version()
    handled, asks = _handled(version), _asks(version, job.network)
    own = [job.workspace, temporary, *(mount.source for mount in job.mounts if mount.writable)]
    told = {
        "parent": os.getpid(),
        "status": channels.status,
        "control": channels.control,
        "files": handled,
        "network": 0 if job.network or version < _NETWORK_FROM else _BIND_TCP | _CONNECT_TCP,
        "scopes": _SCOPE_ALL if version >= _SCOPES_FROM else 0,
        "size": 24 if version >= _SCOPES_FROM else 16 if version >= _NETWORK_FROM else 8,
        "paths": [(str(path), access & handled) for path, access in _rules(job, temporary)],
        "seccomp": seccomp.numbers_of(("seccomp",))["seccomp"],
        "filter": _filter(job, asks, broker=True).hex(),
        "filter-alone": _filter(job, tuple(set(asks) - set(broker.SIGNALS)), broker=False).hex(),
        "asks": seccomp.numbers_of(asks),
        "own": [str(folder.resolve()) for folder in own],
    }
    descriptor = channels.data(json.dumps(told).encode())
    argv = (sys.executable, "-I", "-S", launcher.__file__, str(descriptor), *job.argv)
    return Launch(
        argv,
        environment,
        LAUNCHER,
        (*descriptors, descriptor),
        folder=job.workspace,
        counted=(temporary,),
        tells_signals_as_status=False,
    )


def _handled(version: int) -> int:
    later = {2: _REFER, _TRUNCATES_FROM: _TRUNCATE, _IOCTL_FROM: _IOCTL_DEVICE}
    return _FIRST | sum(right for since, right in later.items() if version >= since)


def _asks(version: int, network: bool) -> tuple[str, ...]:
    """The calls about which the broker decides, because this version has no rules for them."""
    asks = [*broker.METADATA, *broker.ON_PROCESSES]
    if not network:
        asks += broker.CONNECTIONS
    if version < _TRUNCATES_FROM:
        asks += broker.LENGTHS
    if version < _SCOPES_FROM:
        asks += broker.SIGNALS
    return tuple(asks)


def _filter(job: Job, asks: tuple[str, ...], *, broker: bool) -> bytes:
    return seccomp.filter_program(
        shares_host=True, network=job.network, asks=asks, broker=broker, one_process=job.one_process
    )


def _rules(job: Job, temporary: Path) -> list[tuple[Path, int]]:
    """What may be read and what may be written; everything else may not."""
    write = _FIRST & ~_MAKE_DEVICES | _REFER | _TRUNCATE
    rules = [(job.workspace, write), (temporary, write)]
    rules += [(Path(device), _READ_FILE | _WRITE_FILE | _TRUNCATE) for device in _DEVICES]
    rules += [
        (Path(node), _ON_FILES)
        for node in view.gpu_nodes(job.devices)
        if Path(node).exists() and not Path(node).is_dir()
    ]
    rules += [(Path(path), _READ) for path in _KERNEL_FILES]
    readable = ["/usr", *view.TOP_FOLDERS, *view.SYSTEM_FILES]
    readable += [f"/etc/{name}" for name in _ETC_FILES]
    readable += [f"/sys/fs/cgroup/{name}" for name in _GROUP_FILES]
    readable += view.NETWORK_FILES if job.network else ()
    sources = [*map(Path, readable), *view.interpreter_roots(job.interpreter), *job.read_only.values()]
    for mount in job.mounts:
        if Path(mount.target) != mount.source:
            raise SandboxError(
                f"The landlock sandbox cannot show {mount.source} at {mount.target}: it cannot mount."
                " Use bubblewrap, or let the program find it at its own path."
            )
        if mount.writable:
            rules.append((mount.source, write))
        else:
            sources.append(mount.source)
    hidden = [place.resolve() for place in job.hidden if place.exists()]
    if any(place.is_relative_to(job.workspace.resolve()) for place in hidden):
        raise SandboxError("The landlock sandbox cannot hide a part of the workspace. Use bubblewrap.")
    for source in sources:
        if source.exists():
            rules += _readable(source.resolve(), hidden)
    return [(path, access if path.is_dir() else access & _ON_FILES) for path, access in rules]


def _readable(folder: Path, hidden: list[Path]) -> list[tuple[Path, int]]:
    """Rules allow and never forbid: a folder with something hidden in it is allowed piece by piece."""
    if folder in hidden:
        return []
    if not any(place.is_relative_to(folder) for place in hidden):
        return [(folder, _READ)]
    pieces = [rule for piece in folder.iterdir() for rule in _readable(piece, hidden)]
    return [(folder, _READ_DIR), *pieces]
