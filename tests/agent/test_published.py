"""The same replies as the original agents got, and what they did with them, from `published.yaml`."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.acting import steps_of
from telling import Told, completion, entries_for

from mlagentbench import run
from mlagentbench.environment.actions.registry import NOT_JSON, understand
from mlagentbench.environment.outcome import Outcome
from mlagentbench.model.spec import Message
from mlagentbench.record.folder import RunFolder
from mlagentbench.workspace import read

FACTS = yaml.safe_load(Path(__file__).with_name("published.yaml").read_text(encoding="utf-8"))
_THOUGHT = re.compile(r"^Thought: t(\d)", re.MULTILINE)
_ENTRY = re.compile(r"because of t(\d)")


class Heard(Told):
    """Says what a fact says, and writes down for what it was asked."""

    calls: list[str]
    agent: str
    problem: str = ""
    role: str = "act"

    def complete(self, messages, sampling, tools=()):
        asked = "\n".join(message.content for message in messages[1:] or messages)
        assert sampling.stop == ("Observation:",), "of every call"
        self.calls.append(getattr(self, f"_{self.role}")(list(messages), asked))
        if self.role != "fast":
            return super().complete(messages, sampling, tools)
        told = "" if self.calls[-1].startswith("retrieve") else f"because of t{self.calls[-1].split()[1]}"
        return completion(f"summary {told}")

    def _act(self, messages: list[Message], asked: str) -> str:
        # Replies that were refused, and why, are shown after the steps.
        steps = [
            (said, seen)
            for said, seen in pairwise(messages)
            if said.role == "assistant" and seen.content.startswith("Observation:")
        ]
        shown = " ".join(found[1] for said, _ in steps if (found := _THOUGHT.search(said.content)))
        if self.agent == "act" and steps:
            shown = f"x{len(steps)}"
        wrong = sum("The arguments of" in seen.content for _, seen in steps)
        return " ".join(["act", *([shown] if shown else []), *([f"!{wrong}"] if wrong else [])])

    def _edit(self, messages: list[Message], asked: str) -> str:
        return "edit"

    def _fast(self, messages: list[Message], asked: str) -> str:
        if "research log of a machine-learning project" in asked:
            assert "Predict how far a ball flies" in asked, "the problem is in it"
            return " ".join(["retrieve", *_ENTRY.findall(asked)])
        return " ".join(["log", *_THOUGHT.findall(asked)])


def _written(fact: dict[str, Any], agent: str) -> str:
    if "text" in fact:
        return str(fact["text"])
    entries = dict.fromkeys(entries_for(agent, 1), "x")
    if "Thought" in entries:
        entries["Thought"] = f"t{fact['t']}"
    entries |= {"Action": fact["action"], "Action Input": fact["input"]}
    return "\n".join(f"{name}: {text}" for name, text in entries.items())


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact['agent']}: {fact['about']}")
def test_the_published_text_protocol(
    fact: dict[str, Any], tiny_task: Path, runs: Path, speak_with: Callable[..., None]
) -> None:
    agent = fact["agent"]
    said = {
        "act": [completion(_written(each, agent)) for each in fact["replies"]],
        "edit": [completion(each) for each in fact.get("edits", ())],
        "fast": [],
    }
    calls: list[str] = []
    models = {}
    for role, replies in said.items():
        models[role] = Heard(replies)
        models[role].calls, models[role].agent, models[role].role = calls, agent, role
    speak_with(**models)
    settings = {name: fact[name] for name in ("entries", "retrieval") if name in fact}
    done = run(
        tiny_task, agent, "test/told", settings=settings, runs=runs, limits={"steps": fact.get("steps", 50)}
    )
    expected = fact | fact.get("differs", {})
    taken = steps_of(done)
    assert calls == expected["calls"]
    understood = [step for step in taken if not isinstance(understand(step.action, ()), Outcome)]
    assert [step.action.name for step in understood] == expected["done"]
    ends = {"submitted": "submitted", "stopped": "unusable", "limit": "limit"}
    assert ends[str(done.summary.ended)] == expected["end"]
    if "file" in expected:
        store = RunFolder.open(done.folder).store()
        assert read(store, taken[-1].snapshot, "train.py", 1000).decode().strip() == expected["file"]
    for step in taken:
        if NOT_JSON in step.action.args:
            assert not step.observation.ok and not step.changes, "a step that is counted, and does nothing"
