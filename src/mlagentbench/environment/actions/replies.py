"""Getting one whole block of code out of a model, however long it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mlagentbench.environment.actions.fences import NoSingleBlockError, only_block
from mlagentbench.model.spec import Completion, Message

_MOST_CONTINUATIONS = 3
_CIRCLE, _ROUNDS = 200, 4
"""Characters that, seen so often, are a circle."""
_GO_ON = Path(__file__).with_name("prompts") / "go_on.txt"


def fenced_reply(ask: Callable[[list[Message]], Completion], messages: Sequence[Message]) -> tuple[str, str]:
    """What a model replies, and the one block of code in it. A reply that reaches its budget is continued; in one that
    ends by itself, the closing fence may be missing, as published."""
    asked = list(messages)
    reply = ""
    for _ in range(_MOST_CONTINUATIONS + 1):
        completion = ask(asked)
        reply += completion.text
        if completion.stop_reason != "length":
            return reply, only_block(reply, may_stay_open=completion.stop_reason == "stop")
        if _goes_in_circles(reply):
            raise NoSingleBlockError("the same lines come again and again without an end")
        asked = [
            *messages,
            Message(role="assistant", content=reply),
            Message(role="user", content=_GO_ON.read_text(encoding="utf-8").strip()),
        ]
    raise NoSingleBlockError("it is longer than the model may write")


def _goes_in_circles(text: str) -> bool:
    """Whether the end of a text that was cut off has been there several times before."""
    return len(text) > _CIRCLE * _ROUNDS and text.count(text[-_CIRCLE:]) >= _ROUNDS
