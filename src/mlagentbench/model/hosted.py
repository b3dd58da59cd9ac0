"""What all models behind a server have in common: one request, its faults, and settings that a model will not take."""

from __future__ import annotations

import fnmatch
import json
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mlagentbench.model.bounds import bounded
from mlagentbench.model.errors import RefusedError, UnavailableError
from mlagentbench.model.faults import Fault, error_of, quote, refused_setting
from mlagentbench.model.http_client import ReplyRefusedError, connection_fault
from mlagentbench.model.keys import without_keys
from mlagentbench.model.options import ModelOptions
from mlagentbench.model.spec import Completion, Message, Sampling, StopReason, Tool, ToolCall, Usage
from mlagentbench.model.waiting import TimeIsUpError, still_wanted, watched

_GRACE = 1.0
"""Seconds for a client to say itself what it waited for."""
_LONGEST_NAME = 200
_WITHOUT_TOOLS = (
    "anthropic/claude-v1*", "anthropic/claude-1*", "anthropic/claude-2*", "anthropic/claude-instant*",
    "openai/gpt-4-0314", "openai/gpt-4-32k-0314", "openai/gpt-3.5-turbo-0301",
)  # fmt: skip
"""Models older than native tool calling; of others it shows when they are asked."""
"""Characters of what a server calls its model."""


class RequestFailedError(Exception):
    """A request failed; only inside this package, where it becomes a typed error."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.words)
        self.fault = fault


@dataclass(frozen=True)
class Answer:
    """What one request brought back."""

    text: str
    usage: Usage
    stop_reason: StopReason
    model: str
    tool_calls: tuple[ToolCall, ...] = ()
    ended_at_stop: bool = False
    """The provider says that it met a stop sequence, so that an empty text is an answer."""


class HostedModel(ABC):
    """A model behind a server. A subclass writes the request and reads the reply; everything else is here.

    A setting that the model refuses is left out from then on, and the completion says so: the same call works with
    every model, and nobody takes a result for one of a setting that was never in force.

    Where the provider has a switch for it (`one_call`), a model is told to call one tool at a time: an agent takes one
    action a reply.
    """

    key_variable: str
    """Where the user keeps the key, for messages."""
    most_stops: int | None = None
    """How many stop sequences the API takes; None for any number."""

    def __init__(self, options: ModelOptions) -> None:
        self.name = options.full_name
        self._options = options
        self._refused: dict[str, str] = {}
        self.address = options.base_url or ""
        """Where the server is, for messages; empty for the provider's own."""

    @property
    def elsewhere(self) -> bool:
        """Whether the user named the server."""
        return bool(self._options.base_url)

    @property
    def speaks_tools(self) -> bool:
        known_without = any(fnmatch.fnmatchcase(self.name, pattern) for pattern in _WITHOUT_TOOLS)
        return "tools" not in self._refused and not known_without

    @abstractmethod
    def _ask(self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool]) -> Answer:
        """One request, without the settings in `_refused`; RequestFailedError where it fails."""

    @abstractmethod
    def _settings(self, sampling: Sampling, tools: Sequence[Tool]) -> Mapping[str, tuple[str, ...]]:
        """The settings that this call sends, each with the names by which the provider may speak of it."""

    def _unknown_here(self, sampling: Sampling) -> Iterator[str]:
        """Settings that this provider's API does not have at all, in words."""
        return iter(())

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        started = begun = time.monotonic()
        while True:
            still_wanted()
            try:
                answer = self._ask_in_time(messages, sampling, tools)
                break
            except RequestFailedError as failure:
                fault = failure.fault
            except ReplyRefusedError as refused:
                fault = connection_fault(refused)
            self._leave_out_or_raise(fault, sampling, tools)
            begun = time.monotonic()
        ended = time.monotonic()
        said, answer = answer, _without_keys(answer)
        text, was_cut = cut_at(answer.text, sampling.stop)
        stop_reason = "stop" if was_cut and answer.stop_reason == "length" else answer.stop_reason
        if (
            not text
            and not answer.tool_calls
            and stop_reason == "stop"
            and not (was_cut or answer.ended_at_stop)
        ):
            raise UnavailableError(f"{self.name} gave an empty completion.")
        notes = [*self._notes(sampling, tools), *self._unknown_here(sampling)]
        if answer != said:
            notes.append("A key stood in the reply and was taken out.")
        if not text and stop_reason == "length" and answer.usage.reasoning:
            notes.append(
                f"All of the {sampling.max_tokens} output tokens went into hidden reasoning; give it a larger budget."
            )
        completion = Completion(
            text=text,
            tool_calls=answer.tool_calls,
            usage=answer.usage,
            stop_reason=stop_reason,
            model=(answer.model or self._options.name)[:_LONGEST_NAME],
            latency=ended - begun,
            waited=begun - started,
            notes=tuple(notes),
        )
        return bounded(completion, messages, sampling, tools)

    def _ask_in_time(self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool]) -> Answer:
        """Clients bound each part of a reply; this bounds the whole, its head too, which may come drop by drop."""
        until = time.monotonic() + self._options.timeout + _GRACE
        try:
            return watched(lambda: self._ask(messages, sampling, tools), self.name, until=until)
        except TimeIsUpError:
            raise RequestFailedError(
                Fault(f"the reply did not end within {self._options.timeout:g} seconds")
            ) from None

    def _leave_out_or_raise(self, fault: Fault, sampling: Sampling, tools: Sequence[Tool]) -> None:
        error = error_of(fault, self.name, self.key_variable)
        if type(error) is RefusedError and fault.status in (400, 422):
            sent = {
                name: words
                for name, words in self._settings(sampling, tools).items()
                if name not in self._refused
            }
            if setting := refused_setting(fault.words, sent):
                self._refused[setting] = quote(fault.words)
                if setting != "tools":
                    return
                error = RefusedError(f"{error} It takes no tools: use the text protocol with it.")
        raise error from None

    def _notes(self, sampling: Sampling, tools: Sequence[Tool]) -> Iterator[str]:
        refused = self._refused
        if "temperature" in refused and sampling.temperature is not None:
            yield (
                f"Temperature {sampling.temperature:g} was left out: the model does not take it "
                f"({refused['temperature']})."
            )
        if "stop" in refused and sampling.stop:
            yield f"Stop sequences were applied here: the model does not take them ({refused['stop']})."
        elif self.most_stops is not None and len(sampling.stop) > self.most_stops:
            yield f"The API takes {self.most_stops} stop sequences; the others were applied here."
        if "seed" in refused and sampling.seed is not None:
            yield f"Seed {sampling.seed} was left out: the model does not take it ({refused['seed']})."
        if "json_schema" in refused and sampling.json_schema is not None:
            yield f"The JSON schema was left out: the model does not take it ({refused['json_schema']})."
        if "one_call" in refused and tools:
            yield f"It was not told to call one tool at a time: it does not take that ({refused['one_call']})."


def _without_keys(answer: Answer) -> Answer:
    """A server, or what stands between it and us, may say the key that it was sent; no record may."""
    return replace(
        answer,
        text=without_keys(answer.text),
        model=without_keys(answer.model),
        tool_calls=tuple(
            call.model_copy(update={field: without_keys(said) for field, said in call})
            for call in answer.tool_calls
        ),
    )


def cut_at(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """`text` up to the first stop sequence in it, and whether there was one."""
    ends = [at for sequence in stop if sequence and (at := text.find(sequence)) >= 0]
    return (text[: min(ends)], True) if ends else (text, False)


class ToolNames:
    """Names of actions as providers take them (letters, digits, `_`, `-`), and back."""

    def __init__(self, names: Sequence[str]) -> None:
        self._wire: dict[str, str] = {}
        for name in names:
            self.wire(name)

    def wire(self, name: str) -> str:
        if name not in self._wire:
            plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_")[:60] or "tool"
            taken = set(self._wire.values())
            free = (plain if n == 1 else f"{plain}_{n}" for n in range(1, len(taken) + 2))
            self._wire[name] = next(candidate for candidate in free if candidate not in taken)
        return self._wire[name]

    def back(self, wire: str) -> str:
        return next((name for name, other in self._wire.items() if other == wire), wire)


def as_object(arguments: str) -> dict[str, Any]:
    """The arguments of a call for APIs that want an object; what the model wrote wrongly is kept as a text in one."""
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": arguments}
