"""The run on disk: what was asked, what happened, what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlagentbench._lazy import attach

if TYPE_CHECKING:
    from mlagentbench.record.folder import RunFolder, find_runs
    from mlagentbench.record.request import RunLimits, RunRequest
    from mlagentbench.record.steps import Action, Execution, Observation
    from mlagentbench.record.summary import Summary

__all__ = [
    "Action",
    "Execution",
    "Observation",
    "RunFolder",
    "RunLimits",
    "RunRequest",
    "Summary",
    "find_runs",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "Action": "mlagentbench.record.steps",
        "Execution": "mlagentbench.record.steps",
        "Observation": "mlagentbench.record.steps",
        "RunFolder": "mlagentbench.record.folder",
        "RunLimits": "mlagentbench.record.request",
        "RunRequest": "mlagentbench.record.request",
        "Summary": "mlagentbench.record.summary",
        "find_runs": "mlagentbench.record.folder",
    },
)
