"""What a run had at every step, and many runs at every budget: of steps, time, tokens or cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from mlagentbench.evaluation.statistics import Estimate, stratified_mean, stratified_rate
from mlagentbench.grading import Grade
from mlagentbench.record.events import Event, ModelCalled, RunEnded, RunStarted, StepTaken

Axis = Literal["steps", "time", "tokens", "cost"]


class Point(BaseModel):
    """A graded moment of a run: what it had used, and what its workspace was worth."""

    model_config = ConfigDict(frozen=True)
    step: int
    """After this step; 0 is the beginning."""
    elapsed: float | None
    """Seconds. None here and below: nobody knows, as of an imported run."""
    tokens: int | None
    cost: float | None
    """US dollars."""
    valid: bool
    score: float | None = None
    improvement: float | None = None
    success: bool = False

    @property
    def gain(self) -> float:
        """Without a valid submission, nothing is gained."""
        return self.improvement or 0.0

    def used(self, axis: Axis) -> float | None:
        return {"steps": self.step, "time": self.elapsed, "tokens": self.tokens, "cost": self.cost}[axis]


def points_of(
    events: Sequence[Event], grades: Mapping[str, Grade], unknown: Collection[str] = ()
) -> tuple[Point, ...]:
    """The graded moments of a run, in order; one a step. Of `unknown` (`time`, `tokens`, `cost`), the record tells
    nothing."""
    points: dict[int, Point] = {}
    step, elapsed, tokens = 0, 0.0, 0
    cost: float | None = 0.0
    for event in events:
        if isinstance(event, ModelCalled) and event.completion is not None:
            tokens += event.completion.usage.input + event.completion.usage.output
            cost = None if cost is None or event.cost is None else cost + event.cost
        elif isinstance(event, RunStarted | StepTaken | RunEnded):
            if isinstance(event, StepTaken):
                step = event.index
            if not isinstance(event, RunStarted):
                elapsed = event.elapsed
            if (grade := grades.get(event.snapshot)) is not None:
                points[step] = Point(
                    step=step,
                    elapsed=None if "time" in unknown else elapsed,
                    tokens=None if "tokens" in unknown else tokens,
                    cost=None if "cost" in unknown else cost,
                    valid=grade.valid,
                    score=grade.score,
                    improvement=grade.improvement,
                    success=grade.success,
                )
    return tuple(points.values())


def best_of(points: Iterable[Point]) -> Point | None:
    """The valid moment with the greatest improvement, the earliest of equals."""
    valid = [point for point in points if point.valid and point.improvement is not None]
    return max(valid, key=lambda point: (point.gain, -point.step), default=None)


@dataclass(frozen=True)
class Mark:
    """What runs had come to when they had used so much."""

    budget: float
    runs: int
    last: Estimate
    """Mean improvement of the workspaces as they were then."""
    best: Estimate
    """Mean improvement of the best that each run had had by then."""
    success: Estimate
    """The share of workspaces that were a success as they were then."""


def curve(
    runs: Iterable[tuple[str, Sequence[Point]]], axis: Axis, budgets: Sequence[float]
) -> tuple[list[Mark], int]:
    """One mark a budget over runs, each given by its task and its moments, and how many runs had to be left out because
    what they used on this axis is not known. Moments that were not graded are not seen: grade every step first."""
    by_task: dict[str, list[Sequence[Point]]] = {}
    left_out = 0
    for task, points in runs:
        if any(point.used(axis) is None for point in points):
            left_out += 1
        else:
            by_task.setdefault(task, []).append(points)
    return [_mark(list(by_task.values()), axis, budget) for budget in budgets], left_out


def _mark(tasks: Sequence[Sequence[Sequence[Point]]], axis: Axis, budget: float) -> Mark:
    last: list[list[float]] = []
    best: list[list[float]] = []
    successes: list[tuple[int, int]] = []
    for runs in tasks:
        reached = [[point for point in points if (point.used(axis) or 0.0) <= budget] for points in runs]
        last.append([points[-1].gain if points else 0.0 for points in reached])
        best.append([found.gain if (found := best_of(points)) else 0.0 for points in reached])
        successes.append((sum(bool(points) and points[-1].success for points in reached), len(reached)))
    return Mark(
        budget=budget,
        runs=sum(map(len, tasks)),
        last=stratified_mean(last),
        best=stratified_mean(best),
        success=stratified_rate(successes),
    )
