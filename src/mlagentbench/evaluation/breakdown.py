"""Runs by the category of their task, and by whether its data are older than the model's training cut-off."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from mlagentbench.evaluation.groups import name_of
from mlagentbench.evaluation.profile import Profile
from mlagentbench.evaluation.statistics import (
    Estimate,
    combine,
    stratified_mean,
    stratified_rate,
    sum_of_parts,
)
from mlagentbench.model.cutoffs import cutoff_of

CATEGORIES = {
    "canonical": "canonical tasks",
    "classic-kaggle": "classic Kaggle",
    "kaggle-challenge": "Kaggle challenges",
    "recent-research": "recent research",
    "code-improvement": "code improvement",
    "llm-tools": "LLM tools",
    "own": "own tasks",
    "": "tasks that are gone",
}
"""The paper's groups, in its order, and what is not of the suite."""


@dataclass(frozen=True)
class Slice:
    """Some of an agent's runs. Every task weighs the same."""

    tasks: int
    runs: int
    success: Estimate
    improvement: Estimate


@dataclass(frozen=True)
class ByCategory:
    agent: str
    model: str
    category: str
    """As the paper calls it."""
    result: Slice

    @property
    def who(self) -> str:
        return name_of(self.agent, self.model)


@dataclass(frozen=True)
class ByDate:
    """An agent's runs on tasks whose data its model can have seen, and on others. Where nobody states the cut-off, or
    the data have no date, it is neither."""

    agent: str
    model: str
    cutoff: str | None
    """The last month of training; None: unknown."""
    before: Slice
    """Data that were public in that month or before."""
    after: Slice
    undated: Slice
    difference: Estimate
    """Success after minus before, on these tasks; runs are what is drawn."""
    difference_over_tasks: Estimate
    """The same number, with tasks as what is drawn: for a statement about tasks in general. Without an interval for
    fewer than two tasks on a side, or where all tasks of both sides are alike."""
    made_up: int
    """Runs on data that were made from a seed: of those, only the problem can have been seen."""

    @property
    def who(self) -> str:
        return name_of(self.agent, self.model)


def by_category(profiles: Iterable[Profile]) -> list[ByCategory]:
    """For each agent and model, what it came to in each category."""
    return [
        ByCategory(agent, model, CATEGORIES.get(category, category), _slice(found))
        for (agent, model), runs in runs_by_who(profiles)
        for category in (*CATEGORIES, *sorted({run.subject.category for run in runs} - CATEGORIES.keys()))
        if (found := [run for run in runs if run.subject.category == category])
    ]


def by_date(profiles: Iterable[Profile], cutoffs: Mapping[str, str] | None = None) -> list[ByDate]:
    """For each agent with a model, success on data from before and after the model's training cut-off."""
    return [_by_date(agent, model, runs, cutoffs) for (agent, model), runs in runs_by_who(profiles) if model]


def _by_date(agent: str, model: str, runs: Sequence[Profile], cutoffs: Mapping[str, str] | None) -> ByDate:
    cutoff = cutoff_of(model, cutoffs)
    dated = [run for run in runs if cutoff is not None and run.subject.data_date]
    before = [run for run in dated if run.subject.data_date[:7] <= (cutoff or "")]
    after = [run for run in dated if run.subject.data_date[:7] > (cutoff or "")]
    undated = [run for run in runs if cutoff is None or not run.subject.data_date]
    sides = _slice(before), _slice(after)
    return ByDate(
        agent=agent,
        model=model,
        cutoff=cutoff,
        before=sides[0],
        after=sides[1],
        undated=_slice(undated),
        difference=combine([(1, sides[1].success), (-1, sides[0].success)]),
        difference_over_tasks=_over_tasks(_rates(after), _rates(before)),
        made_up=sum(run.subject.made_up for run in (*before, *after)),
    )


def _over_tasks(ours: Sequence[float], theirs: Sequence[float]) -> Estimate:
    if not ours or not theirs:
        return Estimate(float("nan"), None, None)
    value = fmean(ours) - fmean(theirs)
    if len(ours) < 2 or len(theirs) < 2:
        return Estimate(value, None, None)
    spread = sum_of_parts((variance(side) / len(side), len(side) - 1) for side in (ours, theirs))
    return spread.around(value) if spread.variance else Estimate(value, None, None)


def _slice(runs: Sequence[Profile]) -> Slice:
    tasks = runs_by_task(runs)
    gains = [[gain for run in task if (gain := run.gain) is not None] for task in tasks]
    return Slice(
        tasks=len(tasks),
        runs=len(runs),
        success=stratified_rate([(sum(run.success for run in task), len(task)) for task in tasks]),
        improvement=stratified_mean(gains),
    )


def _rates(runs: Sequence[Profile]) -> list[float]:
    return [fmean(run.success for run in task) for task in runs_by_task(runs)]


def runs_by_task(runs: Iterable[Profile]) -> list[list[Profile]]:
    found: dict[tuple[str, str], list[Profile]] = {}
    for run in runs:
        found.setdefault((run.summary.task, run.summary.variant), []).append(run)
    return [found[key] for key in sorted(found)]


def runs_by_who(profiles: Iterable[Profile]) -> list[tuple[tuple[str, str], list[Profile]]]:
    found: dict[tuple[str, str], list[Profile]] = {}
    for profile in profiles:
        found.setdefault((profile.summary.agent, profile.summary.model), []).append(profile)
    return sorted(found.items())
