"""Runs and their steps as rows of two tables. The names of columns stay; what is not known is None."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Set
from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from mlagentbench.errors import RecordError
from mlagentbench.grading import Grade
from mlagentbench.record.events import ModelCalled, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import read_grades
from mlagentbench.record.request import RunRequest
from mlagentbench.record.summary import Summary, derive, read_summary

LONGEST_TEXT = 1_000_000
"""Characters of a text that stand in a cell."""


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """One run, or a folder that should be one and cannot be read."""

    run: str
    folder: str
    damage: str | None = None
    """Why the run cannot be read, or not all of it; whatever is not known for that is null."""
    experiment: str | None = None
    task: str | None = None
    task_version: str | None = None
    variant: str | None = None
    agent: str | None = None
    policy: str | None = None
    model: str | None = None
    edit_model: str | None = None
    fast_model: str | None = None
    settings: str | None = None
    seed: int | None = None
    data_seed: int | None = None
    data_digest: str | None = None
    created: float | None = None
    version: str | None = None
    imported: bool | None = None
    sandbox: str | None = None
    network: bool | None = None
    host_system: str | None = None
    host_machine: str | None = None
    host_cores: int | None = None
    host_memory: int | None = None
    limit_steps: int | None = None
    limit_seconds: float | None = None
    limit_tokens: int | None = None
    limit_cost: float | None = None
    ended: str | None = None
    detail: str | None = None
    steps: int | None = None
    failed_steps: int | None = None
    denied: int | None = None
    elapsed: float | None = None
    execution_wall: float | None = None
    execution_cpu: float | None = None
    peak_memory: int | None = None
    model_calls: int | None = None
    failed_calls: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    cost: float | None = None
    model_seconds: float | None = None
    waited: float | None = None
    graded: bool | None = None
    valid: bool | None = None
    reason: str | None = None
    score: float | None = None
    score_low: float | None = None
    score_high: float | None = None
    baseline: float | None = None
    baseline_spread: float | None = None
    improvement: float | None = None
    success: bool | None = None
    decided: bool | None = None
    over_plain: float | None = None
    position: float | None = None
    withheld: str | None = None
    head: str | None = None


@dataclass(frozen=True, kw_only=True)
class StepRow:
    """One step of a run."""

    run: str
    step: int
    time: float
    action: str
    arguments: str
    said: str | None
    ok: bool
    observation: str
    observation_characters: int
    output: str | None
    exit_status: int | None
    signal: int | None
    stopped_by: str | None
    wall_seconds: float | None
    cpu_seconds: float | None
    peak_memory: int | None
    seconds: float | None
    elapsed: float | None
    final: bool
    undone: str | None
    changed: str
    primitives: int
    model_calls: int
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    snapshot: str
    valid: bool | None
    score: float | None


Row = RunRow | StepRow


def cells(row: Row) -> dict[str, Any]:
    """A row by its columns, as JSON and tables can hold it."""
    return {each.name: _cell(getattr(row, each.name)) for each in fields(row)}


def column_types(kind: type[Row]) -> dict[str, type]:
    """What each column holds, but for None."""
    types: dict[str, type] = {}
    for name, hint in get_type_hints(kind).items():
        types[name] = next(
            (each for each in getattr(hint, "__args__", (hint,)) if each is not type(None)), str
        )
    return types


def bounded(text: str, limit: int = LONGEST_TEXT) -> str:
    """A text that can be written as UTF-8, cut where it is too long, with a word on how much was left out."""
    if len(text) > limit:
        half = limit // 2
        text = f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out here …]\n{text[-half:]}"
    return text.encode("utf-8", "backslashreplace").decode()


def run_row(folder: RunFolder) -> RunRow:
    """The row of a run, whatever state it is in."""
    try:
        request = folder.request()
    except (RecordError, OSError) as error:
        return RunRow(run=folder.path.name, folder=str(folder.path), damage=str(error))
    asked = _asked(folder, request)
    try:
        summary = summary_of(folder)
    except (RecordError, OSError) as error:
        return RunRow(**asked, damage=str(error))
    return RunRow(**asked, **_outcome(summary), **_verdict(summary.grade))


def summary_of(folder: RunFolder) -> Summary:
    """The summary, also of a run in a place that cannot be written."""
    try:
        return read_summary(folder)
    except OSError:
        return derive(folder)


def _asked(folder: RunFolder, request: RunRequest) -> dict[str, Any]:
    task, _, version = request.task.partition("@")
    imported = request.imported is not None
    return {
        "run": request.id,
        "folder": str(folder.path),
        "experiment": folder.path.parents[2].name,
        "task": task,
        "task_version": version,
        "variant": request.variant,
        "agent": request.called,
        "policy": request.agent,
        "model": request.model or None,
        "edit_model": request.edit_model or None,
        "fast_model": request.fast_model or None,
        "settings": json.dumps(request.settings, default=str),
        "seed": request.seed,
        "data_seed": request.data_seed,
        "data_digest": request.data_digest or None,
        "created": request.created,
        "version": request.version,
        "imported": imported,
        "sandbox": None if imported else request.sandbox,
        "network": request.network,
        "host_system": None if imported else request.host.system,
        "host_machine": None if imported else request.host.machine,
        "host_cores": None if imported else request.host.cores,
        "host_memory": None if imported else request.host.memory,
        "limit_steps": request.limits.steps,
        "limit_seconds": request.limits.time,
        "limit_tokens": request.limits.tokens,
        "limit_cost": request.limits.cost,
    }


_UNKNOWN = {
    "time": ("elapsed",),
    "tokens": ("tokens_in", "tokens_out", "tokens_cached"),
    "cost": ("cost",),
    "execution": ("execution_wall", "execution_cpu", "peak_memory", "model_seconds", "waited"),
}
"""The columns that an imported run may know nothing of."""


def _outcome(summary: Summary) -> dict[str, Any]:
    names = (
        "steps", "failed_steps", "denied", "elapsed", "execution_wall", "execution_cpu", "peak_memory",
        "model_calls", "failed_calls", "tokens_in", "tokens_out", "tokens_cached", "cost", "model_seconds",
        "waited", "head",
    )  # fmt: skip
    known = {name: getattr(summary, name) for name in names}
    for what in summary.unknown:
        known |= dict.fromkeys(_UNKNOWN[what])
    return known | {"ended": summary.ended or None, "detail": bounded(summary.detail) or None}


def _verdict(grade: Grade | None) -> dict[str, Any]:
    if grade is None:
        return {"graded": False}
    return {
        "graded": True,
        "valid": grade.valid,
        "reason": bounded(grade.reason) or None,
        "score": grade.score,
        "score_low": grade.interval.low if grade.interval else None,
        "score_high": grade.interval.high if grade.interval else None,
        "baseline": grade.baseline.mean if grade.baseline else None,
        "baseline_spread": grade.baseline.spread if grade.baseline else None,
        "improvement": grade.improvement,
        "success": grade.success,
        "decided": grade.decided,
        "over_plain": grade.over_plain,
        "position": grade.position,
        "withheld": grade.withheld or None,
    }


def step_rows(folder: RunFolder) -> Iterator[StepRow]:
    """The rows of a run's steps; none where its record cannot be read, which its own row tells."""
    try:
        request, events = folder.request(), folder.history().events
    except (RecordError, OSError):
        return
    try:
        grades = read_grades(folder)
    except RecordError:
        grades = {}
    unknown = set() if request.imported is None else {"execution", *request.imported.unknown}
    calls: list[ModelCalled] = []
    for event in events:
        if isinstance(event, ModelCalled):
            calls.append(event)
        elif isinstance(event, StepTaken):
            yield _step_row(request.id, event, calls, grades.get(event.snapshot), unknown)
            calls = []


def _step_row(
    run: str, step: StepTaken, calls: list[ModelCalled], grade: Grade | None, unknown: Set[str]
) -> StepRow:
    execution = None if "execution" in unknown else step.observation.execution
    counted = "tokens" not in unknown
    said = said_before(calls)
    answers = [call.completion for call in calls if call.completion]
    costs = [call.cost for call in calls if call.completion]
    return StepRow(
        run=run,
        step=step.index,
        time=step.time,
        action=bounded(step.action.name),
        arguments=bounded(json.dumps(step.action.args, default=str)),
        said=None if said is None else bounded(said),
        ok=step.observation.ok,
        observation=bounded(step.observation.text),
        observation_characters=len(step.observation.text),
        output=step.observation.output or None,
        exit_status=execution.exit_status if execution else None,
        signal=execution.signal if execution else None,
        stopped_by=(execution.limit or None) if execution else None,
        wall_seconds=execution.wall_seconds if execution else None,
        cpu_seconds=execution.cpu_seconds if execution else None,
        peak_memory=execution.peak_memory if execution else None,
        seconds=None if "execution" in unknown else step.seconds,
        elapsed=step.elapsed,
        final=step.final,
        undone=step.undone or None,
        changed=bounded(json.dumps([change.path for change in step.changes])),
        primitives=len(step.primitives),
        model_calls=len(calls),
        tokens_in=sum(answer.usage.input for answer in answers) if counted else None,
        tokens_out=sum(answer.usage.output for answer in answers) if counted else None,
        cost=None if None in costs else sum(cost or 0.0 for cost in costs),
        snapshot=step.snapshot,
        valid=grade.valid if grade else None,
        score=grade.score if grade else None,
    )


def said_before(calls: list[ModelCalled]) -> str | None:
    """What the deciding model said last, which is what led to the step."""
    replies = (
        call.completion.text
        for call in reversed(calls)
        if call.role == "act" and not call.inside and call.completion
    )
    return next(replies, None)


def _cell(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return bounded(value) if isinstance(value, str) else value
