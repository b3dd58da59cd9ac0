"""Every provider that Inspect AI knows, through its model API: `inspect/PROVIDER/NAME`."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlagentbench.model.errors import TooLongError
from mlagentbench.model.faults import Fault, retry_after
from mlagentbench.model.hosted import Answer, HostedModel, RequestFailedError, ToolNames, as_object
from mlagentbench.model.keys import remember_keys
from mlagentbench.model.options import ModelOptions
from mlagentbench.model.spec import Message, Sampling, StopReason, Tool, ToolCall, Usage

_STOP_REASONS: dict[str, StopReason] = {
    "stop": "stop",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "content_filter": "refused",
    "unknown": "stop",
}


class InspectModel(HostedModel):
    def __init__(self, options: ModelOptions) -> None:
        super().__init__(options)
        remember_keys()
        self._api = importlib.import_module("inspect_ai.model")
        self._tool_api = importlib.import_module("inspect_ai.tool")
        self.key_variable = f"the key of {options.name.partition('/')[0]}"

    def _settings(self, sampling: Sampling, tools: Sequence[Tool]) -> Mapping[str, tuple[str, ...]]:
        return {
            setting: names
            for setting, names, sent in (
                ("temperature", ("temperature",), sampling.temperature is not None),
                ("stop", ("stop", "stop_sequences"), bool(sampling.stop)),
                ("seed", ("seed",), sampling.seed is not None),
                ("json_schema", ("response_format", "json_schema"), sampling.json_schema is not None),
                ("tools", ("tools",), bool(tools)),
                ("one_call", ("parallel_tool_calls", "disable_parallel_tool_use"), bool(tools)),
            )
            if sent
        }

    def _unknown_here(self, sampling: Sampling) -> Iterator[str]:
        if sampling.temperature is not None or sampling.stop or sampling.seed is not None:
            yield "Settings went through Inspect AI, which leaves out those that it knows a model to refuse."

    def _ask(self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool]) -> Answer:
        # Inspect's clients belong to one event loop: each request has its own. The thread that asks has none.
        names = ToolNames([tool.name for tool in tools])
        return self._answer(asyncio.run(self._generate(messages, sampling, tools, names)), names)

    async def _generate(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool], names: ToolNames
    ) -> Any:
        api, tool_api, without = self._api, self._tool_api, self._refused
        schema = None
        if sampling.json_schema is not None and "json_schema" not in without:
            schema = api.ResponseSchema(name="reply", json_schema=sampling.json_schema)
        config = api.GenerateConfig(
            max_retries=0,
            attempt_timeout=max(1, round(self._options.timeout)),
            max_tokens=sampling.max_tokens,
            temperature=None if "temperature" in without else sampling.temperature,
            stop_seqs=list(sampling.stop) if sampling.stop and "stop" not in without else None,
            seed=None if "seed" in without else sampling.seed,
            response_schema=schema,
            parallel_tool_calls=False if tools and "one_call" not in without else None,
        )
        offered = [
            tool_api.ToolInfo(
                name=names.wire(tool.name),
                description=tool.description,
                parameters=tool_api.ToolParams.model_validate(tool.parameters),
            )
            for tool in tools
        ]
        try:
            async with api.get_model(
                self._options.name,
                config=config,
                base_url=self._options.base_url,
                memoize=False,
                **self._options.extra,
            ) as model:
                return await model.generate(self._turns(messages, names), tools=offered, config=config)
        except Exception as error:  # noqa: BLE001 - each of Inspect's providers raises its own kinds
            raise RequestFailedError(_fault(error)) from None

    def _turns(self, messages: Sequence[Message], names: ToolNames) -> list[Any]:
        api, tool_api = self._api, self._tool_api
        turns: list[Any] = []
        for message in messages:
            if message.role == "system":
                turns.append(api.ChatMessageSystem(content=message.content))
            elif message.role == "user":
                turns.append(api.ChatMessageUser(content=message.content))
            elif message.role == "tool":
                turns.append(api.ChatMessageTool(content=message.content, tool_call_id=message.tool_call_id))
            else:
                calls = [
                    tool_api.ToolCall(
                        id=call.id, function=names.wire(call.name), arguments=as_object(call.arguments)
                    )
                    for call in message.tool_calls
                ]
                turns.append(api.ChatMessageAssistant(content=message.content, tool_calls=calls or None))
        return turns

    def _answer(self, output: Any, names: ToolNames) -> Answer:
        if output.error and not output.choices:
            raise RequestFailedError(Fault(output.error))
        if output.stop_reason == "model_length":
            raise TooLongError(f"The prompt does not fit {self.name}: {output.error or output.completion}")
        usage = output.usage
        read, written = (
            (usage.input_tokens_cache_read or 0, usage.input_tokens_cache_write or 0) if usage else (0, 0)
        )
        return Answer(
            text=output.completion,
            tool_calls=tuple(
                ToolCall(id=call.id, name=names.back(call.function), arguments=json.dumps(call.arguments))
                for call in output.message.tool_calls or ()
            ),
            usage=Usage(
                input=usage.input_tokens + read + written,
                output=usage.output_tokens,
                cached=read,
                cache_written=written,
                reasoning=usage.reasoning_tokens or 0,
            )
            if usage
            else Usage(),
            stop_reason=_STOP_REASONS.get(output.stop_reason, "stop"),
            model=output.model,
        )


def _fault(error: BaseException) -> Fault:
    """The fault that an error of any provider's client tells of, by the attributes that they share.

    The innermost error counts: Inspect puts its own around it, whose words hold the whole request.
    """
    last_attempt = getattr(error, "last_attempt", None)
    seen: BaseException | None = last_attempt.exception() if last_attempt else error
    error = seen or error
    fault = Fault(f"{type(error).__name__}: {error}")
    while seen is not None:
        status = getattr(seen, "status_code", None) or getattr(seen, "code", None)
        if isinstance(status, int):
            headers = getattr(getattr(seen, "response", None), "headers", None) or {}
            fault = Fault(str(seen), status, retry_after(headers))
        seen = seen.__cause__ or seen.__context__
    return fault
