"""Run folders written by hand: a request, events, grades. Nothing in them was ever run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlagentbench.grading import Baseline, Grade
from mlagentbench.record import RunFolder
from mlagentbench.record.events import Event
from mlagentbench.record.grades import remember_grade
from mlagentbench.record.request import Host, RunLimits, RunRequest

_HOST = Host(system="Linux", machine="x86_64", cores=2, memory=2**33, python="3.12.0")
_LIMITS = RunLimits(
    execution_time=60, memory=2**30, processes=10, disk=2**30, files=1000, output=10_000, steps=50, time=3600
)


def request(run: str, **asked: Any) -> RunRequest:
    return RunRequest(
        **{
            "id": run,
            "created": 1.0,
            "version": "0",
            "task": "house-price@1",
            "variant": "mini",
            "data_seed": 0,
            "data_digest": "d" * 64,
            "agent": "research",
            "seed": 0,
            "sandbox": "bwrap",
            "network": False,
            "actions": (),
            "limits": _LIMITS,
            "host": _HOST,
            **asked,
        }
    )


def write_run(
    runs: Path,
    run: str,
    events: Sequence[Event],
    grades: Sequence[Grade] = (),
    *,
    experiment: str = "default",
    **asked: Any,
) -> RunFolder:
    """A folder below `runs` that holds these events and grades."""
    folder = RunFolder.create(runs, experiment, request(run, **asked))
    log = folder.log()
    for event in events:
        log.append(event)
    log.close()
    for grade in grades:
        remember_grade(folder, grade)
    return folder


def graded(snapshot: str, improvement: float | None, **more: Any) -> Grade:
    """A verdict; without an improvement, that the submission is not valid."""
    valid = improvement is not None
    gain = improvement or 0.0
    return Grade(
        **{
            "task": "house-price@1",
            "variant": "mini",
            "snapshot": snapshot,
            "valid": valid,
            "reason": "" if valid else "There is no submission.",
            "score": 100 * (1 - gain) if valid else None,
            "baseline": Baseline(mean=100, spread=1, runs=3) if valid else None,
            "improvement": improvement,
            "success": gain > 0.1,
            "success_at": {f"{at}%": gain > at / 100 for at in (5, 10, 20, 30)},
            "decided": gain > 0.1,
            **more,
        }
    )
