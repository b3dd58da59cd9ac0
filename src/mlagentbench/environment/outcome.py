"""What performing an action came to."""

from __future__ import annotations

from dataclasses import dataclass

from mlagentbench.record.events import Edit
from mlagentbench.record.steps import Observation


@dataclass(frozen=True)
class Outcome:
    """The observation, and what the environment must know besides."""

    observation: Observation
    executed: bool = False
    """Whether anything of the agent's ran, so that the workspace must be looked at."""
    still_alive: bool = False
    """Whether what ran is only frozen: it may hold files in memory, whose changes leave no trace in their times."""
    edits: tuple[Edit, ...] = ()
    undone: str = ""
    final: bool = False
    interrupted: bool = False
    """Whether the user stopped the harness meanwhile: the step is kept, then the harness stops."""


@dataclass(frozen=True)
class PastEdit:
    """An edit that can be undone: what was edited, and the snapshot before it."""

    edit: Edit
    before: str


def told(text: str) -> Outcome:
    return Outcome(Observation(text=text))


def refused(text: str) -> Outcome:
    return Outcome(Observation(text=text, ok=False))
