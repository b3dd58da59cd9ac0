"""Models that run in this process: any GGUF file, through llama.cpp. No key, no server, no network."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.model.errors import RefusedError, TooLongError
from mlagentbench.model.options import ModelOptions
from mlagentbench.model.serving import DEFAULT_CONTEXT, Engine, Offer, loaded
from mlagentbench.model.spec import Completion, Message, Sampling, StopReason, Tool, ToolCall, Usage
from mlagentbench.model.weights import find, known, weights_folder
from mlagentbench.validation import problem_of

_CHAT = "/v1/chat/completions"
_STOP_REASONS: dict[str, StopReason] = {"stop": "stop", "length": "length"}
# Separators as `json.dumps` writes them: left free, weak models fill their budget with line ends between two keys.
# Lenient: what the library cannot hold a text to is left out, instead of the whole schema.
_GUIDANCE = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": ", "lenient": True}
_RANDOM_SEED = 2**32 - 1
_LARK = "%llguidance {}\n"
# What a model says before it calls a tool. The name of a fence or tag that some then open belongs to no sentence.
_BESIDE = "/[^{]{0,2000}/"
_OPENED = re.compile(r"\s*(?:```\w*|<[|\w]+>)?\s*\Z")
_STARTS_OF_JSON = tuple('{["-0123456789tfn')


class LocalSettings(BaseModel):
    """How a local model is run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    context: int = Field(DEFAULT_CONTEXT, ge=1)
    """Tokens of prompt and output together; at most what the model was trained for."""
    threads: int = Field(1, ge=1)
    reuse_prompts: bool = False
    """Spare a prompt that starts like an earlier one most of its reading, even where a seed is given. It changes the
    last bits of what the model computes, so the same seed may then give another text."""


class LocalModel:
    """A model by the name of its weights, or by the path of a GGUF file.

    >>> LocalModel("qwen2.5-coder-1.5b", context=4096, threads=2)  # doctest: +SKIP
    >>> LocalModel("/models/mine.gguf")  # doctest: +SKIP

    It is loaded when it is first used, and once for all instances with the same settings. Sampling beyond what
    `Sampling` has is llama.cpp's own: the 40 most likely tokens, of them the upper 95 %.
    """

    def __init__(
        self,
        name: str | ModelOptions,
        *,
        context: int = DEFAULT_CONTEXT,
        threads: int = 1,
        reuse_prompts: bool = False,
        folder: Path | None = None,
    ) -> None:
        """Made from `ModelOptions`, the settings are its `extra`. `folder` is where weights lie."""
        if isinstance(name, ModelOptions):
            given = dict(name.extra)
            name = name.name
        else:
            given = {"context": context, "threads": threads, "reuse_prompts": reuse_prompts}
        self.name = f"local/{name}"
        self._settings = _settings(self.name, given)
        self._offer = Offer(
            weights_of(name, folder or weights_folder()), self._settings.context, self._settings.threads
        )

    @property
    def speaks_tools(self) -> bool:
        """Whether the file's chat template knows tools."""
        return loaded(self._offer).speaks_tools

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        """With tools, the answer ends with a call of one of them: small models often get the form of a call wrong, so
        they are held to it as to a JSON schema. With a JSON schema or tools, stop sequences are not used."""
        engine = loaded(self._offer)
        if tools and not engine.speaks_tools:
            raise RefusedError(f"The chat template of {self.name} has no tools; use the text protocol.")
        chat: dict[str, Any] = {"messages": [_written(message) for message in messages]}
        if tools:
            chat["tools"] = [{"type": "function", "function": tool.model_dump()} for tool in tools]
        asked = time.monotonic()
        with engine.lock:
            started = time.monotonic()
            self._refuse_too_long(engine, chat, sampling.max_tokens)
            body = self._body(sampling, tools)
            if tools:
                prompt = engine.ask("/apply-template", chat)["prompt"]
                reply = engine.ask("/v1/completions", body | {"prompt": prompt})
            else:
                reply = engine.ask(_CHAT, body | chat)
            ended = time.monotonic()
        return self._completion(reply, sampling, tools, latency=ended - started, waited=started - asked)

    def _refuse_too_long(self, engine: Engine, chat: dict[str, Any], budget: int) -> None:
        prompt = int(engine.ask(f"{_CHAT}/input_tokens", chat)["input_tokens"])
        if prompt + budget > engine.context:
            raise TooLongError(
                f"The prompt of {prompt} tokens and an output of up to {budget} do not fit the context of "
                f"{engine.context} tokens of {self.name}. Shorten the prompt, lower the output budget or give the "
                "model a larger context."
            )

    def _body(self, sampling: Sampling, tools: Sequence[Tool]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "max_tokens": sampling.max_tokens,
            "cache_prompt": self._settings.reuse_prompts or sampling.seed is None,
        }
        if sampling.temperature is not None:
            body["temperature"] = sampling.temperature
        if sampling.seed is not None:
            body["seed"] = sampling.seed % _RANDOM_SEED
        if tools:
            body["grammar"] = (
                f"{_LARK}start: BESIDE call\nBESIDE: {_BESIDE}\ncall: {_json(_call_schema(tools))}"
            )
        elif sampling.json_schema is not None:
            body["grammar"] = f"{_LARK}start: {_json(sampling.json_schema)}"
        elif sampling.stop:
            body["stop"] = list(sampling.stop)
        return body

    def _completion(
        self,
        reply: dict[str, Any],
        sampling: Sampling,
        tools: Sequence[Tool],
        *,
        latency: float,
        waited: float,
    ) -> Completion:
        choice = reply["choices"][0]
        text = choice["text"] if tools else choice["message"].get("content") or ""
        stop_reason = _STOP_REASONS[choice["finish_reason"]]
        calls: tuple[ToolCall, ...] = ()
        held = bool(tools) or sampling.json_schema is not None
        if tools and stop_reason == "stop":
            text, call = self._call(text, reply["id"])
            calls, stop_reason = (call,), "tool_calls"
        elif held and not tools:
            self._refuse_free(text, stop_reason)
        usage = reply["usage"]
        return Completion(
            text=text,
            tool_calls=calls,
            usage=Usage(
                input=usage["prompt_tokens"],
                output=usage["completion_tokens"],
                cached=usage["prompt_tokens_details"]["cached_tokens"],
            ),
            stop_reason=stop_reason,
            model=reply["model"],
            latency=latency,
            waited=waited,
            notes=("stop sequences are not used where the form of the text is fixed",)
            if held and sampling.stop
            else (),
        )

    def _call(self, text: str, identity: str) -> tuple[str, ToolCall]:
        """What was said beside the call, and the call."""
        beside, brace, rest = text.partition("{")
        self._refuse_free(brace + rest, "stop")
        call = json.loads(brace + rest)
        arguments = json.dumps(call["arguments"], ensure_ascii=False)
        return _OPENED.sub("", beside), ToolCall(id=identity, name=call["name"], arguments=arguments)

    def _refuse_free(self, text: str, stop_reason: StopReason) -> None:
        """llama.cpp leaves a text free, without a word, where it cannot make a grammar of the schema."""
        try:
            if stop_reason == "stop":
                json.loads(text)
            elif not text.startswith(_STARTS_OF_JSON):
                raise ValueError
        except ValueError:
            raise RefusedError(
                f"{self.name} could not be held to the JSON schema; use a simpler one (types, enum, required)."
            ) from None


def _settings(model: str, given: dict[str, Any]) -> LocalSettings:
    try:
        return LocalSettings.model_validate(given)
    except ValidationError as error:
        setting, wrong = problem_of(error, LocalSettings, "option")
        wrong, _, _ = wrong.partition(" Known are: ")
        names = ", ".join(LocalSettings.model_fields)
        raise UsageError(f"The option {setting!r} of {model} is not right: {wrong} It has {names}.") from None


def weights_of(name: str, folder: Path) -> Path:
    """The file that `local/NAME` means: known weights in `folder`, or the GGUF file at this path."""
    if name.startswith(("/", "~")) or name.endswith(".gguf"):
        file = Path(name).expanduser().absolute()
        if not file.is_file():
            raise UsageError(
                f"There is no file {file}. local/ takes a known name, or the path of a GGUF file."
            )
        return file
    weights = known(name)
    if file_of_name := find(weights, folder):
        return file_of_name
    raise UsageError(f"The weights of {name} are not on this machine: run `mlagentbench model fetch {name}`.")


def _written(message: Message) -> dict[str, Any]:
    written: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.tool_calls:
        written["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": _as_json(call.arguments)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        written["tool_call_id"] = message.tool_call_id
    return written


def _as_json(arguments: str) -> str:
    """Templates read the arguments of earlier calls as JSON; what another model wrote may be none."""
    try:
        json.loads(arguments)
    except ValueError:
        return json.dumps(arguments)
    return arguments


def _json(schema: dict[str, Any]) -> str:
    return f"%json {json.dumps({'x-guidance': _GUIDANCE} | schema)}"


def _call_schema(tools: Sequence[Tool]) -> dict[str, Any]:
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": tool.name}, "arguments": tool.parameters},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for tool in tools
    ]
    return {"anyOf": calls}
