"""What every way of speaking with a model has in common: what was decided, or why a reply could not be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from mlagentbench.model.spec import Completion, Message, Sampling, Tool, ToolCall
from mlagentbench.record import Action

ProtocolName = Literal["text", "tools", "json"]

ACTION = "Action"
ACTION_INPUT = "Action Input"


@dataclass(frozen=True)
class Decision:
    """What a model decided, with the entries that led to it, by name."""

    entries: Mapping[str, str]
    action: Action
    call: ToolCall | None = None
    """What asked for the action, where it was a native tool call: some providers want parts of it back."""
    written: str | None = None
    """The action's input as the model wrote it, where it is not a JSON object. The observation states the reason."""


@dataclass(frozen=True)
class FormatError:
    """A reply that could not be used. The sentence is told to the model."""

    sentence: str


@dataclass(frozen=True)
class Vocabulary:
    """What replies are made of."""

    entries: tuple[str, ...]
    """Those before the action, in order."""
    shown: tuple[str, ...]
    """Actions that the model is told of."""
    accepted: tuple[str, ...]
    """Actions that it may name."""
    offered: tuple[str, ...] = ()
    """Those that it may choose from now; none: any."""
    short: bool = False
    """Whether the prompts are the short ones."""
    entry_limit: int | None = None
    """Characters of one entry, where decoding is constrained."""


@dataclass(frozen=True)
class Past:
    """A step as the model is reminded of it."""

    index: int
    decision: Decision
    observation: str


class Speech(Protocol):
    """One way of speaking with a model."""

    @property
    def tools(self) -> tuple[Tool, ...]: ...

    def instructions(self) -> str:
        """The last part of the system prompt: which actions there are, and how to reply."""

    def sampling(self, sampling: Sampling) -> Sampling:
        """With what this way of speaking adds to it."""

    def show(self, past: Past) -> list[Message]:
        """A step as turns of the conversation."""

    def read(self, completion: Completion) -> Decision | FormatError: ...

    def refuse(self, completion: Completion, told: str) -> list[Message]:
        """A reply that could not be used, and what the model is told about it."""


def unknown_action(name: str, vocabulary: Vocabulary) -> FormatError | None:
    """Why an action cannot be named so; None if it can."""
    if name in vocabulary.accepted:
        return None
    shown = ", ".join(vocabulary.shown)
    return FormatError(f"There is no action {name[:100]!r}. The actions are: {shown}.")
