"""How a run went about its work, counted from its events alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from mlagentbench.record.events import Event, ModelCalled, RunEnded, StepTaken

Kind = Literal["look", "edit", "execute", "think", "submit", "lost", "other"]

RULES = 1
"""Of counting; a change makes kept profiles anew."""

_KINDS: dict[str, Kind] = {
    "List Files": "look",
    "Read File": "look",
    "Inspect Script Lines": "look",
    "Understand File": "look",
    "Write File": "edit",
    "Append File": "edit",
    "Copy File": "edit",
    "Undo Edit Script": "edit",
    "Edit Script (AI)": "edit",
    "Edit Script Segment (AI)": "edit",
    "Execute Script": "execute",
    "Python REPL": "execute",
    "Run Command": "execute",
    "Run Program": "execute",
    "Let Program Run": "execute",
    "Reflection": "think",
    "Append Summary to Research Log": "think",
    "Retrieval from Research Log": "think",
    "Request Help": "think",
    "Final Answer": "submit",
    "No Action": "lost",
}
_DIGITS = re.compile(r"[0-9]+")


class Process(BaseModel):
    """Counts of one run."""

    model_config = ConfigDict(frozen=True)
    steps: int = 0
    failed_steps: int = 0
    kinds: dict[Kind, int] = Field(default_factory=dict)
    """Steps by what they are for."""
    refused: int = 0
    """Steps that could not be carried out, so that no program ran: a wrong name, wrong arguments, no such file."""
    format_errors: int = 0
    """Replies of the deciding model that no action could be read from."""
    lost_decisions: int = 0
    """Steps without an action, after as many such replies as the agent tries."""
    repeated_errors: int = 0
    """Failed steps whose action and observation, digits aside, are those of an earlier failed step."""
    edits: int = 0
    """Steps that changed a file by an action that edits."""
    edits_undone: int = 0
    experiments: int = 0
    """Steps that ran a program."""
    failed_experiments: int = 0
    debugging_steps: int = 0
    """Experiments that failed where the one before had failed as well."""
    longest_failing: int = 0
    """The longest row of experiments that all failed."""


def kind_of(action: str) -> Kind:
    """What an action is for."""
    return _KINDS.get(action, "other")


def process_of(events: Sequence[Event]) -> Process:
    """The counts of a run so far."""
    steps = [event for event in events if isinstance(event, StepTaken)]
    failed = [step for step in steps if not step.observation.ok]
    ran = [step.observation.ok for step in steps if step.observation.execution is not None]
    rows = list(_failing_rows(ran))
    return Process(
        steps=len(steps),
        failed_steps=len(failed),
        kinds=dict(Counter(kind_of(step.action.name) for step in steps)),
        refused=sum(
            step.observation.execution is None and step.action.name != "No Action" for step in failed
        ),
        format_errors=_format_errors(events),
        lost_decisions=sum(step.action.name == "No Action" for step in steps),
        repeated_errors=_repeated(failed),
        edits=sum(bool(step.edits) for step in steps),
        edits_undone=sum(bool(step.undone) for step in steps),
        experiments=len(ran),
        failed_experiments=ran.count(False),
        debugging_steps=sum(row - 1 for row in rows),
        longest_failing=max(rows, default=0),
    )


def _format_errors(events: Sequence[Event]) -> int:
    """An answer of the deciding model is followed by a step, unless it could not be read: then by the next try, by a
    step that says so, or by the agent's giving up. An answer that a limit came after says nothing."""
    unread, answered = 0, False
    for event in events:
        if isinstance(event, ModelCalled):
            if event.role == "act" and not event.inside:
                unread += answered
                answered = event.completion is not None
        elif isinstance(event, StepTaken):
            unread += answered and event.action.name == "No Action"
            answered = False
        elif isinstance(event, RunEnded):
            unread += answered and event.reason == "stopped"
    return unread


def _repeated(failed: Sequence[StepTaken]) -> int:
    seen: set[tuple[str, str]] = set()
    count = 0
    for step in failed:
        said = (step.action.name, _DIGITS.sub("0", step.observation.text))
        count += said in seen
        seen.add(said)
    return count


def _failing_rows(ran: Sequence[bool]) -> Iterator[int]:
    row = 0
    for ok in ran:
        if ok and row:
            yield row
        row = 0 if ok else row + 1
    if row:
        yield row
