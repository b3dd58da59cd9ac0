"""The runs of one variant, by agent and by task, and what each agent came to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean

from mlagentbench.evaluation.breakdown import CATEGORIES
from mlagentbench.evaluation.comparison import Paired, pair_up
from mlagentbench.evaluation.gains import gains_of
from mlagentbench.evaluation.profile import Profile
from mlagentbench.evaluation.statistics import (
    Estimate,
    interquartile_mean,
    pass_at_k,
    stratified_mean,
    stratified_rate,
)
from mlagentbench.reporting.reading import Seen
from mlagentbench.reporting.wording import counted

MOST_PAIRED = 6
"""Of so many agents, each is compared with each; of more, the first with all others."""


@dataclass(frozen=True)
class Tally:
    """Some runs of one agent, by task. Every task weighs the same, and every run of it counts."""

    who: str
    tasks: dict[str, list[Seen]]

    @cached_property
    def runs(self) -> list[Seen]:
        return [run for runs in self.tasks.values() for run in runs]

    def on(self, tasks: Container[str]) -> Tally:
        """The same agent on these of its tasks."""
        return Tally(self.who, {task: runs for task, runs in self.tasks.items() if task in tasks})

    @cached_property
    def success(self) -> Estimate:
        return self.rate(lambda profile: profile.success)

    @cached_property
    def improvement(self) -> Estimate:
        return stratified_mean(self.gains)

    @cached_property
    def middle(self) -> Estimate:
        """The interquartile mean of the improvement."""
        return interquartile_mean(self.gains)

    @cached_property
    def gains(self) -> list[list[float]]:
        return [[gain for _, gain in gains_of([run.summary for run in runs])] for runs in self.tasks.values()]

    @cached_property
    def over_plain(self) -> Estimate:
        counts = []
        for runs in self.tasks.values():
            known = [said for run in runs if (said := run.profile.success_over_plain) is not None]
            measured = any(
                run.profile.summary.grade and run.profile.summary.grade.over_plain is not None for run in runs
            )
            if known and measured:
                counts.append((sum(known), len(known)))
        return stratified_rate(counts)

    @cached_property
    def position(self) -> Estimate:
        strata = []
        for runs in self.tasks.values():
            measured = any(
                run.profile.summary.grade and run.profile.summary.grade.position is not None for run in runs
            )
            strata.append(
                [at for run in runs if (at := run.profile.position) is not None] if measured else []
            )
        return stratified_mean(strata)

    @cached_property
    def lost_since_best(self) -> Estimate:
        lost = [
            [each for run in runs if (each := run.profile.lost_since_best) is not None]
            for runs in self.tasks.values()
        ]
        return stratified_mean(lost)

    def rate(self, holds: Callable[[Profile], bool]) -> Estimate:
        return stratified_rate(
            [(sum(holds(run.profile) for run in runs), len(runs)) for runs in self.tasks.values()]
        )

    def success_at(self, threshold: str) -> Estimate:
        """At `5%`, `10%`, `20%` or `30%` instead of the published one."""
        return self.rate(lambda profile: profile.success_at(threshold))

    def any_of(self, k: int) -> Estimate:
        """The chance that one of `k` runs succeeds."""
        return pass_at_k(
            [(sum(run.profile.success for run in runs), len(runs)) for runs in self.tasks.values()], k
        )

    def mean(self, value: Callable[[Seen], float | None]) -> float | None:
        """The mean over tasks of what runs used; None where it is not known of some run."""
        means = []
        for runs in self.tasks.values():
            used = [value(run) for run in runs]
            known = [each for each in used if each is not None]
            if len(known) < len(used):
                return None
            means.append(fmean(known))
        return fmean(means) if means else None

    @cached_property
    def cost(self) -> float | None:
        return self.mean(cost_of)

    @cached_property
    def outcomes(self) -> Counter[str]:
        return Counter(run.outcome for run in self.runs)


def cost_of(run: Seen) -> float | None:
    return None if "cost" in run.summary.unknown else run.summary.cost


def tokens_of(run: Seen) -> float | None:
    return None if "tokens" in run.summary.unknown else run.summary.tokens_in + run.summary.tokens_out


def seconds_of(run: Seen) -> float | None:
    return None if "time" in run.summary.unknown else run.summary.elapsed


def known(what: str, value: Callable[[Seen], float]) -> Callable[[Seen], float | None]:
    """The value of runs that tell it; None of imported ones that do not (`time`, `tokens`, `cost`, `execution`)."""
    return lambda run: None if what in run.summary.unknown else value(run)


class Field:
    """All agents on all tasks of one variant, the one that succeeds most often first."""

    def __init__(self, variant: str, runs: Sequence[Seen]) -> None:
        self.variant = variant
        self.runs = runs
        by_who: dict[str, dict[str, list[Seen]]] = {}
        for run in runs:
            by_who.setdefault(run.who, {}).setdefault(run.summary.task, []).append(run)
        self.tasks = sorted({run.summary.task for run in runs})
        common = [task for task in self.tasks if all(task in tasks for tasks in by_who.values())]
        self.common = common
        """Tasks that every agent has runs of; over these, agents are ranked, if there are any."""
        tallies = [Tally(who, dict(sorted(tasks.items()))) for who, tasks in sorted(by_who.items())]
        self.agents = sorted(tallies, key=self._rank)

    def _rank(self, tally: Tally) -> tuple[float, float, str]:
        fair = tally.on(self.common) if self.common else tally
        return -fair.success.value, -_or_zero(fair.improvement.value), tally.who

    @cached_property
    def told_of_untold(self) -> str:
        """What is to be said beside rates, where runs count as failed of which nobody knows it."""
        number = sum(run.untold for run in self.runs)
        if not number:
            return ""
        one = number == 1
        return (
            f"{counted(number, 'imported run')} {'is' if one else 'are'} not graded here and "
            f"{'counts' if one else 'count'} as no success and no gain, though nobody knows what "
            f"{'it' if one else 'they'} came to."
        )

    @cached_property
    def pairs(self) -> list[Paired]:
        """Agents against each other, the better one first."""
        agents = self.agents
        chosen = (
            combinations(agents, 2)
            if len(agents) <= MOST_PAIRED
            else ((agents[0], each) for each in agents[1:])
        )
        return [
            pair_up(
                first.who,
                (run.summary for run in first.runs),
                second.who,
                (run.summary for run in second.runs),
            )
            for first, second in chosen
        ]

    def on(self, task: str) -> list[Tally]:
        """Each agent that has runs of a task, on this task alone."""
        return [Tally(each.who, {task: each.tasks[task]}) for each in self.agents if task in each.tasks]

    def categories(self) -> list[tuple[str, list[Tally]]]:
        """Each kind of task with the agents that have runs of it, in the paper's order."""
        of_task = {run.summary.task: run.profile.subject.category for run in self.runs}
        found = []
        for category in (*CATEGORIES, *sorted(set(of_task.values()) - CATEGORIES.keys())):
            tallies = []
            for each in self.agents:
                tasks = {task: runs for task, runs in each.tasks.items() if of_task[task] == category}
                if tasks:
                    tallies.append(Tally(each.who, tasks))
            if tallies:
                found.append((CATEGORIES.get(category, category), tallies))
        return found

    def front(self, used: Callable[[Tally], float | None]) -> list[Tally]:
        """The agents of which no other succeeds as often for less, cheapest first."""
        known = [
            (cost, -each.success.value, index)
            for index, each in enumerate(self.agents)
            if (cost := used(each)) is not None
        ]
        best, kept = -1.0, []
        for _, lost, index in sorted(known):
            if -lost > best:
                best = -lost
                kept.append(self.agents[index])
        return kept


def _or_zero(value: float) -> float:
    return value if math.isfinite(value) else 0.0
