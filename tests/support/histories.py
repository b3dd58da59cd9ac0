"""Events of runs, written by hand."""

from __future__ import annotations

from itertools import count
from typing import Any

from mlagentbench.model.spec import Completion, Usage
from mlagentbench.record.events import Edit, Event, ModelCalled, RunEnded, RunStarted, StepTaken
from mlagentbench.record.steps import Action, Execution, Observation


class History:
    """A run told step by step. Each step takes a second, each call of a model another one."""

    def __init__(self, problem: str = "Improve train.py.") -> None:
        self.events: list[Event] = [RunStarted(problem=problem, snapshot="snapshot-0")]
        self._index = count(1)
        self._elapsed = 0.0

    @property
    def snapshot(self) -> str:
        return next(event.snapshot for event in reversed(self.events) if hasattr(event, "snapshot"))

    def step(
        self,
        name: str,
        text: str = "",
        *,
        ok: bool = True,
        ran: bool = False,
        args: dict[str, Any] | None = None,
        snapshot: str = "",
        edited: str = "",
        undone: str = "",
    ) -> History:
        index = next(self._index)
        self._elapsed += 1.0
        execution = (
            Execution(exit_status=0 if ok else 1, wall_seconds=0.5, cpu_seconds=0.4, peak_memory=1000 * index)
            if ran
            else None
        )
        self.events.append(
            StepTaken(
                index=index,
                action=Action(name, args),
                observation=Observation(text=text, ok=ok, execution=execution),
                snapshot=snapshot or f"snapshot-{index}",
                edits=(Edit(source=edited, saved=edited),) if edited else (),
                undone=undone,
                final=name == "Final Answer",
                seconds=1.0,
                elapsed=self._elapsed,
            )
        )
        return self

    def call(
        self,
        text: str = "",
        *,
        role: str = "act",
        usage: Usage | None = None,
        cost: float | None = 0.01,
        error: str = "",
        inside: bool = False,
        waited: float = 0.0,
    ) -> History:
        self._elapsed += 1.0 + waited
        completion = Completion(
            text=text,
            usage=usage or Usage(input=100, output=10),
            stop_reason="stop",
            model="told",
            latency=1.0,
            waited=waited,
        )
        self.events.append(
            ModelCalled(
                role=role,
                model="test/told",
                request="0" * 64,
                completion=None if error else completion,
                error=error,
                error_kind="UnavailableError" if error else "",
                cost=None if error else cost,
                inside=inside,
                elapsed=self._elapsed,
            )
        )
        return self

    def end(self, reason: str = "submitted", detail: str = "") -> History:
        self.events.append(
            RunEnded(reason=reason, detail=detail, snapshot=self.snapshot, elapsed=self._elapsed)
        )
        return self
