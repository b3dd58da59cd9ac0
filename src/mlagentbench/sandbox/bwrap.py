"""bubblewrap: namespaces, a system-call filter, no capabilities; the default. One plan serves every program that
understands bubblewrap's flags: see `namespaces`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mlagentbench.errors import SandboxError, SandboxUnavailableError
from mlagentbench.sandbox import cgroup, diagnosis, leftovers, seccomp, services, view
from mlagentbench.sandbox.launch import (
    CONTROL_VARIABLE,
    NAMESPACE,
    SHELL_GATE,
    SHELL_GATE_EXEC,
    Channels,
    Launch,
)
from mlagentbench.sandbox.outcome import SetupFailedError
from mlagentbench.sandbox.process import Supervisor
from mlagentbench.sandbox.spec import KEEPS_ALL, Job, OutputSink, Process, ResourceLimits, Result
from mlagentbench.sandbox.started import Started
from mlagentbench.sandbox.temporary import temporary_folder

_NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")


@dataclass(frozen=True)
class Program:
    """How the walls are made: a program that understands bubblewrap's flags of that version."""

    command: tuple[str, ...]
    version: tuple[int, ...]


@dataclass(frozen=True)
class BubblewrapSandbox:
    """Programs run in namespaces of their own, see an almost empty file system, and die with the harness."""

    name = "bwrap"
    title = "bubblewrap"
    isolating = True
    own_network = True
    cannot = KEEPS_ALL

    def gaps(self) -> tuple[str, ...]:
        if "memory" in cgroup.hierarchies().kinds():
            return ()
        return (
            "Memory that the kernel holds for a program (socket buffers, pipes) is not counted: no control"
            " group is delegated to this user.",
        )

    def workspace_path(self, workspace: Path) -> str:
        return view.WORKSPACE

    def links_read_only(self) -> bool:
        return False

    def run(self, job: Job, on_output: OutputSink, stdin: bytes = b"") -> Result:
        return Supervisor(self._plan, job, on_output, stdin).run()

    def start(self, job: Job, on_output: OutputSink, *, talks: bool = True) -> Process:
        return Started(self._plan, job, on_output, talks)

    def check(self) -> None:
        """Raise SandboxUnavailableError unless it really works here, with the flags that are used."""
        self._program()
        reason = _failure(self)
        if reason:
            raise SandboxUnavailableError(diagnosis.explain(self.title, reason, diagnosis.this_host()))

    def _program(self) -> Program:
        return executable()

    def _plan(self, job: Job, channels: Channels) -> Launch:
        return plan(self._program(), job, channels)


def plan(program: Program, job: Job, channels: Channels) -> Launch:
    """The command line for one job."""
    environment = view.environment(job, home="/tmp/home", temporary="/tmp")
    descriptors = [channels.status]
    if channels.control is not None:
        environment[CONTROL_VARIABLE] = str(channels.control)
        descriptors.append(channels.control)
    filter_descriptor = channels.data(seccomp.filter_program(one_process=job.one_process))
    argv = [*program.command, *_NAMESPACES, *([] if job.network else ["--unshare-net"])]
    if program.version >= (0, 8):
        argv += ["--disable-userns"]
    argv += ["--cap-drop", "ALL", "--die-with-parent", "--new-session", "--as-pid-1"]
    argv += ["--uid", "1000", "--gid", "1000", "--hostname", "sandbox"]
    argv += _system(job)
    for content, target in ((view.PASSWD, "/etc/passwd"), (view.GROUP, "/etc/group")):
        descriptor = channels.data(content)
        descriptors.append(descriptor)
        argv += ["--ro-bind-data", str(descriptor), target]
    argv += _devices(job, sized=program.version >= (0, 7))
    inner = services.wrap(job, channels)
    argv += _folders(job, inner.shown)
    argv += ["--chdir", view.WORKSPACE, "--remount-ro", "/"]
    argv += ["--seccomp", str(filter_descriptor), "--json-status-fd", str(channels.status)]
    argv += [
        "--",
        "/bin/sh",
        "-c",
        SHELL_GATE_EXEC if job.one_process else SHELL_GATE,
        leftovers.mark(),
        *inner.argv,
    ]
    descriptors.append(filter_descriptor)
    confinement = services.with_forwarder(NAMESPACE) if services.forwarded(job) else NAMESPACE
    return Launch(tuple(argv), environment, confinement, tuple(descriptors))


@cache
def executable() -> Program:
    """bubblewrap and its version. Other programs of that name exist: it is believed only if it says who it
    is."""
    found = shutil.which("bwrap") or shutil.which("bwrap", path="/usr/bin:/usr/local/bin")
    if not found:
        raise SandboxUnavailableError(
            "bubblewrap is not installed (package `bubblewrap`). Run `mlagentbench doctor`."
        )
    told = subprocess.run([found, "--version"], capture_output=True, text=True, env={}, check=False).stdout
    match = re.match(r"bubblewrap (\d+)\.(\d+)", told)
    if not match:
        raise SandboxUnavailableError(f"{found} is not bubblewrap: its --version says {told.strip()[:80]!r}.")
    return Program((found,), (int(match[1]), int(match[2])))


def _system(job: Job) -> list[str]:
    argv = ["--ro-bind", "/usr", "/usr"]
    for folder in view.TOP_FOLDERS:
        if os.path.islink(folder):  # noqa: PTH114
            argv += ["--symlink", os.readlink(folder), folder]  # noqa: PTH115
        elif os.path.isdir(folder):  # noqa: PTH112
            argv += ["--ro-bind", folder, folder]
    files = view.SYSTEM_FILES + (view.NETWORK_FILES if job.network else ())
    for file in files:
        if os.path.exists(file):  # noqa: PTH110
            argv += ["--ro-bind", os.path.realpath(file), file]
    return argv


def _devices(job: Job, *, sized: bool) -> list[str]:
    size = ["--size", str(max(job.limits.memory // 2, 1 << 20))] if sized else []
    argv = ["--proc", "/proc"]
    for place in view.KERNEL_SETTINGS:
        argv += ["--ro-bind-try", place, place]
    argv += ["--dev", "/dev", *size, "--tmpfs", "/dev/shm"]
    for node in view.gpu_nodes(job.devices):
        argv += ["--dev-bind-try", node, node]
    if job.devices:
        for file in view.GPU_FILES:
            argv += ["--ro-bind-try", file, file]
    return [*argv, "--remount-ro", "/dev", *size, "--tmpfs", "/tmp", "--dir", "/tmp/home"]


def _folders(job: Job, extra: tuple[tuple[Path, str], ...]) -> list[str]:
    """The interpreter, the workspace and what covers parts of it; hidden places last, on top of
    everything."""
    shown: list[tuple[Path, str]] = [(Path("/usr"), "/usr")]
    argv: list[str] = []
    read_only = [(root, str(root)) for root in view.interpreter_roots(job.interpreter)]
    for source, target in (*read_only, *extra):
        argv += ["--ro-bind", str(source), target]
        shown.append((source, target))
    argv += ["--bind", str(job.workspace), view.WORKSPACE]
    shown.append((job.workspace, view.WORKSPACE))
    for place, source in sorted(job.read_only.items()):
        _make_mount_point(job.workspace, place, source)
        target = f"{view.WORKSPACE}/{place}"
        argv += ["--ro-bind", str(source), target]
        shown.append((source, target))
    for mount in job.mounts:
        argv += ["--bind" if mount.writable else "--ro-bind", str(mount.source), mount.target]
        shown.append((mount.source, mount.target))
    for hidden, target in view.masked(job.hidden, shown):
        if hidden.is_dir():
            argv += ["--tmpfs", target, "--remount-ro", target]
        else:
            argv += ["--ro-bind", "/dev/null", target]
    return argv


def _make_mount_point(workspace: Path, place: str, source: Path) -> None:
    """The empty file or folder that `source` will cover, unless it is there. Never through a link."""
    parts = Path(place).parts
    if not parts or ".." in parts or Path(place).is_absolute():
        raise SandboxError(f"A read-only place must be inside of the workspace, and {place!r} is not.")
    current = workspace
    for index, part in enumerate(parts):
        current = current / part
        if current.is_symlink():
            raise SandboxError(
                f"{place!r} cannot be covered: {part!r} is a link. Restore the workspace first."
            )
        last = index == len(parts) - 1
        if current.exists():
            continue
        if last and not source.is_dir():
            current.touch()
        else:
            current.mkdir()


@cache
def _failure(sandbox: BubblewrapSandbox) -> str:
    """Why it does not work here, in one line; empty if it does."""
    limits = ResourceLimits(seconds=20, memory=1 << 28, processes=8, disk=1 << 24, files=100, output=1 << 16)
    said: list[bytes] = []
    with temporary_folder("check") as folder:
        try:
            result = sandbox.run(Job(("true",), folder, limits), said.append)
        except SetupFailedError as error:
            return error.words
        except SandboxError as error:
            return str(error)
    return "" if result.exit_status == 0 else b"".join(said).decode(errors="replace").strip() or repr(result)
