"""The process that starts the others, each by forking: all that runs need is loaded once, and a crash of one leaves
the others alone.

    python -m mlagentbench.launch.forking DESCRIPTOR

It does nothing else, so that there is next to nothing in it that could go wrong. It has one thread, since a fork copies
no other. When the experiment's own process is gone, it ends those that it started.
"""

from __future__ import annotations

import ctypes
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from pydantic import BaseModel

from mlagentbench.agent.spec import AGENTS
from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.errors import MLAgentBenchError
from mlagentbench.grading import grade
from mlagentbench.launch.forker import LARGEST
from mlagentbench.launch.orders import ORDER, Command, Message, Order
from mlagentbench.launch.work import work
from mlagentbench.record import events, request, steps, summary
from mlagentbench.sandbox import choose

_TOLD = 4_000
_GRACE = 10.0
"""Seconds to let go of a run in, before it is killed."""
_PR_SET_PDEATHSIG = 1

_PRELOADED = (
    "mlagentbench.environment.making",
    "mlagentbench.evaluation.verdicts",
    "mlagentbench.grading.grader",
    "mlagentbench.grading.stages",
    "mlagentbench.grading.trial",
    "mlagentbench.model.prices",
    "mlagentbench.model.registry",
    "mlagentbench.record.summary",
)


@dataclass(frozen=True)
class Assignment:
    """What a new process finds itself with."""

    job: int
    order: Order
    cores: tuple[int, ...]


@dataclass(frozen=True)
class _Child:
    job: int
    output: IO[bytes]


class Server:
    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._children: dict[int, _Child] = {}
        self._woken, waking = os.pipe()
        for end in (self._woken, waking):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self._selector = selectors.DefaultSelector()
        self._selector.register(channel, selectors.EVENT_READ)
        self._selector.register(self._woken, selectors.EVENT_READ)

    def serve(self) -> Assignment | None:
        """Returns in each process that it starts, with what to do there; here, when nobody wants anything any more."""
        while True:
            ready = {key.fd for key, _ in self._selector.select()}
            if self._woken in ready:
                os.read(self._woken, 65536)
                self._reap()
            if self._channel.fileno() in ready:
                try:
                    data = self._channel.recv(LARGEST)
                except ConnectionResetError:
                    data = b""
                if not data:
                    self._end_all()
                    return None
                command = Command.model_validate_json(data)
                if command.sandbox:
                    sys.path[:] = command.path
                    _load(command.sandbox, command.agents)
                elif command.order is None:
                    self._signal(command)
                elif assignment := self._start(command):
                    return assignment

    def _start(self, command: Command) -> Assignment | None:
        output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when its process is gone
        parent = os.getpid()
        pid = os.fork()
        if pid:
            self._children[pid] = _Child(command.job, output)
            return None
        self._selector.close()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _die_with(parent)
        with open(os.devnull, "rb") as nothing:
            os.dup2(nothing.fileno(), 0)
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
        return Assignment(command.job, ORDER.validate_python(command.order), command.cores)

    def _signal(self, command: Command) -> None:
        for pid, child in self._children.items():
            if command.job in (0, child.job):
                os.kill(pid, command.signal)

    def _reap(self) -> None:
        while self._children:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            child = self._children.pop(pid)
            child.output.seek(max(0, child.output.seek(0, os.SEEK_END) - _TOLD))
            said = child.output.read().decode("utf-8", "replace")
            child.output.close()
            message = Message(
                job=child.job,
                kind="gone",
                text=said,
                status=os.waitstatus_to_exitcode(status),
                cpu=usage.ru_utime + usage.ru_stime,
            )
            try:
                self._channel.send(message.model_dump_json().encode())
            except (BrokenPipeError, ConnectionResetError):
                continue  # its end is seen by whoever reads next

    def _end_all(self) -> None:
        for number in (signal.SIGINT, signal.SIGKILL):
            self._signal(Command(job=0, signal=number))
            deadline = time.monotonic() + _GRACE
            while self._children and time.monotonic() < deadline:
                self._selector.select(0.1)
                self._reap()


def _die_with(parent: int) -> None:
    """Should the process that forks be killed, nobody would wait for this one. It may have been killed already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _load(sandbox: str, agents: Sequence[str]) -> None:
    """What runs need, before the first of them."""
    own = [AGENTS[name].partition(":")[0] for name in agents if name in AGENTS and name != "langchain"]
    for module in (*_PRELOADED, *own):
        try:
            importlib.import_module(module)
        except ImportError:
            continue  # the run that needs it will say so
    try:
        choose(sandbox)
    except MLAgentBenchError:
        pass  # as above
    _build_models()
    gc.collect()
    gc.freeze()


def _build_models() -> None:
    """Types of the record are built when they are first used; here that is once for all runs."""
    all_actions()
    for module in (events, request, steps, summary, grade):
        for found in vars(module).values():
            if isinstance(found, type) and issubclass(found, BaseModel) and found is not BaseModel:
                found.model_rebuild()
    events.EVENT.validate_python({"type": "denied", "text": ""})


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    channel.set_inheritable(False)
    if assignment := Server(channel).serve():
        work(assignment.job, assignment.order, assignment.cores, channel)


if __name__ == "__main__":
    main()
