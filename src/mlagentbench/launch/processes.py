"""The experiment's side of its processes: start one, hear of it, stop it."""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from mlagentbench.errors import MLAgentBenchError
from mlagentbench.launch.forking import LARGEST
from mlagentbench.launch.orders import Command, Message, Order, as_json


class ForkerDiedError(MLAgentBenchError):
    """The process that starts the others is gone, and they with it."""


class Processes:
    """In a session of their own, so that Ctrl-C in a terminal reaches the experiment alone, which then tells them."""

    def __init__(self, sandbox: str, agents: Iterable[str]) -> None:
        self._sandbox = sandbox
        self._agents = list(agents)
        self._start()

    def _start(self) -> None:
        own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (own, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST)
        argv = [
            sys.executable,
            "-P",
            "-m",
            "mlagentbench.launch.forking",
            str(theirs.fileno()),
            self._sandbox,
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
            "PYDANTIC_DISABLE_PLUGINS": os.environ.get("PYDANTIC_DISABLE_PLUGINS", "__all__"),
        }
        with theirs:
            self._forker = subprocess.Popen(
                [*argv, *self._agents],
                stdin=subprocess.DEVNULL,
                env=environment,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._channel = own
        self._selector = selectors.DefaultSelector()
        self._selector.register(own, selectors.EVENT_READ)

    def start(self, job: int, order: Order, cores: tuple[int, ...]) -> None:
        self._tell(Command(job=job, order=as_json(order), cores=cores))

    def stop_soon(self) -> None:
        """Let each finish the step in hand."""
        self._tell(Command(job=0, signal=signal.SIGTERM))

    def stop_now(self) -> None:
        self._tell(Command(job=0, signal=signal.SIGINT))

    def kill(self) -> None:
        self._tell(Command(job=0, signal=signal.SIGKILL))

    def messages(self, seconds: float) -> Iterator[Message]:
        """What they told, after waiting for so long at most."""
        while self._selector.select(seconds):
            try:
                data = self._channel.recv(LARGEST)
            except ConnectionResetError:
                data = b""
            if not data:
                raise ForkerDiedError("The process that starts the runs has died.")
            yield Message.model_validate_json(data)
            seconds = 0

    def start_again(self) -> None:
        """After `ForkerDiedError`."""
        self.close()
        self._start()

    def _tell(self, command: Command) -> None:
        try:
            self._channel.send(command.model_dump_json().encode())
        except (BrokenPipeError, ConnectionResetError):
            raise ForkerDiedError("The process that starts the runs has died.") from None

    def close(self) -> None:
        """End all that still lives."""
        self._selector.close()
        self._channel.close()
        self._forker.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
