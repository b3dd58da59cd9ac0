"""A workspace and private answers in, a Grade out. Nothing here knows of agents or models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlagentbench._lazy import attach

if TYPE_CHECKING:
    from mlagentbench.grading.grade import Baseline, Grade, Interval
    from mlagentbench.grading.grader import Grader
    from mlagentbench.grading.references import References

__all__ = ["Baseline", "Grade", "Grader", "Interval", "References"]

__getattr__, __dir__ = attach(
    __name__,
    {
        "Baseline": "mlagentbench.grading.grade",
        "Grade": "mlagentbench.grading.grade",
        "Grader": "mlagentbench.grading.grader",
        "Interval": "mlagentbench.grading.grade",
        "References": "mlagentbench.grading.references",
    },
)
