"""The tasks that there are: what each is about, what it needs, and whether its data are ready."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from mlagentbench.environment.limits import run_limits
from mlagentbench.grading.references import References, read_references
from mlagentbench.record.request import RunLimits
from mlagentbench.sandbox import choose
from mlagentbench.task.definition import Limits, Metric, Task, Variant
from mlagentbench.task.needs import missing, needs_in_words
from mlagentbench.task.preparation import Prepared, choose_variant, find_prepared
from mlagentbench.task.preparation import prepare as prepare_task
from mlagentbench.task.problem import problem_text
from mlagentbench.task.progress import Progress
from mlagentbench.task.registry import list_tasks, load_task


class MissingInfo(BaseModel):
    what: str
    command: str
    """What helps, as it is typed."""


class VariantInfo(BaseModel):
    name: str
    description: str
    needs: str
    """What a person must have for it; empty where nothing."""
    requirements: tuple[str, ...]
    """What it needs beside the task's own."""
    prepared: bool
    missing: builtins.list[MissingInfo]
    """What of its needs this machine lacks, in the order in which it is to be mended."""


class TaskInfo(BaseModel):
    id: str
    title: str
    category: str
    modality: str
    metric: Metric
    submission: str
    entry: str
    requirements: tuple[str, ...]
    limits: RunLimits
    published_baseline: float | None
    data_date: str
    origin: Literal["native", "original"]
    folder: Path
    variants: builtins.list[VariantInfo]


class TaskDetails(TaskInfo):
    problem: str
    """What the agent is told, in the variant that was asked for."""
    references: References
    """What starter, plain model and oracle scored on this machine, as far as they were measured."""


def list() -> builtins.list[TaskInfo]:
    """Every task that has a name.

    >>> import mlagentbench
    >>> "house-price@1" in [task.id for task in mlagentbench.list()]
    True
    """
    return [TaskInfo.model_validate(_about(task)) for task in list_tasks()]


def info(task: str | Path, variant: str | None = None) -> TaskDetails:
    """Everything about one task.

    >>> import mlagentbench
    >>> mlagentbench.info("house-price").metric.name
    'mean absolute error'
    """
    loaded = load_task(task)
    chosen = choose_variant(loaded, variant)
    prepared = find_prepared(loaded, chosen)
    limits = run_limits(loaded.definition.limits)
    told = Limits(steps=limits.steps, time=limits.time, execution_time=limits.execution_time)
    return TaskDetails.model_validate(
        _about(loaded)
        | {
            "problem": problem_text(loaded, chosen, told),
            "references": read_references(prepared) if prepared else References(),
        }
    )


def prepare(
    task: str | Path | Task,
    variant: str | None = None,
    *,
    seed: int = 0,
    key: str | None = None,
    source: Path | None = None,
    limit: int = 0,
    python: str | None = None,
    network: bool = False,
    sandbox: str = "auto",
    again: bool = False,
    progress: Progress | None = None,
) -> Prepared:
    """Make the data of a task ready, unless they are; with `again`, in any case. `source` is what you downloaded by
    hand; a `limit` takes so many records at most, for tasks that have a great many.

    >>> import mlagentbench
    >>> mlagentbench.prepare("house-price").variant                                        # doctest: +SKIP
    'mini'
    """
    loaded = task if isinstance(task, Task) else load_task(task)
    backend = None if loaded.trusted else choose(sandbox)
    return prepare_task(
        loaded,
        variant,
        seed=seed,
        key=key,
        source=source,
        limit=limit,
        python=python,
        progress=progress,
        network=network,
        sandbox=backend,
        again=again,
    )


def _about(task: Task) -> dict[str, object]:
    definition = task.definition
    return definition.model_dump(
        include={
            "title",
            "category",
            "modality",
            "submission",
            "entry",
            "requirements",
            "published_baseline",
            "data_date",
        }
    ) | {
        "id": task.id,
        "metric": definition.metric,
        "limits": run_limits(definition.limits),
        "origin": task.origin,
        "folder": task.folder,
        "variants": [_variant(task, name, variant) for name, variant in definition.variants.items()],
    }


def _variant(task: Task, name: str, variant: Variant) -> VariantInfo:
    lacking = [MissingInfo(what=need.what, command=need.command) for need in missing(task, name)]
    return VariantInfo(
        name=name,
        description=variant.description,
        needs=needs_in_words(variant),
        requirements=variant.requirements,
        prepared=not lacking,
        missing=lacking,
    )
