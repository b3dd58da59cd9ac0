"""What passes between the rest of the harness and a sandbox. Nothing here knows of tasks, runs or agents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol

from mlagentbench.units import format_duration, format_size

LimitName = Literal["time", "memory", "processes", "disk", "files", "output"]
Promise = Literal["services", "timing"]
"""What some tasks and agents need of a sandbox, and not every backend can promise: `services` of the harness that are
all that a program can reach; `timing` that nothing outside of the program speeds up."""
KEEPS_ALL: Mapping[Promise, str] = MappingProxyType({})
"""What `Sandbox.cannot` is for a backend that keeps every promise."""


@dataclass(frozen=True)
class ResourceLimits:
    """What one program may use. Reaching one stops the whole process tree and is told in `Result.limit`."""

    seconds: float
    memory: int
    processes: int
    disk: int
    files: int
    output: int


@dataclass(frozen=True)
class Interpreter:
    """A Python that agent code may run on: never the harness's own, and never one that holds this package."""

    python: Path
    roots: tuple[Path, ...]
    """Folders that must be visible for it to run: its virtual environment and its base prefix."""


@dataclass(frozen=True)
class Mount:
    """A folder or file of the host, seen at `target` inside."""

    source: Path
    target: str
    writable: bool = False


@dataclass(frozen=True)
class Service:
    """An endpoint of the harness, reachable inside the sandbox at `127.0.0.1:port` and nowhere else."""

    port: int
    host: str = ""
    host_port: int = 0
    socket: Path | None = None
    """Where the harness listens, if not at a port."""


@dataclass(frozen=True)
class Job:
    """One program to start.

    `argv[0]` is a path or a name looked up in the sandbox's PATH. The workspace is writable and is the
    working folder; each entry of `read_only` (a place inside the workspace, relative, with `/`) is covered
    by a file or folder of the host that no process inside can change. `hidden` folders and files are masked
    wherever a visible folder contains them. `environment` is all that the program gets, together with what
    the backend must set (PATH, HOME, TMPDIR, LANG).
    """

    argv: tuple[str, ...]
    workspace: Path
    limits: ResourceLimits
    interpreter: Interpreter | None = None
    read_only: Mapping[str, Path] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    hidden: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    secret: frozenset[str] = frozenset()
    """Names of variables in it whose values stand on no command line, which everybody on the machine can read."""
    network: bool = False
    services: tuple[Service, ...] = ()
    devices: tuple[str, ...] = ()
    """GPUs to pass through: `all`, or indices as the vendor's tools count them."""
    cores: tuple[int, ...] = ()
    """Pin to these; empty means all."""
    one_process: bool = False
    """Threads, but no further process. CPU time of a child that its parent does not wait for is counted nowhere."""


@dataclass(frozen=True)
class LimitReached:
    name: LimitName
    value: float
    """The limit's own value, in seconds, bytes or pieces."""
    shared: bool = False
    """Whether it is one that the program and the harness have together: that of a control group around both."""

    def sentence(self) -> str:
        """What to tell whoever wrote the program.

        >>> LimitReached("memory", 4 * 10**9).sentence()
        'It was stopped: it used more memory than the limit of 4 GB.'
        """
        size = format_size(self.value)
        if self.shared:
            return (
                f"It was stopped: it and the harness used more memory than the {size} of their control group."
            )
        reasons: dict[LimitName, str] = {
            "time": f"it ran longer than the limit of {format_duration(self.value)}",
            "memory": f"it used more memory than the limit of {size}",
            "processes": f"it had more processes and threads than the limit of {self.value:.0f}",
            "disk": f"it wrote more to disk than the limit of {size}",
            "files": f"it made more files than the limit of {self.value:.0f}",
            "output": f"it printed more than the limit of {size}",
        }
        return f"It was stopped: {reasons[self.name]}."


@dataclass(frozen=True)
class Result:
    """How a program ended. Exactly one of `exit_status` and `signal` is set unless a limit stopped it."""

    exit_status: int | None
    signal: int | None
    limit: LimitReached | None
    wall_seconds: float
    cpu_seconds: float
    peak_memory: int
    output_bytes: int


OutputSink = Callable[[bytes], None]
"""Gets each chunk of standard output and standard error, in the order in which they were written."""


class Process(Protocol):
    """A program that stays while the harness talks to it (the REPL), or looks on."""

    def send(self, data: bytes) -> None:
        """Write to its standard input."""

    def receive(self, seconds: float) -> bytes | None:
        """The next message that it wrote to its control channel (descriptor in `MLAGENTBENCH_CONTROL_FD`),
        as one line without its newline. None when it ended or was stopped instead; then `wait` tells how."""

    def ended(self, seconds: float) -> bool:
        """Whether it has ended, or does so within that time."""

    def freeze(self) -> None:
        """Stop every process of it, so that nothing of it runs until `thaw`."""

    def thaw(self) -> None: ...

    def kill(self, limit: LimitReached | None = None) -> None:
        """End every process of it, because of this limit if one is named; when this returns, none is left."""

    def wait(self) -> Result:
        """How it ended; blocks until all of it is gone."""


class Sandbox(Protocol):
    """A backend. Instances are cheap, hold no open resources, and may be used from several threads."""

    name: str
    isolating: bool
    """False for `none` only."""
    own_network: bool
    """Whether programs without the host's network have a loopback of their own, rather than the host's."""
    cannot: Mapping[Promise, str]
    """The promises that this backend cannot keep, each with the reason, which follows a colon."""

    def gaps(self) -> tuple[str, ...]:
        """What this backend does not stop on this machine, one sentence each; empty where it stops all."""

    def workspace_path(self, workspace: Path) -> str:
        """Where the program sees the workspace."""

    def links_read_only(self) -> bool:
        """True where read-only places must be symbolic links in the workspace on disk (the backend cannot
        mount) rather than empty mount points."""

    def run(self, job: Job, on_output: OutputSink, stdin: bytes = b"") -> Result:
        """Start it, stream its output, hold its limits; return when no process of it is left."""

    def start(self, job: Job, on_output: OutputSink, *, talks: bool = True) -> Process:
        """Start it and leave it running, without a limit of time. One that `talks` has a pipe as its standard input
        and a control channel; any other has neither."""
