"""What an agent said in a run, in the order in which it did: thoughts, plans, reflections, log entries, its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mlagentbench.environment.output import plain_text
from mlagentbench.record.events import Event, ModelCalled, StepTaken

LONGEST = 12_000
"""Characters of one reply that are read: its beginning, since the rest is mostly code."""
_DEEPEST = 6
_NOT_SAID = frozenset({"action", "action_input", "command", "arguments", "args", "tool", "code", "name"})
_SPOKEN_ARGS = {
    "Final Answer": ("final_answer", "answer"),
    "Append Summary to Research Log": ("content", "research log"),
    "Reflection": ("things_to_reflect_on", "reflection"),
    "Retrieval from Research Log": ("current_plan", "plan"),
}
"""The arguments in which an agent speaks, and what that is called."""
_THOUGHT = frozenset({"Reflection", "Retrieval from Research Log"})
"""Actions whose observation a model wrote."""
_HEADER = re.compile(r"^[ \t#*]*([A-Z][A-Za-z ]{2,40}?)[*]*:[*]*[ \t]*", re.MULTILINE)
_PLACES = {
    "reflection": "reflection",
    "research plan and status": "plan",
    "plan": "plan",
    "fact check": "fact check",
    "thought": "thought",
    "thoughts": "thought",
}


@dataclass(frozen=True, slots=True)
class Statement:
    step: int
    """The step that it was said before, or in."""
    where: str
    text: str


def statements(events: Sequence[Event]) -> Iterator[tuple[int, Statement]]:
    """Everything that was said, each with the number of events that had happened before. Replies of the deciding model
    that led to no step are left out: nothing was done on their account."""
    deciding: ModelCalled | None = None
    next_step = 1
    for number, event in enumerate(events):
        if isinstance(event, ModelCalled):
            if event.inside or event.completion is None:
                continue
            if event.role == "act":
                deciding = event
            elif event.role == "fast":
                yield number, Statement(next_step, "research log", _prose(event.completion.text[:LONGEST]))
        elif isinstance(event, StepTaken):
            if deciding is not None and deciding.completion is not None:
                for where, text in said_in(deciding.completion.text):
                    yield number, Statement(event.index, where, text)
                deciding = None
            yield from ((number, each) for each in _spoken(event))
            if event.action.name in _THOUGHT and event.observation.ok:
                text = event.observation.text[:LONGEST]
                yield number, Statement(event.index, "reflection", _prose(text))
            next_step = event.index + 1


def _spoken(step: StepTaken) -> Iterator[Statement]:
    argument, where = _SPOKEN_ARGS.get(step.action.name, ("", ""))
    text = step.action.args.get(argument)
    if isinstance(text, str):
        yield Statement(step.index, where, _prose(text[:LONGEST]))


def said_in(reply: str) -> list[tuple[str, str]]:
    """The entries of a reply, by what they are; code and what was asked of an action are not said."""
    text = reply[:LONGEST]
    if text.lstrip().startswith("{"):
        try:
            return [(where, _prose(said)) for where, said in _entries(json.loads(reply), "thought", 0)]
        except (ValueError, RecursionError):
            pass
    return list(_sections(_prose(text)))


def _entries(value: Any, where: str, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value[:LONGEST]
    elif depth < _DEEPEST and isinstance(value, dict):
        for name, inner in value.items():
            if name not in _NOT_SAID:
                yield from _entries(inner, _PLACES.get(name.replace("_", " ").lower(), where), depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for inner in value[:50]:
            yield from _entries(inner, where, depth + 1)


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """By headers at the start of a line, as the published way of replying has them."""
    where, start = "thought", 0
    for header in _HEADER.finditer(text):
        name = header[1].lower()
        if name in _PLACES or name in ("action", "action input"):
            if text[start : header.start()].strip() and where:
                yield where, text[start : header.start()]
            where, start = _PLACES.get(name, ""), header.end()
    if where and text[start:].strip():
        yield where, text[start:]


def _prose(text: str) -> str:
    """Without fenced code, and without what only steers a terminal."""
    kept: list[str] = []
    fence = ""
    for line in plain_text(text).split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        elif not fence:
            kept.append(line)
    return "\n".join(kept)
