"""How many tokens a text has, where nobody has counted them: an estimate."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from mlagentbench.model.spec import Message, Tool, ToolCall

_BYTES_A_TOKEN = 4
"""Of UTF-8. English is a token for four letters, Chinese about one for each sign of three bytes."""


def estimate_tokens(text: str) -> int:
    """At least one for any text that is not empty."""
    return -(-len(text.encode("utf-8", "replace")) // _BYTES_A_TOKEN)


def estimate_prompt(messages: Sequence[Message], tools: Sequence[Tool] = ()) -> int:
    """What a provider will count as input, about."""
    asked = sum(estimate_tokens(message.content) + estimate_calls(message.tool_calls) for message in messages)
    offered = sum(
        estimate_tokens(tool.name + tool.description + json.dumps(tool.parameters)) for tool in tools
    )
    return asked + offered


def estimate_calls(calls: Iterable[ToolCall]) -> int:
    return sum(estimate_tokens(call.name + call.arguments) for call in calls)
