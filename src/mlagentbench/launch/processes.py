"""The experiment's side of its processes: start one, hear of it, stop it."""

from __future__ import annotations

import select
import signal
import sys
from collections import deque
from collections.abc import Iterable, Iterator

from mlagentbench.errors import MLAgentBenchError
from mlagentbench.launch.forker import LARGEST, Forker
from mlagentbench.launch.orders import Command, Message, Order, as_json

_MOST_DEATHS = 5
"""Of the process that starts the others, one after the other, without anything having been done in between."""


class ForkerDiedError(MLAgentBenchError):
    """The process that starts the others died again and again."""


class Processes:
    """The process that starts the others may die at any moment, and takes them along. It is then started again, and
    each job that was going on is told of as `lost`."""

    def __init__(self, forker: Forker, sandbox: str, agents: Iterable[str]) -> None:
        self._forker = forker
        self._first = Command(job=0, sandbox=sandbox, agents=tuple(agents), path=tuple(sys.path))
        self._going_on: set[int] = set()
        self._heard: deque[Message] = deque()
        """Read while something was to be told, and not yet given to anybody."""
        self._deaths = 0
        self._tell(self._first)

    def start(self, job: int, order: Order, cores: tuple[int, ...]) -> None:
        self._going_on.add(job)
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
        while self._heard or self._ready(select.POLLIN, seconds):
            message = self._heard.popleft() if self._heard else self._receive()
            if message is None:
                yield from self._start_again()
                return
            if message.kind == "gone":
                self._going_on.discard(message.job)
            elif message.kind == "ending":
                self._deaths = 0
            yield message
            seconds = 0

    def _receive(self) -> Message | None:
        """The next message; None when all processes are gone, so that nothing more can come."""
        while True:
            try:
                data = self._forker.channel.recv(LARGEST)
            except ConnectionResetError:
                continue  # told once; what was sent before can still be read
            return Message.model_validate_json(data) if data else None

    def _start_again(self) -> Iterator[Message]:
        lost, self._going_on = sorted(self._going_on), set()
        self._deaths += 1
        if self._deaths >= _MOST_DEATHS:
            raise ForkerDiedError(
                f"The process that starts the runs died {self._deaths} times, and nothing was done in between. Look "
                "for what kills it, such as too little memory; then give the same command again."
            )
        self._forker.start_again()
        self._tell(self._first)
        for job in lost:
            yield Message(job=job, kind="lost")

    def _tell(self, command: Command) -> None:
        """What cannot be told, because nobody is left, need not be: `messages` finds that out. It is not waited for
        without reading, since the other side may be waiting for that."""
        data = command.model_dump_json(exclude_defaults=True).encode()
        while not self._forker.send(data):
            if self._ready(select.POLLIN | select.POLLOUT) & ~select.POLLOUT:
                message = self._receive()
                if message is None:
                    return
                self._heard.append(message)

    def _ready(self, events: int, seconds: float | None = None) -> int:
        """Which of the events the channel is ready for, after waiting for so long at most."""
        poll = select.poll()
        poll.register(self._forker.channel, events)
        found = poll.poll(None if seconds is None else seconds * 1000)
        return found[0][1] if found else 0
