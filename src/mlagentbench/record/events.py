"""What happened in a run, one typed event a line. Every type carries the version of its form.

The types are built when they are first used: all at once, they would be a tenth of the time to a run's first step.
"""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from mlagentbench.model.spec import Completion
from mlagentbench.record.steps import Action, Observation, Primitive


class _Event(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)
    format: int = 1
    time: float = Field(default_factory=time.time)


class RunStarted(_Event):
    type: Literal["run_started"] = "run_started"
    problem: str
    snapshot: str


class PathChange(BaseModel):
    """A path that a step changed; enough to list it without opening the store."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    path: str
    kind: Literal["added", "removed", "changed"]


class Edit(BaseModel):
    """A file that the harness wrote for the agent: what it was made from, and where it was saved."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    source: str
    saved: str


class StepTaken(_Event):
    type: Literal["step"] = "step"
    index: int
    action: Action
    observation: Observation
    primitives: tuple[Primitive, ...] = ()
    snapshot: str
    """The workspace after the step."""
    changes: tuple[PathChange, ...] = ()
    edits: tuple[Edit, ...] = ()
    undone: str = ""
    """The path that this step set back, where it undid an edit."""
    final: bool = False
    seconds: float
    """All of the step: execution and harness."""
    elapsed: float
    """Seconds of the run so far, over all of its resumptions, waiting included."""


ModelRole = Literal["act", "edit", "fast", "tool"]
"""What a model was asked for: to decide, to edit, to read and sum up, or by a program that the agent wrote."""


class ModelCalled(_Event):
    """A completion that was asked for, or the error that came instead."""

    type: Literal["model_call"] = "model_call"
    role: ModelRole
    model: str
    request: str
    """Hash, in the store, of what was asked: messages, sampling and tools."""
    completion: Completion | None = None
    error: str = ""
    error_kind: str = ""
    """The name of the error's type, so that a replay meets the same one."""
    waited: float = 0.0
    """Seconds that a call took which brought an error; those of one that was answered are in its completion."""
    cost: float | None = None
    """In US dollars; None where the price is not known."""
    inside: bool = False
    """Asked for by an action, rather than by the agent itself."""
    elapsed: float


class Denied(_Event):
    """Something that the agent's code did and that did not stand."""

    type: Literal["denied"] = "denied"
    text: str


class LimitHit(_Event):
    """A limit of the whole run was reached."""

    type: Literal["limit"] = "limit"
    name: Literal["steps", "time", "tokens", "cost"]
    value: float


class Note(_Event):
    type: Literal["note"] = "note"
    text: str
    data: dict[str, Any] = Field(default_factory=dict)
    """For programs that read the record: a node of a search tree, for instance."""


class Resumed(_Event):
    type: Literal["resumed"] = "resumed"
    step: int
    dropped: int
    """Bytes of a torn last line that were dropped."""


EndReason = Literal["submitted", "limit", "stopped", "error", "died"]
"""The agent submitted; a limit of the run was reached; the agent stopped without submitting; the agent crashed; the
process of the run died again and again."""


class RunEnded(_Event):
    type: Literal["run_ended"] = "run_ended"
    reason: EndReason
    detail: str = ""
    snapshot: str
    elapsed: float


Event = RunStarted | StepTaken | ModelCalled | Denied | LimitHit | Note | Resumed | RunEnded

EVENT: TypeAdapter[Event] = TypeAdapter(
    Annotated[Event, Field(discriminator="type")], config=ConfigDict(defer_build=True)
)
