"""The same decisions by native tool calling: each action is a tool, and the text beside the call holds the entries."""

from __future__ import annotations

import json
import re

from mlagentbench.agent.prompting import entry_list, prompt
from mlagentbench.agent.protocol import Decision, FormatError, Past, Vocabulary
from mlagentbench.agent.strict_json import read_object
from mlagentbench.agent.text_protocol import entries_beside
from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.model.spec import Completion, Message, Sampling, Tool, ToolCall
from mlagentbench.record import Action


def tool_name(action: str) -> str:
    """A name that every provider takes.

    >>> tool_name("Edit Script (AI)")
    'edit_script_ai'
    """
    return re.sub(r"[^a-z0-9]+", "_", action.lower()).strip("_")


class ToolSpeech:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._actions = {tool_name(name): name for name in vocabulary.accepted}
        assert len(self._actions) == len(vocabulary.accepted), "two actions share the name of a tool"
        self.tools = tuple(_tool(name) for name in vocabulary.shown)

    def instructions(self) -> str:
        words = self._vocabulary
        if not words.entries:
            return prompt("format_tools_only")
        return prompt("format_tools", entries=entry_list(words.entries, words.short))

    def sampling(self, sampling: Sampling) -> Sampling:
        return sampling

    def show(self, past: Past) -> list[Message]:
        action = past.decision.action
        arguments = json.dumps(action.args, ensure_ascii=False)
        text = "\n".join(f"{entry}: {content}" for entry, content in past.decision.entries.items())
        # Nine letters and digits: there are providers that take nothing else.
        call = past.decision.call or ToolCall(id=f"step{past.index:05d}", name="", arguments="")
        call = call.model_copy(update={"name": tool_name(action.name), "arguments": arguments})
        return [
            Message(role="assistant", content=text, tool_calls=(call,)),
            Message(role="tool", content=past.observation, tool_call_id=call.id),
        ]

    def read(self, completion: Completion) -> Decision | FormatError:
        calls = completion.tool_calls
        if len(calls) != 1:
            number = f"{len(calls)} tools were called" if calls else "No tool was called"
            return FormatError(f"{number}. Call exactly one tool in each reply.")
        (call,) = calls
        if call.name not in self._actions:
            known = ", ".join(tool.name for tool in self.tools)
            return FormatError(f"There is no tool {call.name[:100]!r}. The tools are: {known}.")
        read = _arguments(call.arguments)
        if isinstance(read, FormatError):
            return FormatError(f"The arguments of {call.name} could not be read. {read.sentence}")
        entries = entries_beside(completion.text, self._vocabulary.entries)
        return Decision(entries, Action(self._actions[call.name], read), call)

    def refuse(self, completion: Completion, told: str) -> list[Message]:
        """Calls are answered as calls where they can be; what is not JSON no provider would take back."""
        calls = completion.tool_calls
        if calls and all(isinstance(_arguments(call.arguments), dict) for call in calls):
            return [
                Message(role="assistant", content=completion.text, tool_calls=calls),
                *(Message(role="tool", content=told, tool_call_id=call.id) for call in calls),
            ]
        written = "\n".join([completion.text, *(f"[{call.name} {call.arguments}]" for call in calls)])
        return [
            Message(role="assistant", content=written.strip() or "(nothing)"),
            Message(role="user", content=told),
        ]


def _tool(action: str) -> Tool:
    schema = all_actions()[action].schema()
    return Tool(name=tool_name(action), description=schema["description"], parameters=schema["parameters"])


def _arguments(text: str) -> dict[str, object] | FormatError:
    """None at all is written as nothing by some models."""
    stripped = text.strip()
    read = read_object(stripped or "{}")
    if isinstance(read, FormatError):
        return read
    arguments, end = read
    if stripped[end:].strip():
        return FormatError("More follows after the JSON object.")
    return arguments
