"""The loop of AutoGPT over our actions: a role, constraints and goals; thoughts with criticism; one JSON command."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic import Field

from mlagentbench.agent.json_protocol import JsonSpeech, key_of
from mlagentbench.agent.loop import Loop, Manner
from mlagentbench.agent.prompting import action_list, prompt
from mlagentbench.agent.protocol import Decision, FormatError, Past, Vocabulary, unknown_action
from mlagentbench.agent.settings import LanguageSettings
from mlagentbench.agent.shortening import Reader
from mlagentbench.agent.strict_json import read_object
from mlagentbench.agent.text_protocol import render
from mlagentbench.environment import Environment
from mlagentbench.model.spec import Completion, Message, Sampling, Tool
from mlagentbench.record import Action

_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})[ \t]*(?:json)?\s*(?=\{)", re.IGNORECASE)


class AutoGptSettings(LanguageSettings):
    protocol: Literal["text", "json"] = Field(
        "text",
        description="how its JSON is got: as the model writes it, or by decoding that is constrained to it where the "
        "model can",
    )
    steps_in_context: int = Field(5, ge=0, description="the last steps that the model is shown")
    observations_in_context: int = Field(
        5, ge=0, description="of these, the last ones with what was observed"
    )


class AutoGptAgent:
    Settings = AutoGptSettings
    entries = ("Text", "Reasoning", "Plan", "Criticism", "Speak")

    def __init__(self, settings: AutoGptSettings) -> None:
        self._settings = settings

    def run(self, env: Environment) -> None:
        constrained = self._settings.protocol == "json"
        manner = Manner(
            self.entries,
            memory=RunningSummary,
            speech=lambda vocabulary: CommandSpeech(vocabulary, constrained),
            system="autogpt_system",
        )
        Loop(env, self._settings, manner).run()


class RunningSummary:
    """What happened before the steps in the context, summed up anew whenever one leaves it."""

    def __init__(self, env: Environment, reader: Reader) -> None:
        self._reader = reader
        self._past: list[Past] = []
        self._summed = 0
        self._summary = ""

    def add(self, past: Past) -> None:
        self._past.append(past)

    def retrieve(self, before: int, plan: str) -> str:
        for past in self._past[self._summed : before]:
            event = f"{render(past.decision)}\nObservation: {past.observation}"
            self._summary = self._reader.digest(
                event,
                lambda text: prompt("autogpt_memory", summary=self._summary or "[nothing yet]", event=text),
            )
        self._summed = max(self._summed, before)
        return self._summary


class CommandSpeech:
    """`{"thoughts": {…}, "command": {"name": …, "args": {…}}}`"""

    tools: tuple[Tool, ...] = ()

    def __init__(self, vocabulary: Vocabulary, constrained: bool) -> None:
        self._vocabulary = vocabulary
        self._constrained = constrained

    def instructions(self) -> str:
        return prompt("autogpt_format", actions=action_list(self._vocabulary.shown))

    def sampling(self, sampling: Sampling) -> Sampling:
        return sampling.model_copy(update={"json_schema": self.schema()}) if self._constrained else sampling

    def schema(self) -> dict[str, Any]:
        """That of the plain JSON protocol, with its parts in their places."""
        flat = JsonSpeech(self._vocabulary).schema()
        return {"anyOf": [self._nested(each["properties"]) for each in flat["anyOf"]]}

    def _nested(self, flat: dict[str, Any]) -> dict[str, Any]:
        thoughts = {key_of(entry): flat[key_of(entry)] for entry in self._vocabulary.entries}
        command = {"name": flat["action"], "args": flat["action_input"]}
        return _object({"thoughts": _object(thoughts), "command": _object(command)})

    def show(self, past: Past) -> list[Message]:
        action = past.decision.action
        thoughts = {key_of(name): text for name, text in past.decision.entries.items()}
        reply = {"thoughts": thoughts, "command": {"name": action.name, "args": action.args}}
        told = prompt("autogpt_result", command=action.name, observation=past.observation)
        return [
            Message(role="assistant", content=json.dumps(reply, ensure_ascii=False)),
            Message(role="user", content=told),
        ]

    def read(self, completion: Completion) -> Decision | FormatError:
        """The first JSON object, which may stand in a fence; what is said around it is passed over."""
        text = completion.text
        fence = _FENCE.search(text)
        start = fence.end() if fence else text.find("{")
        if start < 0:
            return FormatError("There is no JSON object in the reply. Reply with one, and nothing else.")
        read = read_object(text, start)
        if isinstance(read, FormatError):
            return read
        value, _ = read
        thoughts, command = value.get("thoughts"), value.get("command")
        if not isinstance(thoughts, dict) or not isinstance(command, dict):
            return FormatError(
                "The object must have the parts 'thoughts' and 'command', both of them objects."
            )
        name, args = command.get("name"), command.get("args", {})
        if not isinstance(name, str) or not isinstance(args, dict):
            return FormatError("'command' must have a 'name', a string, and 'args', an object.")
        entries = {
            entry: _text(thoughts[key_of(entry)])
            for entry in self._vocabulary.entries
            if key_of(entry) in thoughts
        }
        return unknown_action(name, self._vocabulary) or Decision(entries, Action(name, args))

    def refuse(self, completion: Completion, told: str) -> list[Message]:
        return [
            Message(role="assistant", content=completion.text.strip() or "(nothing)"),
            Message(role="user", content=told),
        ]


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(value: object) -> str:
    """Plans are often written as lists."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
