"""Models that say what a test tells them to, and decisions as models write them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mlagentbench import Run
from mlagentbench.agent.json_protocol import key_of
from mlagentbench.agent.protocol import Decision
from mlagentbench.agent.text_protocol import render
from mlagentbench.agent.tool_protocol import tool_name
from mlagentbench.model.mock import Scripted, ScriptedCall
from mlagentbench.model.spec import Completion, Message, Sampling, Tool, ToolCall, Usage
from mlagentbench.record import Action

SOLUTION = """import csv

rows = list(csv.DictReader(open("train.csv")))
mean = sum(float(row["distance"]) for row in rows) / len(rows)
print("mean", mean)
with open("submission.csv", "w", newline="") as stream:
    writer = csv.writer(stream)
    writer.writerow(["id", "distance"])
    for row in csv.DictReader(open("test.csv")):
        writer.writerow([row["id"], mean])
"""
EDIT = f"Here it is.\n```python\n{SOLUTION}```\n"

STORY = [
    Action("List Files", {"dir_path": "."}),
    Action("Read File", {"file_name": "train.py"}),
    Action("Execute Script", {"script_name": "train.py"}),
    Action(
        "Edit Script (AI)",
        {"script_name": "train.py", "edit_instruction": "Take the mean.", "save_name": "train.py"},
    ),
    Action("Execute Script", {"script_name": "train.py"}),
    Action("Final Answer", {"final_answer": 'The mean, "Action: x" and all.'}),
]
"""Reads, measures, edits, runs and submits; of any task whose script is train.py."""


class Killed(BaseException):
    """As if the harness were killed."""


@dataclass
class Told:
    """Says `replies` in their order, and goes on where it was when a run is resumed with it."""

    replies: Sequence[Completion | BaseException] | Callable[[int], Completion]
    name: str = "test/told"
    speaks_tools: bool = True
    before: Callable[[int], None] = lambda call: None
    """Called with the number of the call; may raise."""
    asked: list[tuple[list[Message], Sampling, tuple[Tool, ...]]] = field(default_factory=list)
    said: int = 0

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        self.before(self.said)
        self.asked.append((list(messages), sampling, tuple(tools)))
        reply = self.replies(self.said) if callable(self.replies) else self.replies[self.said]
        self.said += 1
        if isinstance(reply, BaseException):
            raise reply
        return reply


def completion(text: str = "", *calls: ToolCall, stop_reason: str = "stop") -> Completion:
    return Completion.model_validate(
        {
            "text": text,
            "tool_calls": calls,
            "usage": Usage(input=100, output=10),
            "stop_reason": stop_reason,
            "model": "told",
            "latency": 0.0,
        }
    )


def entries_for(agent: str, number: int) -> dict[str, str]:
    names = {
        "research": ("Reflection", "Research Plan and Status", "Fact Check", "Thought"),
        "react": ("Thought",),
        "act": (),
    }[agent]
    return {name: f"{name.lower()} {number}, **new**" for name in names}


def reply(protocol: str, entries: dict[str, str], action: Action, number: int = 0) -> Completion:
    """A decision as a model writes it."""
    if protocol == "text":
        return completion(render(Decision(entries, action)))
    if protocol == "json":
        written: dict[str, Any] = {key_of(name): text for name, text in entries.items()}
        return completion(json.dumps(written | {"action": action.name, "action_input": action.args}))
    beside = "\n".join(f"{name}: {text}" for name, text in entries.items())
    call = ToolCall(
        id=f"call-{number}",
        name=tool_name(action.name),
        arguments=json.dumps(action.args),
        signature=f"sig-{number}",
    )
    return completion(beside, call, stop_reason="tool_calls")


def replies(protocol: str, agent: str = "research", story: Sequence[Action] = STORY) -> list[Completion]:
    return [
        reply(protocol, entries_for(agent, number), action, number)
        for number, action in enumerate(story, start=1)
    ]


def script_line(said: Completion) -> str:
    """A completion as a line of a script for the provider `mock`."""
    calls = tuple(ScriptedCall(name=call.name, arguments=call.arguments) for call in said.tool_calls)
    return Scripted(text=said.text, tool_calls=calls).model_dump_json()


def killed_and_resumed(start: Callable[[], object], again: Callable[[Path], Run], runs: Path) -> Run:
    """The end of a run that is killed when it is started, and again and again while it is resumed."""
    with pytest.raises(Killed):
        start()
    (folder,) = (found.parent for found in runs.glob("*/*/*/*/run.json"))
    while True:
        with contextlib.suppress(Killed):
            return again(folder)


def killer() -> Callable[[int], None]:
    """Kills at each call that it has not met before."""
    met: set[int] = set()

    def killing(call: int) -> None:
        if call not in met:
            met.add(call)
            raise Killed

    return killing


def timeless(text: str) -> str:
    """Without the lines that tell how long an execution took."""
    return "\n".join(line for line in text.split("\n") if "peak memory" not in line)
