"""Google's Gemini models, through google-genai."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlagentbench.model.faults import Fault, asked_to_wait, retry_after
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

if TYPE_CHECKING:
    from google.genai import types

_NO_SIGNATURE = b"skip_thought_signature_validator"
"""What Gemini 3 and later take in place of a signature that was lost, as when another model made the call."""
_UNSIGNED = re.compile(r"(?:models/)?gemini-[12](?!\d)")
_TRY_AGAIN = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "OTHER"}
_STOP_REASONS: dict[str, StopReason] = {"STOP": "stop", "MAX_TOKENS": "length", "CONTINUATION": "length"}


class GoogleModel(HostedModel):
    key_variable = "GEMINI_API_KEY"
    most_stops = 5

    def __init__(self, options: ModelOptions) -> None:
        import google.genai as genai
        from google.genai import types

        super().__init__(options)
        key = need_key("google", self.key_variable, "GOOGLE_API_KEY")
        self._client = genai.Client(
            api_key=key.value,
            enterprise=False,
            http_options=types.HttpOptions(
                base_url=options.base_url,
                timeout=int(options.timeout * 1000),
                httpx_client=http_client(options.timeout),
                retry_options=types.HttpRetryOptions(attempts=1),
                extra_body=dict(options.extra) or None,
            ),
        )

    def _settings(self, sampling: Sampling, tools: Sequence[Tool]) -> Mapping[str, tuple[str, ...]]:
        return {
            setting: names
            for setting, names, sent in (
                ("temperature", ("temperature",), sampling.temperature is not None),
                ("stop", ("stop_sequences", "stopSequences", "stop sequences"), bool(sampling.stop)),
                ("seed", ("seed",), sampling.seed is not None),
                (
                    "json_schema",
                    (
                        "response_json_schema",
                        "responseJsonSchema",
                        "response_mime_type",
                        "response mime type",
                    ),
                    sampling.json_schema is not None,
                ),
                ("tools", ("tools", "function calling", "Function calling"), bool(tools)),
            )
            if sent
        }

    def _ask(self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool]) -> Answer:
        import httpx2
        from google.genai import errors

        names = ToolNames([tool.name for tool in tools])
        try:
            reply = self._client.models.generate_content(
                model=self._options.name,
                contents=list(self._contents(messages, names)),
                config=self._config(messages, sampling, tools, names),
            )
        except errors.APIError as error:
            raise RequestFailedError(_fault(error)) from None
        except httpx2.HTTPError as error:
            raise RequestFailedError(connection_fault(error)) from None
        except ValueError as error:
            raise RequestFailedError(
                Fault(f"what it sent cannot be read, perhaps cut off: {error}", kind="unreadable")
            ) from None
        return _answer(reply, names)

    def _config(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool], names: ToolNames
    ) -> types.GenerateContentConfig:
        from google.genai import types

        without = self._refused
        system = "\n\n".join(message.content for message in messages if message.role == "system")
        declarations = [
            types.FunctionDeclaration(
                name=names.wire(tool.name),
                description=tool.description,
                parameters_json_schema=tool.parameters,
            )
            for tool in tools
        ]
        constrained = sampling.json_schema is not None and "json_schema" not in without
        return types.GenerateContentConfig(
            max_output_tokens=sampling.max_tokens,
            temperature=None if "temperature" in without else sampling.temperature,
            stop_sequences=list(sampling.stop[: self.most_stops])
            if sampling.stop and "stop" not in without
            else None,
            seed=None if "seed" in without else sampling.seed,
            system_instruction=system or None,
            response_mime_type="application/json" if constrained else None,
            response_json_schema=sampling.json_schema if constrained else None,
            tools=[types.Tool(function_declarations=declarations)] if declarations else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            automatic_continuation=False,
        )

    def _contents(self, messages: Sequence[Message], names: ToolNames) -> list[types.Content]:
        from google.genai import types

        called: dict[str, str] = {}
        contents: list[types.Content] = []
        for message in messages:
            if message.role == "system":
                continue
            parts: list[types.Part] = []
            if message.role == "tool":
                response = types.FunctionResponse(
                    id=message.tool_call_id,
                    name=called.get(message.tool_call_id, "tool"),
                    response={"output": message.content},
                )
                parts.append(types.Part(function_response=response))
            elif message.content or not message.tool_calls:
                parts.append(types.Part(text=message.content))
            for call, signature in zip(message.tool_calls, self._signatures(message.tool_calls), strict=True):
                called[call.id] = names.wire(call.name)
                made = types.FunctionCall(id=call.id, name=called[call.id], args=as_object(call.arguments))
                parts.append(types.Part(function_call=made, thought_signature=signature))
            role = "model" if message.role == "assistant" else "user"
            if contents and contents[-1].role == role:
                contents[-1].parts = [*(contents[-1].parts or ()), *parts]
            else:
                contents.append(types.Content(role=role, parts=parts))
        return contents

    def _signatures(self, calls: Sequence[ToolCall]) -> list[bytes | None]:
        """The signatures of calls that were made together: the first one must have one."""
        signatures = [base64.b64decode(call.signature) if call.signature else None for call in calls]
        if not any(signatures) and not _UNSIGNED.match(self._options.name):
            signatures[:1] = [_NO_SIGNATURE] * len(signatures[:1])
        return signatures


def _answer(reply: types.GenerateContentResponse, names: ToolNames) -> Answer:
    usage = _usage(reply.usage_metadata)
    model = reply.model_version or ""
    if not reply.candidates:
        feedback = reply.prompt_feedback
        if feedback and feedback.block_reason:
            said = feedback.block_reason_message or feedback.block_reason.value
            return Answer(text=said, usage=usage, stop_reason="refused", model=model)
        raise RequestFailedError(Fault("the reply holds no candidate"))
    candidate = reply.candidates[0]
    reason = candidate.finish_reason.value if candidate.finish_reason else "STOP"
    if reason in _TRY_AGAIN:
        raise RequestFailedError(
            Fault(f"the model's reply was malformed ({reason} {candidate.finish_message or ''})")
        )
    parts = (candidate.content.parts if candidate.content else None) or []
    calls = tuple(
        ToolCall(
            id=part.function_call.id or f"call_{index}",
            name=names.back(part.function_call.name or ""),
            arguments=json.dumps(part.function_call.args or {}, ensure_ascii=False),
            signature=base64.b64encode(part.thought_signature).decode() if part.thought_signature else "",
        )
        for index, part in enumerate(parts)
        if part.function_call
    )
    stop_reason = _STOP_REASONS.get(reason, "refused")
    return Answer(
        text="".join(part.text for part in parts if part.text and not part.thought),
        tool_calls=calls,
        usage=usage,
        stop_reason="tool_calls" if calls and stop_reason == "stop" else stop_reason,
        model=model,
    )


def _usage(counts: types.GenerateContentResponseUsageMetadata | None) -> Usage:
    if counts is None:
        return Usage()
    thoughts = counts.thoughts_token_count or 0
    return Usage(
        input=(counts.prompt_token_count or 0) + (counts.tool_use_prompt_token_count or 0),
        output=(counts.candidates_token_count or 0) + thoughts,
        cached=counts.cached_content_token_count or 0,
        reasoning=thoughts,
    )


def _fault(error: Any) -> Fault:
    """The fault of an API error; how long to wait is in a header or, more often, in the details."""
    words = f"{error.message or error} [{error.status}]"
    headers = getattr(error.response, "headers", None) or {}
    waits = [retry_after(headers), _retry_delay(error.details), asked_to_wait(words)]
    return Fault(words, error.code, next((wait for wait in waits if wait is not None), None))


def _retry_delay(details: Any) -> float | None:
    inner = details.get("error", details) if isinstance(details, dict) else {}
    for detail in inner.get("details") or () if isinstance(inner, dict) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            try:
                return float(delay[:-1])
            except ValueError:
                return None
    return None
