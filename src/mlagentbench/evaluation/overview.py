"""What each agent came to over all tasks: competence, efficiency, process. Every task weighs the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter, methodcaller

from mlagentbench.evaluation.breakdown import runs_by_task, runs_by_who
from mlagentbench.evaluation.gains import gains_of
from mlagentbench.evaluation.groups import name_of
from mlagentbench.evaluation.profile import Profile
from mlagentbench.evaluation.statistics import (
    Estimate,
    interquartile_mean,
    optimality_gap,
    pass_at_k,
    performance_profile,
    stratified_mean,
    stratified_rate,
)

THRESHOLDS = ("5%", "10%", "20%", "30%")
TAUS = tuple(step / 20 for step in range(-4, 21))
"""Improvements at which performance profiles are told: from -20 % to 100 %."""


@dataclass(frozen=True)
class Overview:
    """One agent with one model."""

    agent: str
    model: str
    tasks: int
    runs: int
    ended: dict[str, int]
    """Runs by how they ended; the empty word is: not yet."""
    valid: int
    success: Estimate
    success_at: dict[str, Estimate]
    decided: Estimate
    over_plain: Estimate
    """Success over the plain model, of the runs where that was measured."""
    improvement: Estimate
    improvement_iqm: Estimate
    position: Estimate
    """Between starter (0) and oracle (1), of the runs where that was measured."""
    gap: Estimate
    """By how much positions fall short of the oracle's."""
    pass_at: dict[int, Estimate]
    """The chance that one of k runs succeeds; for each k up to the least number of runs of a task."""
    profile: list[tuple[float, Estimate]]
    """The share of runs that improve by more than each threshold."""
    lost_since_best: Estimate
    """By how much the best snapshot was better than the last, of runs of which every step was graded."""
    tokens_in: Estimate
    tokens_out: Estimate
    tokens_cached: Estimate
    cost: Estimate
    """US dollars a run, of the runs whose price is known."""
    unpriced: int
    """Runs whose price is not known."""
    seconds: dict[str, Estimate]
    """A run's `model`, `waiting`, `execution`, `harness` and `all` seconds."""
    cpu: Estimate
    """CPU seconds of executed code."""
    peak_memory: int
    """Of executed code, in bytes, the most of any run."""
    steps: Estimate
    process: dict[str, Estimate]
    """Means of what `Process` counts."""

    @property
    def who(self) -> str:
        return name_of(self.agent, self.model)


def overview(profiles: Iterable[Profile]) -> list[Overview]:
    """One a pair of agent and model, in the order of their names."""
    return [_overview(agent, model, runs) for (agent, model), runs in runs_by_who(profiles)]


def _overview(agent: str, model: str, runs: Sequence[Profile]) -> Overview:
    tasks = runs_by_task(runs)
    gains = [[gain for _, gain in gains_of([run.summary for run in runs])] for runs in tasks]
    positions = _strata(tasks, lambda run: run.position)
    ended: dict[str, int] = {}
    for run in runs:
        ended[run.summary.ended] = ended.get(run.summary.ended, 0) + 1
    return Overview(
        agent=agent,
        model=model,
        tasks=len(tasks),
        runs=len(runs),
        ended=ended,
        valid=sum(run.summary.grade is not None and run.summary.grade.valid for run in runs),
        success=_rate(tasks, lambda run: run.success),
        success_at={at: _rate(tasks, methodcaller("success_at", at)) for at in THRESHOLDS},
        decided=_rate(tasks, lambda run: run.decided),
        over_plain=_rate(tasks, lambda run: run.success_over_plain),
        improvement=stratified_mean(gains),
        improvement_iqm=interquartile_mean(gains),
        position=stratified_mean(positions),
        gap=optimality_gap(positions),
        pass_at=_pass_at(tasks),
        profile=performance_profile(gains, TAUS),
        lost_since_best=_mean(tasks, lambda run: run.lost_since_best),
        tokens_in=_mean(tasks, _unless("tokens", "summary.tokens_in")),
        tokens_out=_mean(tasks, _unless("tokens", "summary.tokens_out")),
        tokens_cached=_mean(tasks, _unless("tokens", "summary.tokens_cached")),
        cost=_mean(tasks, lambda run: run.summary.cost),
        unpriced=sum(run.summary.cost is None for run in runs),
        seconds={
            "model": _mean(tasks, _unless("time", "times.model")),
            "waiting": _mean(tasks, _unless("time", "times.waiting")),
            "execution": _mean(tasks, _unless("time", "times.execution")),
            "harness": _mean(tasks, _unless("time", "times.harness")),
            "all": _mean(tasks, _unless("time", "summary.elapsed")),
        },
        cpu=_mean(tasks, _unless("execution", "summary.execution_cpu")),
        peak_memory=max(run.summary.peak_memory for run in runs),
        steps=_mean(tasks, lambda run: run.summary.steps),
        process={
            name: _mean(tasks, attrgetter(f"process.{name}"))
            for name, kind in type(runs[0].process).model_fields.items()
            if kind.annotation is int
        },
    )


def _unless(unknown: str, name: str) -> Callable[[Profile], float | None]:
    """A number of a run, unless it is 0 only because nobody knows it."""
    read = attrgetter(name)
    return lambda run: None if unknown in run.summary.unknown else read(run)


def _strata(
    tasks: Sequence[Sequence[Profile]], measure: Callable[[Profile], float | None]
) -> list[list[float]]:
    """Values by task; runs that have none are left out."""
    return [[float(value) for run in runs if (value := measure(run)) is not None] for runs in tasks]


def _mean(tasks: Sequence[Sequence[Profile]], measure: Callable[[Profile], float | None]) -> Estimate:
    return stratified_mean(_strata(tasks, measure))


def _rate(tasks: Sequence[Sequence[Profile]], measure: Callable[[Profile], bool | None]) -> Estimate:
    return stratified_rate([(int(sum(values)), len(values)) for values in _strata(tasks, measure)])


def _pass_at(tasks: Sequence[Sequence[Profile]]) -> dict[int, Estimate]:
    counts = [(sum(run.success for run in runs), len(runs)) for runs in tasks]
    return {k: pass_at_k(counts, k) for k in range(1, min(n for _, n in counts) + 1)}
