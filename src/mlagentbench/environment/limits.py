"""What a run may use: the harness's defaults, over them the task's, over those the user's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from mlagentbench.errors import UsageError
from mlagentbench.record.request import RunLimits
from mlagentbench.sandbox import ResourceLimits, default_limits
from mlagentbench.task.definition import Limits
from mlagentbench.validation import problem_of


def run_limits(task: Limits, user: Mapping[str, Any] | None = None) -> RunLimits:
    """The limits of a run. `user` holds the fields that the user gave; a name that is no limit is refused."""
    machine = default_limits()
    values: dict[str, Any] = {
        "execution_time": machine.seconds,
        "memory": machine.memory,
        "processes": machine.processes,
        "disk": machine.disk,
        "files": machine.files,
        "output": machine.output,
    }
    values |= task.model_dump(exclude_none=True)
    return _checked(values | dict(user or {}))


def changed_limits(limits: RunLimits, user: Mapping[str, Any] | None) -> RunLimits:
    """The limits of a recorded run, with what the user now says instead."""
    return _checked(limits.model_dump() | dict(user or {}))


def _checked(values: Mapping[str, Any]) -> RunLimits:
    try:
        return RunLimits.model_validate(values)
    except ValidationError as error:
        name, wrong = problem_of(error, RunLimits, "limit")
        known = ", ".join(RunLimits.model_fields)
        raise UsageError(f"The limit {name!r} is not right: {wrong} The limits are: {known}.") from None


def resource_limits(limits: RunLimits, seconds_left: float | None = None) -> ResourceLimits:
    """What one execution may use, given how much of the run's own time is left."""
    seconds = limits.execution_time if seconds_left is None else min(limits.execution_time, seconds_left)
    return ResourceLimits(
        seconds=max(seconds, 0.0),
        memory=limits.memory,
        processes=limits.processes,
        disk=limits.disk,
        files=limits.files,
        output=limits.output,
    )
