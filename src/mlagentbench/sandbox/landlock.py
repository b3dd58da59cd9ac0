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
from functools import cache
from pathlib import Path

from mlagentbench.errors import SandboxError, SandboxUnavailableError
from mlagentbench.sandbox import launcher, seccomp, services, view
from mlagentbench.sandbox.launch import CONTROL_VARIABLE, LAUNCHER, Channels, Launch
from mlagentbench.sandbox.process import Supervisor
from mlagentbench.sandbox.spec import Job, OutputSink, Process, Result
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
_READABLE = (
    *(
        "/etc/passwd",
        "/etc/group",
        "/proc/self",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/proc/stat",
        "/proc/loadavg",
    ),
    *("/proc/version", "/proc/filesystems", "/proc/uptime", "/proc/sys/kernel/osrelease"),
    *("/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu", "/sys/devices/system/node"),
)


class LandlockSandbox:
    """Programs run beside the harness, under rules that they cannot take off."""

    name = "landlock"
    isolating = True
    own_network = False

    def gaps(self) -> tuple[str, ...]:
        version = launcher.landlock_version()
        found = [
            "Files and processes outside can be seen to exist, though not read.",
            "Sockets that have a path can be connected to.",
            "The host's /dev/shm is shared, and what is left there stays.",
            "The link that stands for a read-only file can be replaced in the workspace; the data behind it cannot.",
            "Hidden folders inside visible ones can be listed, though none of their files can be read.",
            "Programs cannot use the network among themselves either.",
        ]
        if version < _TRUNCATES_FROM:
            found.append("Files that may only be read can be cut short (truncate), if their mode allows it.")
        if version < _NETWORK_FROM:
            found.append("Services of the harness cannot be offered.")
        if version < _SCOPES_FROM:
            found.append("Signals to the user's other processes and abstract sockets are not stopped.")
        if os.geteuid() != 0:
            found.append("A burst of processes is held by watching only, some ten times a second.")
        return tuple(found)

    def workspace_path(self, workspace: Path) -> str:
        return str(workspace)

    def links_read_only(self) -> bool:
        return True

    def run(self, job: Job, on_output: OutputSink, stdin: bytes = b"") -> Result:
        return Supervisor(plan, job, on_output, stdin).run()

    def start(self, job: Job, on_output: OutputSink, *, talks: bool = True) -> Process:
        return Started(plan, job, on_output, talks)

    def check(self) -> None:
        """Raise SandboxUnavailableError unless the kernel has what is needed."""
        if sys.platform != "linux":
            raise SandboxUnavailableError("Landlock exists on Linux only.")
        seccomp.filter_program()
        if launcher.landlock_version() < 1:
            raise SandboxUnavailableError(
                f"This kernel ({platform.release()}) has no Landlock: it needs 5.13 or newer, with Landlock enabled."
            )


def plan(job: Job, channels: Channels) -> Launch:
    """What the launcher is told."""
    temporary = channels.later.enter_context(temporary_folder("tmp"))
    environment = view.environment(job, home=str(temporary), temporary=str(temporary))
    descriptors = [channels.status]
    if channels.control is not None:
        environment[CONTROL_VARIABLE] = str(channels.control)
        descriptors.append(channels.control)
    version = launcher.landlock_version()
    if job.services and not job.network:
        if version < _NETWORK_FROM:
            raise SandboxError("This kernel's Landlock cannot let a service through. Use bubblewrap.")
        channels.later.enter_context(services.on_loopback(job.services))
    handled = _handled(version)
    told = {
        "parent": os.getpid(),
        "status": channels.status,
        "control": channels.control,
        "files": handled,
        "network": 0 if job.network or version < _NETWORK_FROM else _BIND_TCP | _CONNECT_TCP,
        "scopes": _SCOPE_ALL if version >= _SCOPES_FROM else 0,
        "size": 24 if version >= _SCOPES_FROM else 16 if version >= _NETWORK_FROM else 8,
        "paths": [(str(path), access & handled) for path, access in _rules(job, temporary)],
        "ports": [] if job.network else [(service.port, _CONNECT_TCP) for service in job.services],
        "filter": _filter(job).hex(),
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


@cache
def _families(network: bool, services: bool) -> tuple[tuple[int, ...], bool]:
    if network:
        return seccomp.EVERY_FAMILY, False
    if services:
        return (seccomp.AF_UNIX, seccomp.AF_INET, seccomp.AF_INET6), True
    return (seccomp.AF_UNIX,), False


def _filter(job: Job) -> bytes:
    families, streams_only = _families(job.network, bool(job.services))
    return seccomp.filter_program(families, streams_only, others_visible=True, one_process=job.one_process)


def _rules(job: Job, temporary: Path) -> list[tuple[Path, int]]:
    """What may be read and what may be written; everything else may not."""
    write = _FIRST & ~_MAKE_DEVICES | _REFER | _TRUNCATE
    rules = [(job.workspace, write), (temporary, write), (Path("/dev/shm"), write)]
    rules += [(Path(device), _READ_FILE | _WRITE_FILE | _TRUNCATE) for device in _DEVICES]
    rules += [
        (Path(node), _ON_FILES)
        for node in view.gpu_nodes(job.devices)
        if Path(node).exists() and not Path(node).is_dir()
    ]
    # As they are: resolved here, /proc/self would be the harness.
    rules += [(Path(path), _READ) for path in _READABLE]
    readable = ["/usr", *view.TOP_FOLDERS, *view.SYSTEM_FILES]
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
