"""How a backend tells the supervisor what to start.

Every backend starts its program the same way. Inside, something small (a shell, or the fallback's launcher)
writes `READY` to the output once the walls stand, and waits for a line on standard input. In between, the
supervisor puts limits on it from outside, so that not one instruction of the program runs without them. If
the harness dies in that moment, the line never comes and nothing runs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from mlagentbench.sandbox import limits
from mlagentbench.sandbox.spec import Job
from mlagentbench.sandbox.tree import Descendants, Namespace, Tree

READY = b"\x06"
GO = b"\n"
CONTROL_VARIABLE = "MLAGENTBENCH_CONTROL_FD"

SHELL_GATE = (
    'printf "\\006"; IFS= read -r go || exit 125; exec 3>&2 2>/dev/null; (exec 2>&3 3>&-; exec "$@"); exit $?'
)
"""Waits to be let go, then is parent and reaper of the program. Its own words about a killed child go
nowhere."""
CONTROL_THROUGH_FIFO = 9
SHELL_GATE_FIFO = f'exec {CONTROL_THROUGH_FIFO}>"$1"; shift; {SHELL_GATE}'
"""The same where no descriptor can be passed on: the control channel is a named pipe, the first argument."""
SHELL_GATE_EXEC = 'printf "\\006"; IFS= read -r go || exit 125; exec "$@"'
"""The same, but becomes the program."""


@dataclass(frozen=True)
class Handle:
    """What the supervisor knows of a program that it started."""

    outer: int
    """The process that the harness started and waits for."""
    root: int
    """The first process inside; the same as `outer` where there is no inside."""
    root_descriptor: int | None
    """A pidfd of `root`; None on systems without."""


@dataclass(frozen=True)
class Confinement:
    """How the processes of a program are found and ended; one for each kind of backend."""

    end: Callable[[Handle], None]
    """Send the end to all of them. The supervisor then waits for `outer`."""
    tree: Callable[[Handle], Tree]
    memory_folders: Callable[[Handle], tuple[str, ...]] = lambda handle: ()
    overhead: int = 0
    """Processes of the tree that are ours."""
    counts: limits.Counting = "nothing"
    """Whose processes the kernel counts together."""
    root_belongs: bool = True
    """Whether everything is below the root; otherwise orphans fall to `outer`, which is ours."""
    pause: Callable[[], None] | None = None
    """How an engine freezes all of it, where signals from here do not reach it; and how it thaws it."""
    resume: Callable[[], None] = lambda: None
    holds_limits: bool = False
    """True where an engine holds memory and processes, and nothing can be put on them from outside."""
    finish: Callable[[], str | None] = lambda: None
    """After the end: tidy up; returns `memory` if the engine says that this limit ended it."""


@dataclass
class Channels:
    """Descriptors made for one start. What is registered with `stack` is closed once the program is
    running."""

    status: int
    control: int | None
    stack: ExitStack = field(default_factory=ExitStack)
    later: ExitStack = field(default_factory=ExitStack)
    """Closed when the program has ended."""

    def data(self, content: bytes) -> int:
        """A descriptor from which `content` can be read."""
        reader, writer = os.pipe()
        self.stack.callback(os.close, reader)
        with os.fdopen(writer, "wb") as file:
            file.write(content)
        return reader


@dataclass(frozen=True)
class Launch:
    """One start, as a command line."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    confinement: Confinement
    descriptors: tuple[int, ...] = ()
    folder: Path = Path("/")
    counted: tuple[Path, ...] = ()
    """Folders on disk, beside the workspace, that it can write to."""
    reports: bool = True
    """Whether the first process and the exit status are told on the status descriptor."""
    tells_signals_as_status: bool = True
    """Whether an exit status of 128 and more stands for a signal."""


class Planner(Protocol):
    def __call__(self, job: Job, channels: Channels) -> Launch: ...


def _end_namespace(handle: Handle) -> None:
    """The kernel ends a PID namespace with its first process; the outer process reaps that one and ends
    too."""
    _send(handle.root_descriptor, handle.root, signal.SIGKILL)


def _end_by_launcher(handle: Handle) -> None:
    """The launcher is the reaper of every orphan; it alone can tell that none is left."""
    _send(None, handle.outer, signal.SIGTERM)


def _end_group(handle: Handle) -> None:
    try:
        os.killpg(handle.outer, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _send(descriptor: int | None, pid: int, number: signal.Signals) -> None:
    try:
        if descriptor is None:
            os.kill(pid, number)
        else:
            signal.pidfd_send_signal(descriptor, number)
    except ProcessLookupError:
        pass


def _namespace_folders(handle: Handle) -> tuple[str, ...]:
    return (f"/proc/{handle.root}/root/tmp", f"/proc/{handle.root}/root/dev/shm")


NAMESPACE = Confinement(
    end=_end_namespace,
    tree=lambda handle: Namespace(handle.root),
    memory_folders=_namespace_folders,
    overhead=1,
    counts="sandbox",
)
LAUNCHER = Confinement(
    end=_end_by_launcher,
    tree=lambda handle: Descendants(handle.outer, inclusive=False),
    counts="user",
    root_belongs=False,
)
GROUP = Confinement(end=_end_group, tree=lambda handle: Descendants(handle.outer, inclusive=True))
