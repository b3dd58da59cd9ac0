"""Native tool calling in OpenAI's wire format: what programs send of tools and calls, and how calls are answered."""

from __future__ import annotations

import re
from typing import Any

from mlagentbench.model.spec import Completion, Tool, ToolCall
from mlagentbench.service.refusing import ChatRefusedError

MOST_TOOLS = 64
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DEEPEST = 50


def tools_of(body: dict[str, Any]) -> tuple[Tool, ...]:
    """The tools that a request offers to the model."""
    given = body.get("tools") or []
    if body.get("tool_choice") not in (None, "auto"):
        raise ChatRefusedError("'tool_choice' must be auto.", code="unsupported_value")
    if not isinstance(given, list) or len(given) > MOST_TOOLS:
        raise ChatRefusedError(f"'tools' must be a list of at most {MOST_TOOLS}.")
    return tuple(_tool(place, each) for place, each in enumerate(given))


def _tool(place: int, given: object) -> Tool:
    function = given.get("function") if isinstance(given, dict) and given.get("type") == "function" else None
    if not isinstance(function, dict):
        raise ChatRefusedError(f"tools[{place}] must be of the type function.")
    name, description = function.get("name"), function.get("description") or ""
    parameters = function.get("parameters", {"type": "object", "properties": {}})
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ChatRefusedError(f"tools[{place}].function.name must be letters, digits, _ and -, at most 64.")
    if not isinstance(description, str) or not isinstance(parameters, dict) or not _shallow(parameters):
        raise ChatRefusedError(f"tools[{place}].function must have text as description, and a JSON schema.")
    return Tool(name=name, description=_valid(description), parameters=parameters)


def calls_of(place: int, given: object) -> tuple[ToolCall, ...]:
    """The calls in an earlier message of the assistant's."""
    if given is None:
        return ()
    if not isinstance(given, list) or len(given) > MOST_TOOLS:
        raise ChatRefusedError(f"messages[{place}].tool_calls must be a list of at most {MOST_TOOLS}.")
    return tuple(_call(place, each) for each in given)


def _call(place: int, given: object) -> ToolCall:
    match given:
        case {"id": str(mark), "function": {"name": str(name), "arguments": str(arguments)}}:
            return ToolCall(id=_valid(mark), name=_valid(name), arguments=_valid(arguments))
    raise ChatRefusedError(
        f"messages[{place}].tool_calls must have an id, and a function with a name and arguments as text."
    )


def written(completion: Completion) -> list[dict[str, Any]]:
    """The calls that a completion makes, as a client reads them."""
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in completion.tool_calls
    ]


def _shallow(value: object, depth: int = 0) -> bool:
    if depth > _DEEPEST:
        return False
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return all(_shallow(each, depth + 1) for each in inner)


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
