"""One JSON object a reply, of a schema that decoding can be constrained to: what a small model manages best."""

from __future__ import annotations

import json
import re
from typing import Any

from mlagentbench.agent.prompting import action_list, entry_list, prompt
from mlagentbench.agent.protocol import (
    ACTION,
    ACTION_INPUT,
    Decision,
    FormatError,
    Past,
    Vocabulary,
    unknown_action,
)
from mlagentbench.agent.strict_json import read_object
from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.model.spec import Completion, Message, Sampling, Tool
from mlagentbench.record import Action

_LONG = {"content", "command"}
"""Arguments that hold whole files and programs."""
_MOST_ITEMS = 10


def key_of(entry: str) -> str:
    """
    >>> key_of("Research Plan and Status")
    'research_plan_and_status'
    """
    return re.sub(r"\W+", "_", entry.lower())


class JsonSpeech:
    tools: tuple[Tool, ...] = ()

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._keys = {key_of(entry): entry for entry in (*vocabulary.entries, ACTION, ACTION_INPUT)}

    def instructions(self) -> str:
        words = self._vocabulary
        names = {entry: key for key, entry in self._keys.items()}
        return prompt(
            "format_json",
            actions=action_list(words.shown),
            entries=entry_list(tuple(self._keys.values()), words.short, names),
        )

    def sampling(self, sampling: Sampling) -> Sampling:
        return sampling.model_copy(update={"json_schema": self.schema()})

    def schema(self) -> dict[str, Any]:
        """Any of the actions, each with its own arguments, so that what is decoded can be carried out."""
        return {
            "anyOf": [self._schema_of(name) for name in self._vocabulary.offered or self._vocabulary.shown]
        }

    def _schema_of(self, action: str) -> dict[str, Any]:
        text: dict[str, Any] = {"type": "string"}
        if self._vocabulary.entry_limit is not None:
            text["maxLength"] = self._vocabulary.entry_limit
        return {
            "type": "object",
            "properties": {
                **{key_of(entry): text for entry in self._vocabulary.entries},
                key_of(ACTION): {"const": action},
                key_of(ACTION_INPUT): self._arguments(all_actions()[action].schema()["parameters"]),
            },
            "required": list(self._keys),
            "additionalProperties": False,
        }

    def _arguments(self, schema: dict[str, Any]) -> dict[str, Any]:
        """Without what only people read, which costs time where a grammar is made of it; names and instructions no
        longer than entries, lest a weak model fills its budget with one."""
        limit = self._vocabulary.entry_limit
        properties = {}
        for name, each in schema.get("properties", {}).items():
            bare = {
                key: value for key, value in each.items() if key not in ("title", "description", "default")
            }
            if limit is not None and name not in _LONG and bare.get("type") == "string":
                bare["maxLength"] = min(limit, bare.get("maxLength", limit))
            if limit is not None and bare.get("type") == "array":
                bare |= {"maxItems": _MOST_ITEMS, "items": {**bare.get("items", {}), "maxLength": limit}}
            properties[name] = bare
        return {
            "type": "object",
            "properties": properties,
            "required": schema.get("required", []),
            "additionalProperties": False,
        }

    def show(self, past: Past) -> list[Message]:
        action = past.decision.action
        written: dict[str, Any] = {key_of(name): text for name, text in past.decision.entries.items()}
        written |= {key_of(ACTION): action.name, key_of(ACTION_INPUT): action.args}
        return [
            Message(role="assistant", content=json.dumps(written, ensure_ascii=False)),
            Message(role="user", content=prompt("observation", observation=past.observation)),
        ]

    def read(self, completion: Completion) -> Decision | FormatError:
        text = completion.text.strip()
        read = read_object(text)
        if isinstance(read, FormatError):
            return read
        value, end = read
        if text[end:].strip():
            return FormatError("More follows after the JSON object. Write the object alone.")
        if set(value) != set(self._keys):
            return FormatError(f"The object must have exactly these names: {', '.join(self._keys)}.")
        args = value.pop(key_of(ACTION_INPUT))
        if not isinstance(args, dict):
            return FormatError(f"{key_of(ACTION_INPUT)!r} must be an object, {{…}}.")
        if wrong := next((key for key, text in value.items() if not isinstance(text, str)), None):
            return FormatError(f"{wrong!r} must be a string.")
        action = value.pop(key_of(ACTION))
        entries = {entry: value[key_of(entry)] for entry in self._vocabulary.entries}
        return unknown_action(action, self._vocabulary) or Decision(entries, Action(action, args))

    def refuse(self, completion: Completion, told: str) -> list[Message]:
        return [
            Message(role="assistant", content=completion.text.strip() or "(nothing)"),
            Message(role="user", content=told),
        ]
