"""A chat endpoint in OpenAI's wire format in front of anything that answers messages.

`POST /v1/chat/completions`, streamed or not, and `GET /v1/models`. Several choices and structured output are refused,
and so are tools except for a program that is the agent, so that no submission comes to rely on what another answerer
does not have.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from pydantic import ValidationError

from mlagentbench.model.errors import ModelError, OverLimitError, RateLimitedError, RefusedError, TooLongError
from mlagentbench.model.spec import Completion, Message, Role, Sampling, Tool
from mlagentbench.service.calling import calls_of, tools_of, written
from mlagentbench.service.refusing import ChatRefusedError
from mlagentbench.service.web import Answered, Asked, Site
from mlagentbench.validation import problem_of

Answerer = Callable[[Sequence[Message], Sampling], Completion]
"""Raises a ModelError where the model fails, a ChatRefusedError where it is not asked at all."""


class ToolAnswerer(Protocol):
    """An answerer that takes tools too."""

    def __call__(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion: ...


MODEL = "assistant"
"""What `/v1/models` lists. Whatever model a program names, the one there is answers."""
MOST_MESSAGES = 500
MOST_TOKENS = 4_000
DEFAULT_TOKENS = 2_000
MOST_STOPS = 4
HOTTEST = 2.0
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}
_ROLES_WITH_TOOLS: dict[str, Role] = {**_ROLES, "tool": "tool"}
_NOT_OFFERED = ("functions", "function_call", "audio", "logprobs")
_OF_TOOLS = ("tools", "tool_choice")
_FINISH = {"stop": "stop", "length": "length", "tool_calls": "stop", "refused": "content_filter"}
_PIECE = re.compile(r"\S*\s*")


def chat_site(answerer: Answerer, with_tools: ToolAnswerer | None = None) -> Site:
    """`with_tools` answers instead, where tools may be used."""

    def answer(asked: Asked) -> Answered:
        try:
            return _answer(answerer, with_tools, asked)
        except ChatRefusedError as error:
            return error_json(error.status, str(error), error.kind, error.code)
        except ModelError as error:
            return _of_the_model(error)

    return Site(answer, error_json)


def _answer(answerer: Answerer, with_tools: ToolAnswerer | None, asked: Asked) -> Answered:
    path = asked.path.rstrip("/")
    if path == "/v1/models" and asked.method == "GET":
        return _json(200, {"object": "list", "data": [_MODEL]})
    if path == f"/v1/models/{MODEL}" and asked.method == "GET":
        return _json(200, _MODEL)
    if path != "/v1/chat/completions":
        raise ChatRefusedError(
            f"Unknown request URL: {asked.method} {asked.path[:200]}.", 404, code="unknown_url"
        )
    if asked.method != "POST":
        raise ChatRefusedError("Only POST is answered here.", 405)
    if with_tools is None:
        body = _body(asked.body, (*_NOT_OFFERED, *_OF_TOOLS))
        completion = answerer(_messages(body, _ROLES), _sampling(body))
    else:
        body = _body(asked.body, _NOT_OFFERED)
        completion = with_tools(_messages(body, _ROLES_WITH_TOOLS), _sampling(body), tools_of(body))
    mark = hashlib.sha256(asked.body + completion.text.encode("utf-8", "replace")).hexdigest()[:24]
    head = {"id": f"chatcmpl-{mark}", "created": 0, "model": completion.model}
    return _streamed(completion, head, body) if body.get("stream") else _whole(completion, head)


_MODEL = {"id": MODEL, "object": "model", "created": 0, "owned_by": "mlagentbench"}


def _body(data: bytes, not_offered: Sequence[str]) -> dict[str, Any]:
    try:
        body = json.loads(data)
    except (ValueError, RecursionError):
        raise ChatRefusedError("The body of the request is not JSON.") from None
    if not isinstance(body, dict):
        raise ChatRefusedError("The body of the request is not a JSON object.")
    for name in not_offered:
        if body.get(name):
            raise ChatRefusedError(
                f"{name!r} is not offered here: messages in, text out.", code="unsupported_parameter"
            )
    if body.get("n") not in (None, 1):
        raise ChatRefusedError("'n' must be 1.", code="unsupported_value")
    wanted = body.get("response_format")
    if wanted is not None and wanted != {"type": "text"}:
        raise ChatRefusedError(
            "'response_format' must be text: ask for JSON in words.", code="unsupported_value"
        )
    return body


def _messages(body: dict[str, Any], roles: dict[str, Role]) -> list[Message]:
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise ChatRefusedError("'messages' must be a list with at least one message.")
    if len(given) > MOST_MESSAGES:
        raise ChatRefusedError(f"'messages' may hold {MOST_MESSAGES} messages.")
    return [_message(place, each, roles) for place, each in enumerate(given)]


def _message(place: int, given: object, roles: dict[str, Role]) -> Message:
    if not isinstance(given, dict):
        raise ChatRefusedError(f"messages[{place}] is not an object.")
    role = roles.get(str(given.get("role")))
    if role is None:
        raise ChatRefusedError(f"messages[{place}].role must be one of {', '.join(roles)}.")
    calls = calls_of(place, given.get("tool_calls")) if role == "assistant" and "tool" in roles else ()
    answers = given.get("tool_call_id") if role == "tool" else ""
    if not isinstance(answers, str):
        raise ChatRefusedError(f"messages[{place}].tool_call_id must be text.")
    content = given.get("content")
    if content is None and calls:
        content = ""
    if isinstance(content, list):
        content = "\n".join(_part(place, part) for part in content)
    if not isinstance(content, str):
        raise ChatRefusedError(f"messages[{place}].content must be text.")
    content, answers = (text.encode("utf-8", "replace").decode() for text in (content, answers))
    return Message(role=role, content=content, tool_calls=calls, tool_call_id=answers)


def _part(place: int, part: object) -> str:
    text = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None
    if not isinstance(text, str):
        raise ChatRefusedError(f"messages[{place}].content may hold parts of the type text, and no others.")
    return text


def _sampling(body: dict[str, Any]) -> Sampling:
    tokens = body.get("max_completion_tokens", body.get("max_tokens"))
    stop = body.get("stop") or ()
    stops = (stop,) if isinstance(stop, str) else stop
    if not isinstance(stops, list | tuple) or len(stops) > MOST_STOPS or "" in stops:
        raise ChatRefusedError(f"'stop' must be text, or a list of at most {MOST_STOPS}.")
    said = {
        "max_tokens": DEFAULT_TOKENS if tokens is None else tokens,
        "stop": tuple(stops),
        "seed": body.get("seed"),
        **({} if body.get("temperature") is None else {"temperature": body["temperature"]}),
    }
    try:
        sampling = Sampling.model_validate(said, strict=True)
    except ValidationError as error:
        name, wrong = problem_of(error, Sampling)
        raise ChatRefusedError(f"{name!r} is not right: {wrong}") from None
    if sampling.temperature is not None and sampling.temperature > HOTTEST:
        raise ChatRefusedError(f"'temperature' must be between 0 and {HOTTEST:g}.")
    return sampling.model_copy(update={"max_tokens": min(sampling.max_tokens, MOST_TOKENS)})


def _whole(completion: Completion, head: dict[str, Any]) -> Answered:
    message: dict[str, Any] = {"role": "assistant", "content": completion.text, "refusal": None}
    if completion.tool_calls:
        message["tool_calls"] = written(completion)
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": _finish(completion),
    }
    return _json(200, {**head, "object": "chat.completion", "choices": [choice], "usage": _usage(completion)})


def _streamed(completion: Completion, head: dict[str, Any], body: dict[str, Any]) -> Answered:
    """The events of a stream. They come all at once: the answer was whole before."""
    options = body.get("stream_options")
    with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    head = {**head, "object": "chat.completion.chunk"}

    def event(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {**head, "choices": [choice], **({"usage": None} if with_usage else {})}

    events = [event({"role": "assistant", "content": ""})]
    events += [event({"content": piece}) for piece in _PIECE.findall(completion.text) if piece]
    events += [
        event({"tool_calls": [{"index": index, **call}]}) for index, call in enumerate(written(completion))
    ]
    events.append(event({}, _finish(completion)))
    if with_usage:
        events.append({**head, "choices": [], "usage": _usage(completion)})
    lines = [f"data: {json.dumps(each)}\n\n" for each in events]
    return Answered(200, "".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream; charset=utf-8")


def _finish(completion: Completion) -> str:
    return "tool_calls" if completion.tool_calls else _FINISH[completion.stop_reason]


def _usage(completion: Completion) -> dict[str, Any]:
    usage = completion.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
    }


def _of_the_model(error: ModelError) -> Answered:
    if isinstance(error, OverLimitError):
        return error_json(429, str(error), "insufficient_quota", "insufficient_quota")
    if isinstance(error, TooLongError):
        return error_json(400, str(error), code="context_length_exceeded")
    if isinstance(error, RateLimitedError):
        return error_json(429, str(error), "rate_limit_error", "rate_limit_exceeded")
    if isinstance(error, RefusedError):
        return error_json(400, str(error))
    return error_json(503, str(error), "server_error")


def error_json(status: int, words: str, kind: str = "", code: str = "") -> Answered:
    kind = kind or ("invalid_request_error" if status < 500 else "server_error")
    return _json(status, {"error": {"message": words, "type": kind, "param": None, "code": code or None}})


def _json(status: int, content: dict[str, Any]) -> Answered:
    return Answered(status, json.dumps(content).encode(), "application/json")
