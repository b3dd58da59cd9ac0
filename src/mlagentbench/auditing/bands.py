"""Whether a task stays as hard as it says for every data seed."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from mlagentbench.environment.limits import resource_limits, run_limits
from mlagentbench.grading import Grader
from mlagentbench.grading.references import Kind
from mlagentbench.sandbox import choose
from mlagentbench.task.definition import Bands
from mlagentbench.task.preparation import prepare
from mlagentbench.task.registry import load_task

KINDS: tuple[Kind, ...] = ("starter", "plain", "oracle")


def scores_over_seeds(
    task: str | Path,
    variant: str,
    seeds: Iterable[int],
    progress: Callable[[str], None] = lambda line: None,
) -> dict[Kind, list[float]]:
    """What each kind scores, once on the data of every seed."""
    loaded = load_task(task)
    limits = resource_limits(run_limits(loaded.definition.limits))
    scores: dict[Kind, list[float]] = {kind: [] for kind in KINDS}
    for seed in seeds:
        prepared = prepare(loaded, variant, seed=seed, progress=progress)
        with tempfile.TemporaryDirectory(prefix="mlagentbench-bands-") as scratch:
            grader = Grader(prepared, choose("auto"), Path(scratch), limits, progress)
            for kind in KINDS:
                scores[kind].append(grader.measure(kind, 1).scores(kind)[0])
    return scores


def outside(bands: Bands, scores: Mapping[Kind, Sequence[float]]) -> list[str]:
    """What lies out of its band, one phrase each."""
    told = []
    for kind in KINDS:
        band = {"starter": bands.starter, "plain": bands.plain, "oracle": bands.oracle}[kind]
        if band is not None:
            told += [
                f"the {kind} scores {score:.6g}, which is not from {band[0]:g} to {band[1]:g}"
                for score in scores.get(kind, ())
                if not band[0] <= score <= band[1]
            ]
    return told
