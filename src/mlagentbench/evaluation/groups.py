"""Runs of the same task by the same agent and model, taken together. Every run stays in the denominator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.errors import RecordError, UsageError
from mlagentbench.evaluation.comparison import Paired, pair_up
from mlagentbench.evaluation.gains import gains_of
from mlagentbench.evaluation.pairing import difference_of_means
from mlagentbench.evaluation.profile import Profile, read_profile
from mlagentbench.evaluation.statistics import Estimate, stratified_mean, wilson
from mlagentbench.record.folder import RunFolder, find_runs, read_each
from mlagentbench.record.naming import folder_name, in_a_path
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
    gains: tuple[tuple[int | None, float], ...]
    """The improvement of each run, with its seed."""

    @property
    def who(self) -> str:
        return name_of(self.agent, self.model)


@dataclass(frozen=True)
class Comparison:
    """What `compare` finds: each group by itself, and two against each other where there are two."""

    groups: tuple[Group, ...]
    undecided: tuple[str, ...]
    paired: Paired | None
    forked: int
    """Runs among them that were forked from another, so that their first steps are that one's."""
    problems: tuple[str, ...]
    """Runs that are left out because nobody can tell what they are runs of, a sentence each."""


def compare(*places: str | Path, folder: str | Path = "runs") -> Comparison:
    """The groups of all runs in each place: a folder of runs, the name of an experiment in `folder`, or an agent
    (`agent`, `agent--model`) whose runs lie in it. Two places are compared with each other, and so are the two agents
    of a single place.

    >>> import mlagentbench
    >>> found = mlagentbench.compare("starter", "oracle")                                  # doctest: +SKIP
    >>> found.paired.improvement.effect                                                    # doctest: +SKIP
    """
    all_of_them = {str(place): runs_of(place, Path(folder)) for place in places or (folder,)}
    found = {place: [summary for _, summary in runs.read] for place, runs in all_of_them.items()}
    labelled = len(found) > 1 and any(len({_who(run) for run in runs}) > 1 for runs in found.values())
    groups = [
        each
        for place, runs in found.items()
        for each in group(runs, place if labelled or (len(found) > 1 and Path(place).exists()) else "")
    ]
    forked = {run.run for runs in found.values() for run in runs if run.forked}
    problems = dict.fromkeys(each for runs in all_of_them.values() for each in runs.problems)
    return Comparison(tuple(groups), tuple(undecided(groups)), _two(found), len(forked), tuple(problems))


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
        rivals = [each for each in groups if (each.task, each.variant) == (task, variant) and each.gains]
        rivals.sort(key=lambda each: each.improvement.value, reverse=True)
        if len(rivals) < 2:
            continue
        difference = difference_of_means([(rivals[0].gains, rivals[1].gains)])
        if not difference.sign:
            best, second = (f"{each.place} {each.who}".strip() for each in rivals[:2])
            few = difference.low is None
            why = "one run tells nothing about its spread" if few else "their difference may be none"
            sentences.append(
                f"{task} ({variant}): {best} against {second} is not decided by these runs; {why}."
            )
    return sentences


def profiles_of(places: Iterable[str | Path], folder: Path) -> tuple[list[Profile], list[str]]:
    """All that is known of the runs of all places, each once; and what is wrong with those whose record cannot be
    read."""
    all_of_them = [runs_of(place, folder) for place in places]
    found = {run.path: run for runs in all_of_them for run, _ in runs.read}
    profiles, problems = [], [problem for runs in all_of_them for problem in runs.problems]
    for run in found.values():
        try:
            profiles.append(read_profile(run))
        except RecordError as error:
            problems.append(f"A run is left out: {error}")
    return profiles, list(dict.fromkeys(problems))


@dataclass(frozen=True)
class Runs:
    """Runs of tasks; work on a person's own folder is of none."""

    read: list[tuple[RunFolder, Summary]]
    damaged: list[tuple[RunFolder, str]]
    """Those that nobody can tell the task and agent of, each with what is wrong."""

    @property
    def problems(self) -> list[str]:
        return [f"A run is left out: {problem}" for _, problem in self.damaged]


def runs_of(place: str | Path, folder: Path) -> Runs:
    """The runs that a place stands for: a folder, an experiment in `folder`, or an agent with runs in it."""
    for path in (Path(place), folder / place):
        if path.is_dir():
            if (found := _read(path)).read:
                return found
            raise UsageError(f"There are no runs in {path}; `mlagentbench run TASK -o {path}` makes some.")
    if not folder.exists():
        raise UsageError(
            f"There is neither a folder {place} nor a folder {folder} with runs of an agent of that name."
        )
    found = _read(folder)
    own = [(run, each) for run, each in found.read if in_a_path(str(place)) in _names(each)]
    if not own:
        agents = ", ".join(sorted({each.agent for _, each in found.read})) or "none"
        raise UsageError(
            f"There is no folder and no experiment {place}, and no agent of that name has runs in {folder}; "
            f"agents: {agents}."
        )
    return Runs(own, found.damaged)


def name_of(agent: str, model: str) -> str:
    """An agent and its model, as tables call them."""
    return f"{agent} · {model}" if model else agent


def _read(path: Path) -> Runs:
    found, damaged = read_each(find_runs([path]), read_summary)
    return Runs([(run, summary) for run, summary in found if summary.task], damaged)


def _names(run: Summary) -> tuple[str, str]:
    return in_a_path(run.agent), folder_name(run.agent, run.model)


def _who(run: Summary) -> tuple[str, str]:
    return run.agent, run.model


def _two(found: dict[str, list[Summary]]) -> Paired | None:
    """The two sides that there are to compare, if there are two."""
    sides = found
    if len(found) == 1:
        (runs,) = found.values()
        sides = {}
        for run in runs:
            sides.setdefault(name_of(run.agent, run.model), []).append(run)
    if len(sides) != 2:
        return None
    (first, ours), (second, theirs) = sides.items()
    return pair_up(first, ours, second, theirs)


def _group(place: str, runs: Sequence[Summary]) -> Group:
    first = runs[0]
    grades = [run.grade for run in runs if run.grade is not None and run.grade.valid]
    scores = [grade.score for grade in grades if grade.score is not None]
    gains = tuple(gains_of(runs))
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
        improvement=stratified_mean([[gain for _, gain in gains]]),
        gains=gains,
    )
