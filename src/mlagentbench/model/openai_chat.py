"""OpenAI's chat completions, and every server that speaks them: presets for the common ones."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from mlagentbench.model.faults import Fault, retry_after
from mlagentbench.model.hosted import Answer, HostedModel, RequestFailedError, ToolNames
from mlagentbench.model.http_client import connection_fault, http_client
from mlagentbench.model.keys import Key, find_key, need_key
from mlagentbench.model.options import ModelOptions, check_base_url
from mlagentbench.model.spec import Message, Sampling, StopReason, Tool, ToolCall, Usage
from mlagentbench.validation import problems_of

_BUDGETS = ("max_completion_tokens", "max_tokens")
_FIELDS = {"json_schema": "response_format", "one_call": "parallel_tool_calls"}
"""Where a setting is in a request, if not under its own name."""
_STOP_REASONS: dict[str, StopReason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "refused",
}


@dataclass(frozen=True)
class Preset:
    """A server that speaks chat completions: where it is, and the variable that holds its key."""

    base_url: str
    key_variable: str
    needs_key: bool = False


PRESETS = {
    "openai": Preset("https://api.openai.com/v1", "OPENAI_API_KEY", needs_key=True),
    "ollama": Preset("http://127.0.0.1:11434/v1", "OLLAMA_API_KEY"),
    "vllm": Preset("http://127.0.0.1:8000/v1", "VLLM_API_KEY"),
    "llamacpp": Preset("http://127.0.0.1:8080/v1", "LLAMA_API_KEY"),
    "together": Preset("https://api.together.ai/v1", "TOGETHER_API_KEY", needs_key=True),
    "openrouter": Preset("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", needs_key=True),
}
"""`OLLAMA_BASE_URL` and the like, or `--base-url`, name another address; a key is asked for only at the own one."""


class OpenAIModel(HostedModel):
    most_stops = 4

    def __init__(self, options: ModelOptions) -> None:
        from openai import OpenAI

        super().__init__(options)
        preset = PRESETS[options.provider]
        self.key_variable = preset.key_variable
        variable = f"{options.provider.upper()}_BASE_URL"
        elsewhere = options.base_url or check_base_url(os.environ.get(variable), variable)
        self.address = elsewhere or preset.base_url
        if preset.needs_key and not elsewhere:
            key = need_key(options.provider, preset.key_variable)
        else:
            key = find_key(preset.key_variable) or Key("none")
        self._budgets = _BUDGETS if options.provider == "openai" and not elsewhere else _BUDGETS[::-1]
        self._client = OpenAI(
            api_key=key.value,
            base_url=elsewhere or preset.base_url,
            max_retries=0,
            timeout=options.timeout,
            http_client=http_client(options.timeout),
        )

    def _settings(self, sampling: Sampling, tools: Sequence[Tool]) -> Mapping[str, tuple[str, ...]]:
        return {self._budget: (self._budget,)} | {
            setting: names
            for setting, names, sent in (
                ("temperature", ("temperature",), sampling.temperature is not None),
                ("stop", ("stop",), bool(sampling.stop)),
                ("seed", ("seed",), sampling.seed is not None),
                ("json_schema", ("response_format", "json_schema"), sampling.json_schema is not None),
                ("tools", ("tools", "tool use", "tool_choice"), bool(tools)),
                ("one_call", ("parallel_tool_calls",), bool(tools)),
            )
            if sent
        }

    @property
    def _budget(self) -> str:
        return next((field for field in self._budgets if field not in self._refused), self._budgets[-1])

    def _ask(self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool]) -> Answer:
        import openai

        names = ToolNames([tool.name for tool in tools])
        body = self._body(messages, sampling, tools, names)
        try:
            raw = self._client.chat.completions.with_raw_response.create(
                **body, extra_body=dict(self._options.extra)
            )
        except openai.APIStatusError as error:
            response = error.response
            raise RequestFailedError(
                Fault(_words(error), response.status_code, retry_after(response.headers))
            ) from None
        except openai.APIConnectionError as error:
            raise RequestFailedError(connection_fault(error)) from None
        return _answer(raw.http_response.content, names)

    def _body(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool], names: ToolNames
    ) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._options.name,
            "messages": [_wire_message(message, names) for message in messages],
            self._budget: sampling.max_tokens,
        }
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.stop:
            body["stop"] = list(sampling.stop[: self.most_stops])
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        if sampling.json_schema is not None:
            schema = {
                "name": "reply",
                "schema": sampling.json_schema,
                "strict": _is_strict(sampling.json_schema),
            }
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": names.wire(tool.name),
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in tools
            ]
            body["parallel_tool_calls"] = False
        left_out = {_FIELDS.get(setting, setting) for setting in self._refused}
        return {
            field: value for field, value in body.items() if field not in left_out - {self._budget, "tools"}
        }


class _Function(BaseModel):
    name: str = ""
    arguments: str | dict[str, Any] = ""


class _Call(BaseModel):
    id: str | None = None
    function: _Function = _Function()


class _Reply(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(BaseModel):
    message: _Reply
    finish_reason: str | None = None


class _InputDetails(BaseModel):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class _OutputDetails(BaseModel):
    reasoning_tokens: int | None = None


class _Counts(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None


class _Trouble(BaseModel):
    message: str = ""
    code: int | str | None = None


class _ChatCompletion(BaseModel):
    """The parts of a reply that are read, so that servers which leave out the others work too."""

    choices: list[_Choice] | None = None
    error: _Trouble | None = None
    """OpenRouter answers 200 and puts a failure of the provider behind it here."""
    usage: _Counts | None = None
    model: str | None = None


def _answer(content: bytes, names: ToolNames) -> Answer:
    try:
        reply = _ChatCompletion.model_validate_json(content)
    except ValidationError as error:
        raise RequestFailedError(Fault(_what_came_instead(content, error), kind="unreadable")) from None
    if reply.error:
        status = reply.error.code if isinstance(reply.error.code, int) else None
        raise RequestFailedError(Fault(reply.error.message, status))
    if not reply.choices:
        said = content[:200].decode("utf-8", "replace")
        raise RequestFailedError(Fault(f"what it sent is not a chat completion: {said!r}", kind="unreadable"))
    choice = reply.choices[0]
    calls = tuple(
        ToolCall(
            id=call.id or f"call_{index}",
            name=names.back(call.function.name),
            arguments=call.function.arguments
            if isinstance(call.function.arguments, str)
            else json.dumps(call.function.arguments),
        )
        for index, call in enumerate(choice.message.tool_calls or ())
    )
    stop_reason = _STOP_REASONS.get(choice.finish_reason or "stop", "stop")
    if choice.message.refusal:
        stop_reason = "refused"
    elif calls and stop_reason == "stop":
        stop_reason = "tool_calls"
    return Answer(
        text=choice.message.content or choice.message.refusal or "",
        tool_calls=calls,
        usage=_usage(reply.usage),
        stop_reason=stop_reason,
        model=reply.model or "",
    )


def _usage(counts: _Counts | None) -> Usage:
    if counts is None:
        return Usage()
    read, written = counts.prompt_tokens_details or _InputDetails(), counts.completion_tokens_details
    return Usage(
        input=counts.prompt_tokens or 0,
        output=counts.completion_tokens or 0,
        cached=read.cached_tokens or 0,
        cache_written=read.cache_write_tokens or 0,
        reasoning=(written.reasoning_tokens if written else 0) or 0,
    )


def _wire_message(message: Message, names: ToolNames) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        wire["content"] = message.content or None
        wire["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": names.wire(call.name), "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if message.role == "tool":
        wire["tool_call_id"] = message.tool_call_id
    return wire


def _is_strict(schema: Any) -> bool:
    """Whether the API's strict mode takes this schema: every object closed, and all of its properties required."""
    if isinstance(schema, list):
        return all(map(_is_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = schema.get("required", [])
        if schema.get("additionalProperties") is not False or set(properties) != set(required):
            return False
    return all(map(_is_strict, schema.values()))


def _words(error: Any) -> str:
    """The message and the code of an error reply; both are needed to tell faults apart."""
    body = error.body
    if not isinstance(body, dict):
        return str(error.response.text or error.message)
    inner = body.get("error", body)
    if not isinstance(inner, dict):
        return str(inner)
    parts = [inner.get("message") or error.message, inner.get("code"), inner.get("type")]
    return " ".join(
        f"[{part}]" if index else str(part) for index, part in enumerate(parts) if isinstance(part, str)
    )


def _what_came_instead(content: bytes, error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return f"what it sent is not JSON, perhaps cut off: {content[-80:].decode('utf-8', 'replace')!r}"
    wrong = problems_of(error, _ChatCompletion)[0].rstrip(".")
    said = content[:200].decode("utf-8", "replace")
    return f"what it sent is not a chat completion ({wrong}): {said!r}"
