"""What a task offers to the programs of one run, and the run's own model as what they may chat with."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from mlagentbench.environment.desk import Desk
from mlagentbench.model.redaction import Redaction
from mlagentbench.model.spec import Completion, Message, Sampling, Tool
from mlagentbench.service.offering import Offer, Offered


class Gate:
    """Lets requests of programs pass while an action is performed, and at no other time.

    An action is over when every request that passed is answered. So nothing is worked on between steps, no call is
    missing from the record, and none belongs to no step. Only for a program that goes on over several steps, an answer
    may come in a later step than its question.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open = False
        self._asking = 0

    def open(self) -> None:
        with self._changed:
            self._open = True

    def close(self) -> None:
        """Take no more requests, and wait for those that were taken."""
        with self._changed:
            self._open = False
            while self._asking:
                self._changed.wait()

    @property
    def asking(self) -> bool:
        """Whether a request is under way that `close` would wait for."""
        return self._asking > 0

    @contextmanager
    def passing(self) -> Iterator[None]:
        """For one request; called by threads of the service, several at once."""
        with self._changed:
            if not self._open:
                from mlagentbench.service.refusing import ChatRefusedError

                raise ChatRefusedError("The step that asked this is over.", 503, "server_error")
            self._asking += 1
        try:
            yield
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()


class StandInChat(Gate):
    """The stand-in behind the chat endpoint."""

    def __call__(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        from mlagentbench.service.standin import StandIn

        with self.passing():
            return StandIn()(messages, sampling)


class Chat(Gate):
    """The run's own model behind the chat endpoint. Each request is recorded and counted as a call of the action, and a
    secret that the program was given goes nowhere."""

    def __init__(self, desk: Desk, redaction: Redaction) -> None:
        super().__init__()
        self._desk = desk
        self._redaction = redaction

    def __call__(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        from mlagentbench.service.refusing import ChatRefusedError

        model = self._desk.model("tool")
        if tools and not model.speaks_tools:
            raise ChatRefusedError(f"{model.name} has no native tool calling; ask it in text.")
        with self.passing():
            messages = [self._redaction.said(message) for message in messages]
            tools = [self._redaction.said(tool) for tool in tools]
            return self._desk.complete("tool", messages, sampling, tools)


class Offering:
    """Put up when the first program of the run starts, taken down with the run."""

    def __init__(self, offer: Offer, chat: Chat | None = None) -> None:
        self._offer = offer
        self._chat = chat
        self._stand_in = StandInChat()
        self._gate: Gate = chat or self._stand_in
        self._stack = ExitStack()
        self._offered: Offered | None = None

    def get(self) -> Offered:
        if self._offered is None:
            self._offered = self._stack.enter_context(self._offer.open(self._chat, self._stand_in))
        return self._offered

    def begin(self) -> None:
        """A step begins: from now on, requests belong to it."""
        self._gate.open()

    @property
    def asking(self) -> bool:
        return self._chat is not None and self._chat.asking

    def end(self) -> None:
        self._gate.close()

    def close(self) -> None:
        self._stack.close()
        self._offered = None
