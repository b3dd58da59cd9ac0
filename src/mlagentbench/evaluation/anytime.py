"""What a run had at every step, and many runs at every budget: of steps, time, tokens or cost."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from mlagentbench.evaluation.statistics import Estimate, stratified_mean, stratified_rate
from mlagentbench.grading import Grade
from mlagentbench.record.events import Event, ModelCalled, RunEnded, RunStarted, StepTaken

Axis = Literal["steps", "time", "tokens", "cost"]
_USED: dict[Axis, Callable[[Point], float | None]] = {
    "steps": attrgetter("step"),
    "time": attrgetter("elapsed"),
    "tokens": attrgetter("tokens"),
    "cost": attrgetter("cost"),
}


@dataclass(frozen=True, slots=True)
class Point:
    """A graded moment of a run: what it had used, and what its workspace was worth. There are half a million of them in
    ten thousand runs, so they are kept small."""

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


@dataclass(frozen=True, slots=True)
class _Course:
    """One run along an axis: what it had used at each moment, and what it had then."""

    used: list[float]
    last: list[float]
    best: list[float]
    success: list[bool]

    def at(self, budget: float) -> tuple[float, float, bool]:
        """Before its first moment, a run has nothing."""
        place = bisect_right(self.used, budget) - 1
        return (self.last[place], self.best[place], self.success[place]) if place >= 0 else (0.0, 0.0, False)


def curve(
    runs: Iterable[tuple[str, Sequence[Point]]], axis: Axis, budgets: Sequence[float]
) -> tuple[list[Mark], int]:
    """One mark a budget over runs, each given by its task and its moments, and how many runs had to be left out because
    what they used on this axis is not known. Moments that were not graded are not seen: grade every step first."""
    by_task: dict[str, list[_Course]] = {}
    left_out = 0
    for task, points in runs:
        course = _course(points, axis)
        if course is None:
            left_out += 1
        else:
            by_task.setdefault(task, []).append(course)
    return [_mark(list(by_task.values()), budget) for budget in budgets], left_out


def _course(points: Sequence[Point], axis: Axis) -> _Course | None:
    course = _Course([], [], [], [])
    best: float | None = None
    for point in points:
        used = _USED[axis](point)
        if used is None:
            return None
        if point.valid and point.improvement is not None:
            best = max(point.gain, point.gain if best is None else best)
        course.used.append(used)
        course.last.append(point.gain)
        course.best.append(best or 0.0)
        course.success.append(point.success)
    return course


def _mark(tasks: Sequence[Sequence[_Course]], budget: float) -> Mark:
    reached = [[course.at(budget) for course in runs] for runs in tasks]
    return Mark(
        budget=budget,
        runs=sum(map(len, tasks)),
        last=stratified_mean([[last for last, _, _ in runs] for runs in reached]),
        best=stratified_mean([[best for _, best, _ in runs] for runs in reached]),
        success=stratified_rate([(sum(success for _, _, success in runs), len(runs)) for runs in reached]),
    )
