"""Inspect's `.eval` logs: one for the runs of one task, variant, agent and model in one experiment, each run a sample.

So `inspect view` lists what is compared, with its success rate, and a click shows the runs by their ids. A file is a
zip archive that is written sample by sample, so that one run is in memory at a time. It is then read with Inspect's
own reader, so that a version of it that reads something else is noticed here.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev

import inspect_ai
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalLog,
    EvalMetric,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalSample,
    EvalScore,
    EvalSpec,
    EvalStats,
    condense_sample,
    read_eval_log_sample_summaries,
)
from inspect_ai.model import ModelUsage
from pydantic import BaseModel

from mlagentbench.errors import RecordError
from mlagentbench.record.exporting import written_aside
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.inspect_samples import sample_of
from mlagentbench.record.inspect_words import moment
from mlagentbench.record.tables import RunRow
from mlagentbench.version import __version__

_VERSION = 2
"""Of the format of logs."""
_SCORES = ("success", "valid", "score", "improvement")
_NO_MODEL = "none/none"

Key = tuple[str, str, str, str, str]
"""Experiment, task, variant, agent and model; of runs that cannot be read, as far as their folders tell."""


def write_logs(runs: Iterable[RunFolder], folder: Path, progress: Callable[[str], None]) -> list[Path]:
    groups: dict[Key, list[RunFolder]] = {}
    for run in runs:
        groups.setdefault(_key(run), []).append(run)
    files = []
    for key, members in sorted(groups.items()):
        progress(f"{key[1]} ({key[2]}), {key[3]}, {key[4] or 'no model'}: {len(members)} runs.")
        files.append(_write_log(key, members, folder))
    return files


def _key(run: RunFolder) -> Key:
    experiment = run.path.parents[2].name
    try:
        request = run.request()
    except (RecordError, OSError):
        return (experiment, run.path.parents[1].name, "unknown", run.path.parent.name, "")
    return (experiment, request.task, request.variant, request.called, request.model)


@dataclass
class _Sums:
    """What the header of a log tells of all of its samples."""

    rows: list[RunRow] = field(default_factory=list)
    usage: dict[str, ModelUsage] = field(default_factory=dict)
    roles: dict[str, ModelUsage] = field(default_factory=dict)
    summaries: list[BaseModel] = field(default_factory=list)
    names: Counter[str] = field(default_factory=Counter)
    ids: list[str] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    completed: list[str] = field(default_factory=list)

    def name(self, sample: EvalSample) -> None:
        """A run that is there twice, because its folder was copied, is told apart by a number."""
        self.names[str(sample.id)] += 1
        if (number := self.names[str(sample.id)]) > 1:
            sample.id = f"{sample.id}-copy-{number}"
        self.ids.append(str(sample.id))

    def add(self, sample: EvalSample, row: RunRow) -> None:
        self.rows.append(row)
        self.summaries.append(sample.summary())
        self.started += [sample.started_at] if sample.started_at else []
        self.completed += [sample.completed_at] if sample.completed_at else []
        for sums, used in ((self.usage, sample.model_usage), (self.roles, sample.role_usage)):
            for name, usage in used.items():
                sums[name] = sums[name] + usage if name in sums else usage


def _write_log(key: Key, runs: list[RunFolder], folder: Path) -> Path:
    identity = hashlib.sha256(json.dumps(key).encode()).hexdigest()[:22]
    sums = _Sums()
    first = run_time(runs[0])
    name = f"{moment(first):%Y-%m-%dT%H-%M-%S+00-00}_{_in_file(key[1])}-{_in_file(key[2])}_{identity}.eval"
    file = folder / name
    with written_aside(file) as aside:
        with zipfile.ZipFile(aside, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for run in runs:
                sample, row = sample_of(run)
                sums.name(sample)
                sums.add(sample, row)
                archive.writestr(f"samples/{sample.id}_epoch_1.json", _json(condense_sample(sample)))
            spec, plan = _spec(key, identity, first, sums)
            start = f'{{"version":{_VERSION},"eval":{_json(spec)},"plan":{_json(plan)}}}'
            archive.writestr("_journal/start.json", start)
            archive.writestr("summaries.json", f"[{','.join(map(_json, sums.summaries))}]")
            log = EvalLog(
                version=_VERSION,
                status="success",
                eval=spec,
                plan=plan,
                results=_results(sums.rows),
                stats=EvalStats(
                    started_at=min(sums.started, default=""),
                    completed_at=max(sums.completed, default=""),
                    model_usage=sums.usage,
                    role_usage=sums.roles,
                ),
            )
            archive.writestr("header.json", _json(log))
        read = {str(each.id) for each in read_eval_log_sample_summaries(aside)}
        if read != set(sums.ids):
            raise RecordError(
                f"Inspect {inspect_ai.__version__} does not read the log of {key[1]} as it was written. "
                "Install the version that mlagentbench was tested with, or use --format jsonl."
            )
    return file


def run_time(run: RunFolder) -> float:
    try:
        return run.request().created
    except (RecordError, OSError):
        return 0.0


def _spec(key: Key, identity: str, first: float, sums: _Sums) -> tuple[EvalSpec, EvalPlan]:
    rows = sums.rows
    experiment, task, variant, agent, model = key
    name, _, version = task.partition("@")
    row = next((row for row in rows if row.version is not None), rows[0])
    settings = json.loads(row.settings or "{}")
    spec = EvalSpec(
        eval_id=identity,
        run_id=identity,
        task_id=identity,
        created=moment(first).isoformat(),
        task=name,
        task_version=int(version) if version.isdigit() else version or 0,
        task_args={"variant": variant, "data_seed": row.data_seed},
        solver=agent,
        solver_args=settings,
        tags=[agent, variant, experiment],
        dataset=EvalDataset(
            name=f"{task} ({variant})",
            samples=len(rows),
            sample_ids=list(sums.ids),
            shuffled=False,
        ),
        model=model or _NO_MODEL,
        config=EvalConfig(
            epochs=1,
            turn_limit=row.limit_steps,
            time_limit=None if row.limit_seconds is None else int(row.limit_seconds),
            token_limit=row.limit_tokens,
            cost_limit=row.limit_cost,
        ),
        packages={"mlagentbench": row.version or __version__},
        metadata={
            "experiment": experiment,
            "task": task,
            "variant": variant,
            "agent": agent,
            "network": any(row.network for row in rows),
            "imported": sum(bool(row.imported) for row in rows),
        },
    )
    return spec, EvalPlan(steps=[EvalPlanStep(solver=agent, params=settings)])


def _results(rows: list[RunRow]) -> EvalResults:
    """Means with their standard errors. Success and validity are of all runs; numbers are of those that have one."""
    values: dict[str, list[float]] = {
        "success": [float(bool(row.success)) for row in rows],
        "valid": [float(bool(row.valid)) for row in rows],
        "score": [row.score for row in rows if row.score is not None],
        "improvement": [row.improvement for row in rows if row.improvement is not None],
    }
    return EvalResults(
        total_samples=len(rows),
        completed_samples=sum(row.ended is not None for row in rows),
        scores=[
            EvalScore(
                name=name,
                scorer=name,
                scored_samples=len(values[name]),
                unscored_samples=len(rows) - len(values[name]),
                metrics=_metrics(values[name]),
            )
            for name in _SCORES
        ],
    )


def _metrics(values: list[float]) -> dict[str, EvalMetric]:
    found = {}
    if values:
        found["mean"] = EvalMetric(name="mean", value=fmean(values))
    if len(values) > 1:
        found["stderr"] = EvalMetric(name="stderr", value=stdev(values) / math.sqrt(len(values)))
    return found


def _json(model: BaseModel) -> str:
    return model.model_dump_json(exclude_none=True)


def _in_file(name: str) -> str:
    return "".join(c if c.isalnum() and c.isascii() else "-" for c in name)
