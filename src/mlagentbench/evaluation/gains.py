"""What runs on one task gain: nothing where they left nothing valid, and nothing known where none can be measured."""

from __future__ import annotations

from collections.abc import Sequence

from mlagentbench.record.summary import Summary


def gains_of(runs: Sequence[Summary]) -> list[tuple[int | None, float]]:
    """Seeds with improvements over the starter, 0 of runs without a valid grade.

    Where valid runs have none (the metric has no direction, or there is no baseline), there are none at all: they would
    be those of the failures alone.
    """
    valid = [run.grade for run in runs if run.grade is not None and run.grade.valid]
    if valid and all(grade.improvement is None for grade in valid):
        return []
    found = (
        (run.known_seed, run.grade.improvement if run.grade and run.grade.valid else 0.0) for run in runs
    )
    return [(seed, gain) for seed, gain in found if gain is not None]
