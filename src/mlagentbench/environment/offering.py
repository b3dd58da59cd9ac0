"""What a task offers to the programs of one run, and the run's own model as what they may chat with."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack

from mlagentbench.environment.desk import Desk
from mlagentbench.model.redaction import Redaction
from mlagentbench.model.spec import Completion, Message, Sampling, Tool
from mlagentbench.record.request import RunLimits
from mlagentbench.service.offering import Offer, Offered


class Chat:
    """The run's own model behind the chat endpoint: every request is recorded and counted as a call inside the action.

    It answers while an action is being performed, and at no other time; an action is over when every request that was
    passed on to the model is answered. So no call is missing from the record, and none belongs to no step. Only for a
    program that goes on over several steps, an answer may come in a later step than its question.
    """

    def __init__(self, desk: Desk, limits: RunLimits, redaction: Redaction) -> None:
        self._desk = desk
        self._redaction = redaction
        self._limits = limits
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

    def __call__(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        """Called by threads of the service, several at once. A secret that the program was given goes nowhere."""
        self._enter(with_tools=bool(tools))
        try:
            messages = [self._redaction.said(message) for message in messages]
            tools = [self._redaction.said(tool) for tool in tools]
            return self._desk.complete("tool", messages, sampling, tools)
        finally:
            with self._changed:
                self._asking -= 1
                self._changed.notify_all()

    def _enter(self, with_tools: bool) -> None:
        from mlagentbench.service.refusing import ChatRefusedError

        model = self._desk.model("tool")
        if with_tools and not model.speaks_tools:
            raise ChatRefusedError(f"{model.name} has no native tool calling; ask it in text.")
        with self._changed:
            if not self._open:
                raise ChatRefusedError("The step that asked this is over.", 503, "server_error")
            used = {
                "tokens": (self._desk.tokens, self._limits.tokens),
                "dollars": (self._desk.cost, self._limits.cost),
            }
            for name, (spent, limit) in used.items():
                if limit is not None and spent >= limit:
                    words = f"The run has used up its limit of {limit:g} {name} for models."
                    raise ChatRefusedError(words, 429, "insufficient_quota", "insufficient_quota")
            self._asking += 1


class Offering:
    """Put up when the first program of the run starts, taken down with the run."""

    def __init__(self, offer: Offer, chat: Chat | None = None) -> None:
        self._offer = offer
        self._chat = chat
        self._stack = ExitStack()
        self._offered: Offered | None = None

    def get(self) -> Offered:
        if self._offered is None:
            self._offered = self._stack.enter_context(self._offer.open(self._chat))
        return self._offered

    def begin(self) -> None:
        """A step begins: from now on, requests belong to it."""
        if self._chat is not None:
            self._chat.open()

    @property
    def asking(self) -> bool:
        return self._chat is not None and self._chat.asking

    def end(self) -> None:
        if self._chat is not None:
            self._chat.close()

    def close(self) -> None:
        self._stack.close()
        self._offered = None
