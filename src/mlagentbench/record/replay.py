"""Resuming is replaying: a new start of the agent is answered from the record until the record is used up."""

from __future__ import annotations

import json
import sys
from collections import defaultdict, deque
from collections.abc import Iterable

from mlagentbench.errors import DivergedError
from mlagentbench.record.events import Event, ModelCalled, ModelRole, StepTaken
from mlagentbench.record.steps import Action


class Replay:
    """The recorded steps and model calls that are still to be asked for again.

    Calls that an action made are not asked for again, since the whole step is answered. Those at the end of the
    record, of an action that a kill cut short, are `spare`: the action is done again, and finds them there.
    """

    def __init__(self, events: Iterable[Event], inherited: int = 0) -> None:
        """Of the steps up to `inherited`, which a fork has from another run, a call is answered whatever it asks."""
        kept = [event for event in events if isinstance(event, StepTaken | ModelCalled)]
        while kept and isinstance(last := kept[-1], ModelCalled) and _may_succeed_now(last):
            kept.pop()
        self._inherited = inherited
        end = len(kept)
        while end and isinstance(last := kept[end - 1], ModelCalled) and last.inside:
            end -= 1
        self._rest = deque(kept[:end])
        self._spare: dict[tuple[ModelRole, str], deque[ModelCalled]] = defaultdict(deque)
        for call in kept[end:]:
            if isinstance(call, ModelCalled):
                self._spare[call.role, call.request].append(call)

    def __bool__(self) -> bool:
        return bool(self._rest)

    @property
    def upcoming(self) -> Action | None:
        """What the agent did next, for agents that cannot know it themselves, such as a person."""
        return next((event.action for event in self._rest if isinstance(event, StepTaken)), None)

    def skip(self, last: int) -> StepTaken | None:
        """The next step, without anybody having asked for it; None if there is none up to `last`."""
        if self._step() > last:
            return None
        while self._rest:
            event = self._rest.popleft()
            if isinstance(event, StepTaken):
                return event
        return None

    def answer(self, action: Action) -> StepTaken:
        """The recorded step for `action`, which must be the one that was recorded next."""
        while isinstance(event := self._rest[0], ModelCalled) and event.inside:
            self._rest.popleft()
        if not isinstance(event, StepTaken):
            raise _diverged(f"asks for {_show(action)}", f"a call of its {event.role} model", self._step())
        if action != event.action:
            raise _diverged(f"asks for {_show(action)}", _show(event.action), event.index)
        self._rest.popleft()
        return event

    def answer_call(self, role: ModelRole, request: str) -> ModelCalled:
        """The recorded answer to a call of the agent's, which must be what was recorded next."""
        event = self._rest[0]
        if not isinstance(event, ModelCalled):
            raise _diverged(f"calls its {role} model", _show(event.action), event.index)
        same = event.role == role and (event.request == request or self._step() <= self._inherited)
        if not same:
            raise _diverged(f"asks its {role} model something else", "another prompt", self._step())
        self._rest.popleft()
        return event

    def take_spare(self, role: ModelRole, request: str) -> ModelCalled | None:
        """The answer that the same call got before the kill, if it got one."""
        waiting = self._spare[role, request]
        return waiting.popleft() if waiting else None

    def _step(self) -> int:
        """The recorded step that comes next; one beyond all of them where there is none."""
        return next((event.index for event in self._rest if isinstance(event, StepTaken)), sys.maxsize)


def _may_succeed_now(call: ModelCalled) -> bool:
    """Whether a call at the end of a record failed for a reason that may be gone: a server that was down, a key."""
    return call.completion is None and call.error_kind != "TooLongError"


def _diverged(now: str, recorded: str, step: int) -> DivergedError:
    step = 0 if step == sys.maxsize else step
    return DivergedError(
        f"The agent diverged from its record at step {step}: it now {now}, recorded is {recorded}. "
        f"It is not deterministic, or its settings changed. "
        f"`mlagentbench fork RUN --step {max(step - 1, 0)}` goes on from the step before as a new run."
    )


def _show(action: Action) -> str:
    arguments = json.dumps(action.args, ensure_ascii=False)
    return f"{action.name} {arguments if len(arguments) <= 300 else arguments[:300] + '…'}"
