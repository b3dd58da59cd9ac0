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
