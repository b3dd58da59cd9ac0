"""What an agent thought before each step, as people read it: short in a list of steps, whole for one step."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mlagentbench.agent.context import without_marks
from mlagentbench.cli.screen import Part, Screen
from mlagentbench.cli.words import shortened
from mlagentbench.evaluation.statements import said_in
from mlagentbench.record.events import Event, ModelCalled, StepTaken

_LONGEST_LINE = 110
_MOST_CHANGES = 3
"""Lines of a plan that changed, where not all is shown."""
_PLAN = "plan"


@dataclass(frozen=True)
class Thoughts:
    """What was said before one step, each with what it is: reflection, plan, fact check, thought."""

    entries: tuple[tuple[str, str], ...]
    plan_before: str = ""
    """The plan as it was last written before, without its marks."""

    def draw_short(self, screen: Screen) -> None:
        """A line for each entry; of the plan, what has changed."""
        for where, text in self.entries:
            if where != _PLAN:
                screen.line((f"      {where}: ", "label"), (shortened(text, _LONGEST_LINE), "dim"))
                continue
            changes = [line for line in self._plan(text) if line[0] in "+-"]
            for mark, line in changes[:_MOST_CHANGES]:
                screen.line(("      plan: ", "label"), _marked(mark, shortened(line, _LONGEST_LINE)))
            if len(changes) > _MOST_CHANGES:
                more = len(changes) - _MOST_CHANGES
                screen.line((f"      plan: {more} more changed lines", "dim"))

    def draw_whole(self, screen: Screen) -> None:
        """Every entry in full; lines of the plan that are new or gone are marked."""
        for where, text in self.entries:
            screen.line((f"{where}:", "label"))
            if where == _PLAN:
                for mark, line in self._plan(text):
                    screen.line("  ", _marked(mark, line))
            else:
                screen.line("\n".join(f"  {line}" for line in text.strip().splitlines()))

    def _plan(self, text: str) -> Iterator[tuple[str, str]]:
        """The lines of the plan, each with `+` if it is new, `-` if it is gone, and else a space."""
        before, now = _lines(self.plan_before), _lines(text)
        for line in difflib.ndiff(before, now):
            if line[0] in " +-":
                yield line[0], line[2:]


def thoughts_before(events: Iterable[Event]) -> dict[int, Thoughts]:
    """What the agent thought before each step, by the number of the step; steps that no model decided on have none."""
    found: dict[int, Thoughts] = {}
    reply, plan = "", ""
    for event in events:
        if isinstance(event, ModelCalled) and not event.inside and event.role in ("act", "edit"):
            reply = event.completion.text if event.completion is not None else reply
        elif isinstance(event, StepTaken):
            if entries := tuple((where, text) for where, text in said_in(reply) if text.strip()):
                found[event.index] = Thoughts(entries, plan)
                plan = next((without_marks(text) for where, text in entries if where == _PLAN), plan)
            reply = ""
    return found


def _lines(plan: str) -> list[str]:
    return [line.rstrip() for line in without_marks(plan).strip().splitlines() if line.strip()]


def _marked(mark: str, line: str) -> Part:
    return (f"{mark} {line}", "good" if mark == "+" else "bad" if mark == "-" else "")
