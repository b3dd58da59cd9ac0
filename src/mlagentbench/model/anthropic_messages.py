"""Anthropic's messages: the constant part of the prompt cached, tools, stop sequences, models that think."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from mlagentbench.model.faults import Fault, retry_after
from mlagentbench.model.hosted import (
    Answer,
    HostedModel,
    RequestFailedError,
    ToolNames,
    as_object,
)
from mlagentbench.model.http_client import connection_fault, http_client
from mlagentbench.model.keys import need_key
from mlagentbench.model.options import ModelOptions
from mlagentbench.model.spec import Message, Sampling, StopReason, Tool, ToolCall, Usage
from mlagentbench.validation import problems_of

_VERSION_WITH_TEMPERATURE = "2023-06-01"
"""The newer API version, which the client library asks for, has no temperature; the older one still takes it, for the
models that do. The models that do not say so, and are then spoken to in the newer version."""
_CACHED = {"type": "ephemeral"}
_NOTHING = "(nothing)"
"""The API refuses empty texts."""
_STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "refused",
}


class AnthropicModel(HostedModel):
    key_variable = "ANTHROPIC_API_KEY"

    def __init__(self, options: ModelOptions) -> None:
        from anthropic import Anthropic

        super().__init__(options)
        key = need_key("anthropic", self.key_variable).value
        self._client = Anthropic(
            api_key=key,
            base_url=options.base_url,
            max_retries=0,
            timeout=options.timeout,
            http_client=http_client(options.timeout),
            default_headers={"x-api-key": key},
            open_telemetry=False,
        )

    def _settings(self, sampling: Sampling, tools: Sequence[Tool]) -> Mapping[str, tuple[str, ...]]:
        return {
            setting: names
            for setting, names, sent in (
                ("temperature", ("temperature",), sampling.temperature is not None),
                ("stop", ("stop_sequences",), bool(sampling.stop)),
                ("json_schema", ("output_config", "output_format"), sampling.json_schema is not None),
                ("tools", ("tools",), bool(tools)),
                ("one_call", ("disable_parallel_tool_use", "tool_choice"), bool(tools)),
            )
            if sent
        }

    def _unknown_here(self, sampling: Sampling) -> Iterator[str]:
        if sampling.seed is not None:
            yield f"Seed {sampling.seed} was left out: Anthropic's API has no seeds."

    def _ask(self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool]) -> Answer:
        import anthropic

        names = ToolNames([tool.name for tool in tools])
        body = self._body(messages, sampling, tools, names)
        extra: dict[str, Any] = dict(self._options.extra)
        headers: dict[str, str] = {}
        if sampling.temperature is not None and "temperature" not in self._refused:
            extra["temperature"] = sampling.temperature
            headers["anthropic-version"] = _VERSION_WITH_TEMPERATURE
        try:
            raw = self._client.messages.with_raw_response.create(
                **body, extra_body=extra, extra_headers=headers
            )
        except anthropic.APIStatusError as error:
            response = error.response
            words = f"{error.api_message or error.message} [{error.type}]"
            raise RequestFailedError(
                Fault(words, response.status_code, retry_after(response.headers))
            ) from None
        except anthropic.APIConnectionError as error:
            raise RequestFailedError(connection_fault(error)) from None
        return _answer(raw.http_response.content, names)

    def _body(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool], names: ToolNames
    ) -> dict[str, Any]:
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        body: dict[str, Any] = {
            "model": self._options.name,
            "max_tokens": sampling.max_tokens,
            "messages": _turns(messages, names),
        }
        if tools:
            body["tools"] = [
                {
                    "name": names.wire(tool.name),
                    "description": tool.description,
                    "input_schema": {"type": "object"} | tool.parameters,
                }
                for tool in tools
            ]
            if "one_call" not in self._refused:
                body["tool_choice"] = {"type": "auto", "disable_parallel_tool_use": True}
        if system:
            # Tools come before the system prompt in the cached prefix, so that one mark covers both.
            body["system"] = [{"type": "text", "text": system, "cache_control": _CACHED}]
        elif tools:
            body["tools"][-1]["cache_control"] = _CACHED
        if sampling.stop and "stop" not in self._refused:
            body["stop_sequences"] = list(sampling.stop)
        if sampling.json_schema is not None and "json_schema" not in self._refused:
            body["output_config"] = {"format": {"type": "json_schema", "schema": sampling.json_schema}}
        return body


def _turns(messages: Sequence[Message], names: ToolNames) -> list[dict[str, Any]]:
    """User and assistant in turn; the results of tools that were called together must be in one turn.

    What a model thought is not sent back. It may be left out, and models bind it to the exact conversation before it,
    which agents that keep only the last steps change.
    """
    turns: list[dict[str, Any]] = []
    for message in messages:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = _blocks(message, names)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        else:
            turns.append({"role": role, "content": blocks})
    return turns or [{"role": "user", "content": [{"type": "text", "text": _NOTHING}]}]


def _blocks(message: Message, names: ToolNames) -> list[dict[str, Any]]:
    if message.role == "tool":
        return [
            {
                "type": "tool_result",
                "tool_use_id": message.tool_call_id,
                "content": message.content or _NOTHING,
            }
        ]
    blocks: list[dict[str, Any]] = []
    if message.content.strip() or not message.tool_calls:
        blocks.append({"type": "text", "text": message.content if message.content.strip() else _NOTHING})
    for call in message.tool_calls:
        blocks.append(
            {
                "type": "tool_use",
                "id": call.id,
                "name": names.wire(call.name),
                "input": as_object(call.arguments),
            }
        )
    return blocks


class _Block(BaseModel):
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, Any] = {}


class _Details(BaseModel):
    thinking_tokens: int | None = None


class _Counts(BaseModel):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens_details: _Details | None = None


class _Reply(BaseModel):
    type: Literal["message"] = "message"
    content: list[_Block]
    model: str = ""
    stop_reason: str | None = None
    usage: _Counts = _Counts()


def _answer(content: bytes, names: ToolNames) -> Answer:
    try:
        reply = _Reply.model_validate_json(content)
    except ValidationError as error:
        said = content[-80:].decode("utf-8", "replace")
        wrong = problems_of(error, _Reply)[0].rstrip(".")
        raise RequestFailedError(
            Fault(f"what it sent is not a message ({wrong}): {said!r}", kind="unreadable")
        ) from None
    usage = reply.usage
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    details = usage.output_tokens_details or _Details()
    return Answer(
        text="".join(block.text for block in reply.content if block.type == "text"),
        tool_calls=tuple(
            ToolCall(
                id=block.id,
                name=names.back(block.name),
                arguments=json.dumps(block.input, ensure_ascii=False),
            )
            for block in reply.content
            if block.type == "tool_use"
        ),
        usage=Usage(
            input=(usage.input_tokens or 0) + read + written,
            output=usage.output_tokens or 0,
            cached=read,
            cache_written=written,
            reasoning=details.thinking_tokens or 0,
        ),
        stop_reason=_STOP_REASONS.get(reply.stop_reason or "", "stop"),
        model=reply.model,
        ended_at_stop=reply.stop_reason == "stop_sequence",
    )
