"""What a model is shown: the constant part first, then the last steps, and less of them if it is too long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.protocol import Past, Speech
from mlagentbench.agent.shortening import cut
from mlagentbench.model.spec import Message

PLAN = "Research Plan and Status"
_MARK = re.compile(r"(?<![\w*])\*\*(?=[^\s*])(.+?)(?<=[^\s*])\*\*(?![\w*])", re.DOTALL)
_SHORTEST = (2_000, 500)
"""Characters of what is left in the context, when fewer steps alone do not help."""


def without_marks(plan: str) -> str:
    """
    >>> without_marks("1. Baseline: **done, MAE 3.2**. 2. Try x**2.")
    '1. Baseline: done, MAE 3.2. 2. Try x**2.'
    """
    return _MARK.sub(r"\1", plan)


@dataclass(frozen=True)
class View:
    """How much is shown."""

    steps: int
    observations: int
    limit: int | None = None
    """Characters of each observation, and of what was retrieved."""

    def smaller(self) -> Iterator[View]:
        """Less and less, for a model that this is too long for: first the oldest steps go."""
        for steps in range(self.steps - 1, 0, -1):
            yield replace(self, steps=steps)
        for limit in _SHORTEST:
            yield replace(self, steps=min(self.steps, 1), limit=limit)
        yield View(0, 0, _SHORTEST[-1])


@dataclass
class Context:
    """What happened so far, as far as the model may be reminded of it."""

    problem: str
    system: str
    """The name of the system prompt."""
    forgets_mistakes: bool = False
    """Whether actions whose input could not be understood are dropped when one could be."""
    past: list[Past] = field(default_factory=list)
    plan: str = ""
    earlier: str = ""
    """Of the steps that are not shown any more, from the research log."""
    lost: str = ""
    """Why the last decision was lost, where it was."""
    offered: tuple[str, ...] = ()
    """The actions to choose from next, where not all are."""
    _mistakes: set[int] = field(default_factory=set)
    direction: str = ""
    """What kind of change the next edit should make, where that is told."""

    def remember(self, past: Past, *, understood: bool = True) -> None:
        """Add a step; `understood` where its input could be. A plan that was not written again stays as it was."""
        entries = dict(past.decision.entries)
        if PLAN in entries:
            entries[PLAN] = self.plan = without_marks(entries[PLAN])
        if understood and self.forgets_mistakes:
            self.past = [each for each in self.past if each.index not in self._mistakes]
        elif not understood:
            self._mistakes.add(past.index)
        self.past.append(replace(past, decision=replace(past.decision, entries=entries)))
        self.lost = ""

    def messages(self, speech: Speech, view: View) -> list[Message]:
        shown = self.past[-view.steps :] if view.steps else []
        parts = []
        if self.earlier:
            parts.append(prompt("earlier", log=_limited(self.earlier, view.limit)))
        if self.plan and not any(PLAN in past.decision.entries for past in shown):
            parts.append(prompt("plan", plan=_limited(self.plan, view.limit)))
        parts.append(prompt("recent" if shown else "go_on" if self.past else "begin"))
        messages = [self._system(speech), Message(role="user", content="\n\n".join(parts))]
        for index, past in enumerate(shown):
            text = _limited(past.observation, view.limit)
            if len(shown) - index > view.observations:
                text = "[left out]"
            messages += speech.show(replace(past, observation=text))
        if self.lost:
            messages.append(Message(role="user", content=prompt("lost", sentence=self.lost)))
        if self.offered:
            messages.append(Message(role="user", content=prompt("offered", actions=", ".join(self.offered))))
        if self.direction:
            messages.append(Message(role="user", content=prompt("direction", kind=self.direction)))
        return joined(messages)

    def _system(self, speech: Speech) -> Message:
        text = prompt(self.system, problem=self.problem, instructions=speech.instructions())
        return Message(role="system", content=text)


def joined(messages: Sequence[Message]) -> list[Message]:
    """Turns of the user that follow each other as one: there are models that insist on taking turns."""
    result: list[Message] = []
    for message in messages:
        if result and message.role == "user" == result[-1].role:
            result[-1] = Message(role="user", content=f"{result[-1].content}\n\n{message.content}")
        else:
            result.append(message)
    return result


def _limited(text: str, limit: int | None) -> str:
    return text if limit is None else cut(text, limit)
