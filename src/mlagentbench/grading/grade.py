"""The trusted verdict on one workspace."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Interval(BaseModel):
    model_config = ConfigDict(frozen=True)
    low: float
    high: float


class Baseline(BaseModel):
    """What the untouched starter scores: measured, never made up."""

    model_config = ConfigDict(frozen=True)
    mean: float
    spread: float
    """Standard deviation over the runs."""
    runs: int


class Grade(BaseModel):
    """`valid` is false where the submission could not be graded, and `reason` says why; then there is no score."""

    model_config = ConfigDict(frozen=True)
    format: int = 1
    task: str
    variant: str
    snapshot: str = ""
    valid: bool
    reason: str = ""
    score: float | None = None
    interval: Interval | None = None
    """For timed tasks: the bootstrap interval of the ratio."""
    baseline: Baseline | None = None
    improvement: float | None = None
    """Relative to the baseline's distance from the metric's floor; 0.1 is ten percent better."""
    success: bool = False
    """Improvement of more than 10 %, as published; for timed tasks also by the interval's far end."""
    success_at: dict[str, bool] = Field(default_factory=dict)
    """The same at 5, 10, 20 and 30 %."""
    decided: bool = False
    """Success that is also beyond twice the starter's measured spread."""
    over_plain: float | None = None
    """Improvement over the plain model, where that was measured."""
    position: float | None = None
    """0 at the starter, 1 at the oracle, where that was measured."""
    withheld: str = ""
    """Why there is no success whatever the score, where the task's grader says so; one of the notes."""
    notes: tuple[str, ...] = ()
