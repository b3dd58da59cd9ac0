"""Tables of all runs, steps and unsupported claims for one's own analysis: CSV, and Parquet where pyarrow is there."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from mlagentbench.evaluation.profile import Profile
from mlagentbench.reporting.reading import Seen
from mlagentbench.reporting.steps import Step
from mlagentbench.reporting.texts import for_csv

_STEP_COLUMNS: dict[str, type] = {
    "run": str, "step": int, "action": str, "kind": str, "ok": bool, "exit_status": int, "wall_seconds": float,
    "cpu_seconds": float, "peak_memory": int, "seconds": float, "elapsed": float, "model_calls": int,
    "tokens_in": int, "tokens_out": int, "cost": float, "valid": bool, "score": float, "improvement": float,
}  # fmt: skip
_STEP = attrgetter(*_STEP_COLUMNS)
_RUN_COLUMNS: dict[str, type] = {
    "run": str, "task": str, "variant": str, "agent": str, "model": str, "category": str, "experiment": str,
    "seed": int, "created": float, "version": str, "sandbox": str, "network": bool, "settings_hash": str,
    "data": str, "host": str, "forked": bool, "imported": bool, "damage": str, "ended": str, "detail": str,
    "graded": bool, "valid": bool, "score": float, "baseline": float, "baseline_spread": float,
    "improvement": float, "success": bool, "decided": bool, "over_plain": float, "position": float,
    "best_improvement": float, "best_step": int, "every_step": bool, "failure": str, "failure_by": str,
    "failure_by_rules": str, "failure_evidence": str, "claims": int, "claims_supported": int,
    "claims_unsupported": int, "steps": int, "failed_steps": int, "experiments": int, "failed_experiments": int,
    "debugging_steps": int, "repeated_errors": int, "format_errors": int, "lost_decisions": int, "edits": int,
    "edits_undone": int, "model_calls": int, "tokens_in": int, "tokens_out": int, "tokens_cached": int,
    "cost": float, "seconds": float, "model_seconds": float, "waiting_seconds": float, "execution_seconds": float,
    "harness_seconds": float, "execution_cpu": float, "peak_memory": int, "denied": int,
}  # fmt: skip
_CLAIM_COLUMNS: dict[str, type] = {
    "run": str, "task": str, "agent": str, "model": str, "step": int, "where": str, "metric": str, "value": float,
    "unit": str, "nearest": float, "nearest_step": int, "times": int, "corrected": bool, "text": str,
}  # fmt: skip


class Rows:
    """The tables, written row by row while runs are read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._runs = self._open("runs.csv", _RUN_COLUMNS)
        self._steps = self._open("steps.csv", _STEP_COLUMNS)
        self._claims = self._open("claims.csv", _CLAIM_COLUMNS)

    def take(self, seen: Seen, profile: Profile, steps: Sequence[Step]) -> None:
        """A run with all that is known of it."""
        self._runs.writerow(map(_cell, _run(seen, profile)))
        self._steps.writerows(map(_cell, _STEP(step)) for step in steps)
        summary = profile.summary
        self._claims.writerows(
            map(
                _cell,
                (
                    summary.run, summary.task, summary.agent, summary.model, claim.step, claim.where, claim.metric,
                    claim.value, claim.unit, claim.nearest, claim.nearest_step, claim.times, claim.corrected,
                    claim.text,
                ),
            )
            for claim in profile.claims.unsupported
        )  # fmt: skip

    def close(self) -> dict[str, str]:
        """The files, with what is in them."""
        self._stack.close()
        found = {
            "runs.csv": "every run, a row each",
            "steps.csv": "every step of every run",
            "claims.csv": "every unsupported claim that profiles list",
        }
        if importlib.util.find_spec("pyarrow") is None:
            return found
        for name, types in (("runs", _RUN_COLUMNS), ("steps", _STEP_COLUMNS), ("claims", _CLAIM_COLUMNS)):
            _as_parquet(self._folder / f"{name}.csv", self._folder / f"{name}.parquet", types)
            found[f"{name}.parquet"] = f"the same as {name}.csv"
        return found

    def _open(self, name: str, columns: Iterable[str]) -> Any:
        file = self._stack.enter_context((self._folder / name).open("w", encoding="utf-8", newline=""))
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        return writer


def _run(seen: Seen, profile: Profile) -> tuple[object, ...]:
    summary, subject, process = profile.summary, profile.subject, profile.process
    grade, failure, claims, times, best = (
        summary.grade,
        profile.failure,
        profile.claims,
        profile.times,
        profile.best,
    )
    unknown = summary.unknown
    own, told = not summary.imported, not seen.untold
    return (
        summary.run, summary.task, summary.variant, summary.agent, summary.model, subject.category, subject.experiment,
        summary.seed if own else None, subject.created, subject.version if own else None,
        summary.sandbox if own else None, summary.network, subject.settings_hash, subject.data or None,
        subject.host if own else None, subject.forked, summary.imported, seen.damage, summary.ended,
        summary.detail[-500:],
        grade is not None, grade.valid if grade else None, grade.score if grade else None,
        grade.baseline.mean if grade and grade.baseline else None,
        grade.baseline.spread if grade and grade.baseline else None,
        profile.gain if told else None, profile.success if told else None, profile.decided if told else None,
        grade.over_plain if grade else None,
        grade.position if grade else None, best.improvement if best and profile.every_step else None,
        best.step if best and profile.every_step else None, profile.every_step,
        failure.mode if failure and seen.outcome != "not graded" else None, failure.by if failure else None,
        failure.ruled if failure else None,
        failure.evidence if failure else None, claims.checked, claims.supported, claims.unsupported_count,
        process.steps, process.failed_steps, process.experiments, process.failed_experiments, process.debugging_steps,
        process.repeated_errors, process.format_errors, process.lost_decisions, process.edits, process.edits_undone,
        None if "tokens" in unknown else summary.model_calls,
        *(
            None if "tokens" in unknown else used
            for used in (summary.tokens_in, summary.tokens_out, summary.tokens_cached)
        ),
        None if "cost" in unknown else summary.cost, None if "time" in unknown else summary.elapsed,
        *((times.model, times.waiting, times.execution, times.harness) if times else (None,) * 4),
        *((None,) * 2 if "execution" in unknown else (summary.execution_cpu, summary.peak_memory)),
        summary.denied if own else None,
    )  # fmt: skip


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _short(value) if len(value) < _SHORT else for_csv(value)
    return value


_SHORT = 100
_short = lru_cache(20_000)(for_csv)
"""Names of runs and actions come again and again."""


def _as_parquet(source: Path, target: Path, types: dict[str, type]) -> None:
    """From the CSV, some rows at a time."""
    import pyarrow  # type: ignore[import-untyped]
    from pyarrow import csv as reading
    from pyarrow import parquet

    kinds = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    schema = pyarrow.schema([(name, kinds[kind]) for name, kind in types.items()])
    options = reading.ConvertOptions(column_types=schema, null_values=[""], strings_can_be_null=True)
    single = reading.ReadOptions(use_threads=False)
    with (
        reading.open_csv(source, read_options=single, convert_options=options) as rows,
        parquet.ParquetWriter(target, schema, compression="zstd") as writer,
    ):
        for batch in rows:
            writer.write_batch(batch)
