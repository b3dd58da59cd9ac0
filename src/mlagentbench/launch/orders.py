"""What the processes of an experiment are told to do, and what they tell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from mlagentbench.launch.cells import Cell
from mlagentbench.launch.plan import ModelEntry, Plan, Reference

Ending = Literal["done", "stopped", "model", "refused", "machine", "failed"]
"""How a process ended that could still say so: its work is done; it was asked to stop; its model could not be had; the
key for its model was refused; the machine failed while it graded; something else went wrong that has a name."""


class _Order(BaseModel):
    model_config = ConfigDict(frozen=True)


class RunOrder(_Order):
    """Make a run, or go on with one."""

    kind: Literal["run"] = "run"
    cell: Cell
    plan: Plan
    runs: Path
    experiment: str
    folder: Path
    """Where the run lies, or will lie: whoever starts it knows that before there is anything, so that a run whose
    process dies is found again, however early that is."""
    give_up: str = ""
    """Not empty: end it as one that died, for this reason."""
    key: str | None = Field(None, repr=False)
    memory: int | None = None
    """For one execution, where nobody has said how much."""
    gpus: tuple[str, ...] = ()


class MeasureOrder(_Order):
    """Measure a task's own code."""

    kind: Literal["measure"] = "measure"
    task: str
    variant: str
    data_seed: int
    what: Reference
    network: bool
    plan: Plan
    key: str | None = Field(None, repr=False)


class CheckOrder(_Order):
    """Look whether models can be had."""

    kind: Literal["check"] = "check"
    models: tuple[ModelEntry, ...]
    with_tools: tuple[tuple[str, str], ...] = ()
    """Models that must have native tool calling, each with the agent that needs it."""


Order = RunOrder | MeasureOrder | CheckOrder
ORDER: TypeAdapter[Order] = TypeAdapter(Annotated[Order, Field(discriminator="kind")])


class Message(BaseModel):
    """From a process of an experiment, or about one."""

    job: int
    kind: Literal["started", "step", "call", "note", "ending", "gone", "lost"]
    """`gone`: the process has ended. `lost`: it was killed together with the one that had started it."""
    text: str = ""
    """What was noted; what went wrong."""
    ending: Ending | None = None
    step: int = 0
    cost: float | None = 0.0
    """US dollars of the run so far; None where a price is not known."""
    status: int = 0
    """Of a process that is gone: its exit status, or a signal's number below zero."""
    cpu: float = 0.0
    """Seconds of user and system time of it and of all that it waited for."""


class Command(BaseModel):
    """To the process that starts the others."""

    job: int
    """0: every one."""
    order: dict[str, Any] | None = None
    cores: tuple[int, ...] = ()
    signal: int = 0
    """Sent to the job instead, if it still lives."""
    sandbox: str = ""
    """Of the runs that will come; with their `agents`, so that what they need is loaded."""
    agents: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    """Where modules are looked for."""


def as_json(order: Order) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(ORDER.dump_json(order, exclude_unset=False))
    return told
