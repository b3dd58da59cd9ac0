"""Runs of the same task by the same agent and model, taken together. Every run stays in the denominator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.evaluation.statistics import Estimate, stratified_mean, wilson
from mlagentbench.record.folder import find_runs
from mlagentbench.record.summary import Summary, read_summary


@dataclass(frozen=True)
class Group:
    """What the runs of one task, variant, agent and model came to."""

    place: str
    """What the runs were asked for by, where more than one place is compared; else empty."""
    task: str
    variant: str
    agent: str
    model: str
    network: bool
    """Whether any of them had the network."""
    runs: int
    """All of them: unfinished, crashed and invalid ones too."""
    ended: int
    valid: int
    success: Estimate
    """Of all runs; one without a valid grade is no success."""
    decided: Estimate
    score: Estimate
    """Of the valid runs, since others have none."""
    improvement: Estimate
    """Of all runs; one without a valid grade has improved nothing and counts as 0."""

    @property
    def who(self) -> str:
        return f"{self.agent} · {self.model}" if self.model else self.agent


def compare(*places: str | Path, folder: str | Path = "runs") -> list[Group]:
    """The groups of all runs in each place: a folder of runs, or the name of an agent whose runs lie in `folder`.

    >>> import mlagentbench
    >>> [group.success.value for group in mlagentbench.compare("runs/demo")]              # doctest: +SKIP
    [1.0, 0.0]
    """
    groups: list[Group] = []
    for place in places or (folder,):
        label = str(place) if len(places) > 1 and Path(place).exists() else ""
        found = _summaries(place, Path(folder))
        if not found:
            raise UsageError(f"There are no runs in {place}; `mlagentbench run TASK -o {place}` makes some.")
        groups += group(found, label)
    return groups


def group(summaries: Iterable[Summary], place: str = "") -> list[Group]:
    """The summaries by task, variant, agent and model, in that order."""
    by_key: dict[tuple[str, str, str, str], list[Summary]] = {}
    for summary in summaries:
        key = (summary.task, summary.variant, summary.agent, summary.model)
        by_key.setdefault(key, []).append(summary)
    return [_group(place, by_key[key]) for key in sorted(by_key)]


def undecided(groups: Sequence[Group]) -> list[str]:
    """For each task on which several are compared: a sentence where this many runs do not tell the best two apart."""
    sentences = []
    for task, variant in sorted({(each.task, each.variant) for each in groups}):
        rivals = [each for each in groups if (each.task, each.variant) == (task, variant)]
        rivals.sort(key=lambda each: each.improvement.value, reverse=True)
        if len(rivals) > 1 and rivals[0].improvement.overlaps(rivals[1].improvement):
            best, second = (f"{each.place} {each.who}".strip() for each in rivals[:2])
            few = any(each.improvement.low is None for each in rivals[:2])
            why = "one run tells nothing about its spread" if few else "their intervals overlap"
            sentences.append(
                f"{task} ({variant}): {best} against {second} is not decided by these runs; {why}."
            )
    return sentences


def _summaries(place: str | Path, folder: Path) -> list[Summary]:
    if Path(place).exists():
        return [read_summary(run) for run in find_runs([Path(place)])]
    if not folder.exists():
        raise UsageError(
            f"There is neither a folder {place} nor a folder {folder} with runs of an agent of that name."
        )
    all_of_them = [read_summary(run) for run in find_runs([folder])]
    found = [each for each in all_of_them if place in (each.agent, f"{each.agent}--{each.model}")]
    if not found:
        agents = ", ".join(sorted({each.agent for each in all_of_them})) or "none"
        raise UsageError(
            f"There is no folder {place}, and no agent of that name has runs in {folder}; agents: {agents}."
        )
    return found


def _group(place: str, runs: Sequence[Summary]) -> Group:
    first = runs[0]
    grades = [run.grade for run in runs if run.grade is not None and run.grade.valid]
    scores = [grade.score for grade in grades if grade.score is not None]
    gains = [grade.improvement for grade in grades if grade.improvement is not None]
    nothing_gained = [0.0] * (len(runs) - len(grades))
    return Group(
        place=place,
        task=first.task,
        variant=first.variant,
        agent=first.agent,
        model=first.model,
        network=any(run.network for run in runs),
        runs=len(runs),
        ended=sum(bool(run.ended) for run in runs),
        valid=len(grades),
        success=wilson(sum(grade.success for grade in grades), len(runs)),
        decided=wilson(sum(grade.decided for grade in grades), len(runs)),
        score=stratified_mean([scores]),
        improvement=stratified_mean([[*gains, *nothing_gained]]),
    )
