"""The experiment's side of its processes: start one, hear of it, stop it."""

from __future__ import annotations

import selectors
import signal
import sys
from collections.abc import Iterable, Iterator

from mlagentbench.errors import MLAgentBenchError
from mlagentbench.launch.forker import LARGEST, Forker
from mlagentbench.launch.orders import Command, Message, Order, as_json


class ForkerDiedError(MLAgentBenchError):
    """The process that starts the others is gone, and they with it."""


class Processes:
    def __init__(self, forker: Forker, sandbox: str, agents: Iterable[str]) -> None:
        self._forker = forker
        self._first = Command(job=0, sandbox=sandbox, agents=tuple(agents), path=tuple(sys.path))
        self._tell(self._first)

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
        with selectors.DefaultSelector() as selector:
            selector.register(self._forker.channel, selectors.EVENT_READ)
            while selector.select(seconds):
                try:
                    data = self._forker.channel.recv(LARGEST)
                except ConnectionResetError:
                    data = b""
                if not data:
                    raise ForkerDiedError("The process that starts the runs has died.")
                yield Message.model_validate_json(data)
                seconds = 0

    def start_again(self) -> None:
        """After `ForkerDiedError`."""
        self._forker.start_again()
        self._tell(self._first)

    def _tell(self, command: Command) -> None:
        try:
            self._forker.send(command.model_dump_json(exclude_defaults=True).encode())
        except (BrokenPipeError, ConnectionResetError):
            raise ForkerDiedError("The process that starts the runs has died.") from None
