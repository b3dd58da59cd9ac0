"""What passes between a language model and everything else. Nothing here knows of tasks, runs or agents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

Role = Literal["system", "user", "assistant", "tool"]
StopReason = Literal["stop", "length", "tool_calls", "refused"]
"""It ended by itself or at a stop sequence; the output budget was used up; it wants tools; it would not answer."""


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True)


class ToolCall(_Kept):
    """An action that a model asked for by native tool calling. `arguments` is the JSON text as the model wrote it,
    which may be wrong."""

    id: str
    name: str
    arguments: str
    signature: str = ""
    """What the provider wants back with this call, unread; hand it on as it came."""


class Message(_Kept):
    """One turn. `tool_calls` only from the assistant, `tool_call_id` only on the answer to one."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


class Tool(_Kept):
    """An action as native tool calling describes it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Usage(_Kept):
    """Tokens by the provider's own count. `input` includes the cached ones, `output` includes the hidden reasoning."""

    input: int = 0
    output: int = 0
    cached: int = 0
    """Of the input, read from the provider's cache."""
    cache_written: int = 0
    """Of the input, newly put into the provider's cache."""
    reasoning: int = 0
    """Of the output, thoughts that are not in the text."""
    estimated: bool = False
    """Whether any of it was counted here from the text, because the provider's own count is missing or wrong."""

    @property
    def counts(self) -> tuple[int, ...]:
        return (self.input, self.output, self.cached, self.cache_written, self.reasoning)

    def __add__(self, other: Usage) -> Usage:
        read, written, cached, cache_written, reasoning = map(
            sum, zip(self.counts, other.counts, strict=True)
        )
        return Usage(
            input=read,
            output=written,
            cached=cached,
            cache_written=cache_written,
            reasoning=reasoning,
            estimated=self.estimated or other.estimated,
        )


class Sampling(_Kept):
    """How a completion is made: the same for every provider unless the user says otherwise."""

    max_tokens: int = Field(2000, ge=1)
    temperature: float | None = Field(0.5, ge=0)
    """None: not sent, for models that refuse it."""
    stop: tuple[str, ...] = ()
    seed: int | None = None
    json_schema: dict[str, Any] | None = None
    """Constrain the text to JSON of this schema, where the provider can."""


class Request(_Kept):
    """What a model is asked, as a record keeps it."""

    messages: tuple[Message, ...]
    sampling: Sampling
    tools: tuple[Tool, ...] = ()


class Completion(_Kept):
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage
    stop_reason: StopReason
    model: str
    """The name by which the provider called the model that answered."""
    latency: float
    """Seconds of the request that succeeded."""
    waited: float = 0.0
    """Seconds spent on failed requests and on waiting between them."""
    retries: tuple[str, ...] = ()
    """What each failed request before it failed with, one sentence each."""
    notes: tuple[str, ...] = ()
    """Settings that the model did not take, in words."""


class Model(Protocol):
    """A language model: messages in, text and usage out. One instance may be used from several threads."""

    name: str
    """`provider/name`."""

    @property
    def speaks_tools(self) -> bool:
        """Whether native tool calling works with it."""

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        """One completion, or a typed error of `mlagentbench.model.errors`."""
