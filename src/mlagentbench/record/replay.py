"""Resuming is replaying: a new start of the agent is answered from the record until the record is used up."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable

from mlagentbench.errors import DivergedError
from mlagentbench.record.events import StepTaken
from mlagentbench.record.steps import Action


class Replay:
    """The recorded steps that are still to be asked for again."""

    def __init__(self, steps: Iterable[StepTaken]) -> None:
        self._steps = deque(steps)

    def __bool__(self) -> bool:
        return bool(self._steps)

    @property
    def upcoming(self) -> Action | None:
        """What the agent did next, for agents that cannot know it themselves, such as a person."""
        return self._steps[0].action if self._steps else None

    def answer(self, action: Action) -> StepTaken:
        """The recorded step for `action`, which must be the one that was recorded next."""
        step = self._steps[0]
        if action != step.action:
            raise DivergedError(
                f"The agent diverged from its record at step {step.index}: it now asks for {_show(action)}, "
                f"recorded is {_show(step.action)}. It is not deterministic, or its settings changed. "
                f"`mlagentbench fork RUN --step {step.index}` goes on from there as a new run."
            )
        return self._steps.popleft()


def _show(action: Action) -> str:
    arguments = json.dumps(action.args, ensure_ascii=False)
    return f"{action.name} {arguments if len(arguments) <= 300 else arguments[:300] + '…'}"
