"""One row a task: what its starter, plain model and oracle score, what lies between them, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from statistics import fmean, stdev

from pydantic import BaseModel, TypeAdapter

from mlagentbench.auditing.report import AuditReport
from mlagentbench.grading.references import Kind, References
from mlagentbench.grading.scoring import improvement
from mlagentbench.task.cache import write_durably
from mlagentbench.task.definition import Metric


class Row(BaseModel):
    """Numbers are None where a task's code gave none."""

    task: str
    variant: str
    ok: bool
    """Whether every item of the audit holds."""
    starter: float | None
    """The mean over its runs."""
    spread: float | None
    """The standard deviation over the starter's runs; None for a single one."""
    starter_runs: int
    plain: float | None
    oracle: float | None
    plain_gain: float | None
    """Improvement over the starter, relative to its distance from the metric's floor."""
    oracle_gain: float | None
    room: float | None
    """What the oracle gains over the plain model, in the same measure."""
    starter_seconds: float | None
    plain_seconds: float | None
    oracle_seconds: float | None
    """CPU time of one run."""
    memory: int | None
    """The largest that any of them used, in bytes."""


def row_of(report: AuditReport, metric: Metric) -> Row:
    references = report.references
    starters = references.scores("starter")
    starter, plain, oracle = (_mean(references, kind) for kind in ("starter", "plain", "oracle"))
    plain_gain, oracle_gain = _gain(plain, starter, metric), _gain(oracle, starter, metric)
    room = oracle_gain - plain_gain if oracle_gain is not None and plain_gain is not None else None
    everything = [*references.starter, *references.plain, *references.oracle]
    return Row(
        task=report.task,
        variant=report.variant,
        ok=report.ok,
        starter=starter,
        spread=stdev(starters) if len(starters) > 1 else None,
        starter_runs=len(starters),
        plain=plain,
        oracle=oracle,
        plain_gain=plain_gain,
        oracle_gain=oracle_gain,
        room=room,
        starter_seconds=_seconds(references, "starter"),
        plain_seconds=_seconds(references, "plain"),
        oracle_seconds=_seconds(references, "oracle"),
        memory=max((each.peak_memory for each in everything), default=None),
    )


def read_rows(file: Path) -> list[Row]:
    """Rows that were saved; none where there is no such file."""
    if not file.is_file():
        return []
    return TypeAdapter(list[Row]).validate_json(file.read_bytes())


def save_rows(file: Path, rows: Iterable[Row]) -> None:
    """Put these rows in the place of older ones of the same tasks, and keep the others."""
    known = {(row.task.partition("@")[0], row.variant): row for row in (*read_rows(file), *rows)}
    content = [known[name].model_dump(mode="json") for name in sorted(known)]
    write_durably(file, (json.dumps(content, indent=1) + "\n").encode())


def _mean(references: References, kind: Kind) -> float | None:
    scores = references.scores(kind)
    return fmean(scores) if scores else None


def _seconds(references: References, kind: Kind) -> float | None:
    measured = references.of(kind)
    return fmean(each.cpu_seconds for each in measured) if measured else None


def _gain(score: float | None, starter: float | None, metric: Metric) -> float | None:
    return improvement(score, starter, metric) if score is not None and starter is not None else None
