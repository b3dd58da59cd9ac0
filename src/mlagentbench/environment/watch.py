"""Looking on while a run goes on."""

from __future__ import annotations

from typing import Protocol

from mlagentbench.record.events import ModelCalled, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.steps import Action


class Watch(Protocol):
    """Told of everything as it happens. Its methods must be quick: the run waits for them."""

    def started(self, folder: RunFolder) -> None:
        """The run is open; this is where it is recorded."""

    def action(self, index: int, action: Action) -> None:
        """A step begins."""

    def output(self, text: str) -> None:
        """A program of the agent's wrote this. It is hostile text: show it only with its control characters taken
        out (`mlagentbench.environment.plain_text`)."""

    def step(self, step: StepTaken, replayed: bool) -> None:
        """A step is over and on disk."""

    def model(self, call: ModelCalled) -> None:
        """A model was asked, and the answer is on disk."""

    def note(self, text: str) -> None:
        """Something that is not a step."""

    def waiting(self, what: str, seconds: float) -> None:
        """A model is waited for longer than two seconds: what for, and since when. Said twice a second while it lasts;
        an empty `what` is the end of it. Called by several threads."""


class Spacing:
    """Which of the many reports of one wait are worth a line: the first, and then ever fewer."""

    def __init__(self, first: float) -> None:
        """`first`: seconds that are waited before the first line about a wait of unknown length."""
        self._first = first
        self._next: dict[str, float] = {}

    def worth_a_line(self, what: str, seconds: float) -> bool:
        if not what:
            self._next.clear()
            return False
        known = what not in self._next and seconds < 1  # told at its beginning, since it will be long
        if not known and seconds < self._next.get(what, self._first):
            self._next.setdefault(what, self._first)
            return False
        self._next[what] = max(2 * seconds, 10.0)
        return True


def asked_to_stop(watch: Watch) -> bool:
    """Whether whoever looks on wants the run to stop soon. One that can want it says so by an attribute `stopping`."""
    return bool(getattr(watch, "stopping", False))


class Silence:
    """Nobody looks on."""

    def started(self, folder: RunFolder) -> None: ...

    def action(self, index: int, action: Action) -> None: ...

    def output(self, text: str) -> None: ...

    def step(self, step: StepTaken, replayed: bool) -> None: ...

    def model(self, call: ModelCalled) -> None: ...

    def note(self, text: str) -> None: ...

    def waiting(self, what: str, seconds: float) -> None: ...
