"""Two sets of runs against each other, over the tasks and seeds that they have in common, and in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mlagentbench.evaluation.gains import gains_of
from mlagentbench.evaluation.pairing import (
    MOST_RUNS,
    Difference,
    Pair,
    compare_means,
    compare_rates,
    difference_of_means,
    is_paired,
)
from mlagentbench.evaluation.statistics import Estimate, probability_of_improvement
from mlagentbench.record.summary import Summary

_Key = tuple[str, str]


@dataclass(frozen=True)
class TaskPair:
    """Both sides on one task."""

    task: str
    variant: str
    first_runs: int
    second_runs: int
    paired: bool
    """Whether each run of one side has exactly one of the other with its seed; else all are compared with all."""
    seeds_known: bool
    """Whether they can be: runs of the original had none."""
    improvement: Estimate | None
    """The first's minus the second's; None where the task's metric has no direction."""


@dataclass(frozen=True)
class Paired:
    """The first side against the second. Every task weighs the same, and every run of it counts."""

    first: str
    second: str
    tasks: tuple[TaskPair, ...]
    left_out: tuple[str, ...]
    """Tasks that only one side has runs of."""
    improvement: Difference | None
    success: Difference | None
    probability: Estimate | None
    """The chance that a run of the first gains more than a run of the second on the same task."""
    words: tuple[str, ...]


def pair_up(first: str, ours: Iterable[Summary], second: str, theirs: Iterable[Summary]) -> Paired:
    """Compare the runs of two sides, each with its name."""
    mine, other = _by_task(ours), _by_task(theirs)
    both = sorted(mine.keys() & other.keys())
    gains = {key: pair for key in both if (pair := _gains(mine[key], other[key])) is not None}
    successes = [(_successes(mine[key]), _successes(other[key])) for key in both]
    improvement = compare_means(list(gains.values())) if gains else None
    success = compare_rates(successes) if both else None
    left_out = tuple(f"{task} ({variant})" for task, variant in sorted(mine.keys() ^ other.keys()))
    return Paired(
        first=first,
        second=second,
        tasks=tuple(_task(key, mine[key], other[key], gains.get(key)) for key in both),
        left_out=left_out,
        improvement=improvement,
        success=success,
        probability=_probability(list(gains.values())),
        words=tuple(_words(first, second, len(both), left_out, improvement, success)),
    )


def _by_task(runs: Iterable[Summary]) -> dict[_Key, list[Summary]]:
    found: dict[_Key, list[Summary]] = {}
    for run in runs:
        found.setdefault((run.task, run.variant), []).append(run)
    return found


def _gains(ours: Sequence[Summary], theirs: Sequence[Summary]) -> Pair | None:
    first, second = gains_of(ours), gains_of(theirs)
    return (first, second) if first and second else None


def _successes(runs: Sequence[Summary]) -> list[tuple[int | None, float]]:
    return [
        (run.known_seed, float(run.grade is not None and run.grade.valid and run.grade.success))
        for run in runs
    ]


def _task(key: _Key, ours: Sequence[Summary], theirs: Sequence[Summary], gains: Pair | None) -> TaskPair:
    return TaskPair(
        task=key[0],
        variant=key[1],
        first_runs=len(ours),
        second_runs=len(theirs),
        paired=is_paired((_successes(ours), _successes(theirs))),
        seeds_known=all(run.known_seed is not None for run in (*ours, *theirs)),
        improvement=difference_of_means([gains]) if gains else None,
    )


def _probability(pairs: Sequence[Pair]) -> Estimate | None:
    if not pairs:
        return None
    return probability_of_improvement(
        [([gain for _, gain in ours], [gain for _, gain in theirs]) for ours, theirs in pairs]
    )


def _words(
    first: str,
    second: str,
    tasks: int,
    left_out: Sequence[str],
    improvement: Difference | None,
    success: Difference | None,
) -> Iterable[str]:
    if not tasks:
        yield f"{first} and {second} have no task in common, so nothing can be compared."
        return
    for name, difference in (("Improvement", improvement), ("Success", success)):
        if difference is not None:
            yield f"{name}: {_verdict(first, second, difference)}"
    if left_out:
        yield f"Only one of them has runs of {', '.join(left_out)}; they are left out."


def _verdict(first: str, second: str, difference: Difference) -> str:
    effect = difference.effect
    if difference.better:
        winner, loser = (first, second) if difference.better == "first" else (second, first)
        return f"decided, {winner} is better than {loser}."
    if effect.low is None:
        return "not decided; one run of each tells nothing about its spread. Make at least two of each."
    if not effect.value:
        return "not decided; no difference was seen."
    if difference.runs_needed is None:
        return (
            f"not decided; a difference as small as the one that was seen would take more than {MOST_RUNS:,} runs of "
            f"each on each task."
        )
    return (
        f"not decided by these runs. If the difference is as large as it looks, about {difference.runs_needed:,} runs "
        f"of each on each task would decide it, four times out of five."
    )
