"""A person who goes along with a run: nothing is changed, run or ended without their consent, and what they say reaches
the agent as part of an observation, so that the record holds it and a resumed run replays it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from mlagentbench.environment.actions.registry import Effect, understand
from mlagentbench.environment.outcome import Outcome, refused
from mlagentbench.environment.workbench import Workbench
from mlagentbench.record.steps import Action
from mlagentbench.workspace import Store


@dataclass(frozen=True)
class Proposal:
    """What the agent wants to do. An edit is already known: `before` and `after` are snapshots in `store`."""

    index: int
    action: Action
    effect: Effect
    store: Store
    before: str
    after: str


@dataclass(frozen=True)
class Answer:
    """`words` is the reason of a refusal, or what to do instead."""

    allowed: bool
    words: str = ""


class Person(Protocol):
    """Asked before anything but reading is done."""

    def consider(self, proposal: Proposal) -> Answer: ...

    def help(self, question: str) -> str:
        """The answer to what the agent wants to know."""

    def words(self) -> str:
        """What they have said unasked since this was last called."""


class Agreeable:
    """Stands for a person who allows everything and is not there to be asked."""

    def consider(self, proposal: Proposal) -> Answer:
        return Answer(True)

    def help(self, question: str) -> str:
        return "Nobody is there to answer. Go on as you think best."

    def words(self) -> str:
        return ""


class EndedByPersonError(BaseException):
    """The person wants the run to end where it is. Raised anywhere, so nothing that was under way counts."""


def perform_with(
    person: Person, bench: Workbench, action: Action, shown: Iterable[str], before: str
) -> Outcome:
    """Do what `action` asks for, if the person agrees. `before` is the workspace's last snapshot."""
    if words := person.words():
        return refused(f"This was not done, because the person says something first.\n{_said(words)}")
    understood = understand(action, shown)
    if isinstance(understood, Outcome):
        return _heard(person, understood)
    effect = understood.kind.effect
    if effect in ("runs", "ends"):
        asked = Proposal(bench.step, action, effect, bench.workspace.store, before, before)
        answer = person.consider(asked)
        if not answer.allowed:
            return refused(_refusal(effect, answer))
    outcome = understood.perform(bench)
    if effect == "changes":
        after = bench.workspace.preview()
        if after.changes:
            answer = person.consider(
                Proposal(bench.step, action, effect, bench.workspace.store, before, after.id)
            )
            if not answer.allowed:
                bench.workspace.restore(before)
                return refused(_refusal(effect, answer))
    return _heard(person, outcome)


def _heard(person: Person, outcome: Outcome) -> Outcome:
    """What the person said meanwhile is told with what came of the action."""
    if not (words := person.words()):
        return outcome
    text = f"{outcome.observation.text}\n{_said(words)}"
    return replace(outcome, observation=outcome.observation.model_copy(update={"text": text}))


def _refusal(effect: Effect, answer: Answer) -> str:
    what = {
        "changes": "The person did not allow this change, and the files are as they were.",
        "runs": "The person did not allow this, and nothing was run.",
        "ends": "The person does not take this as the end; the work goes on.",
    }.get(effect, "The person did not allow this.")
    return f"{what}\n{_said(answer.words)}" if answer.words else what


def _said(words: str) -> str:
    return f"[The person says: {words}]"
