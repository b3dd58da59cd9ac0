"""Every run of the places that a report is of, one after the other; of each, what the report keeps is small."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from mlagentbench.errors import RecordError, UsageError
from mlagentbench.evaluation.anytime import Point
from mlagentbench.evaluation.failures import Failure
from mlagentbench.evaluation.groups import name_of, runs_of
from mlagentbench.evaluation.process import Process
from mlagentbench.evaluation.profile import Basis, Profile, Subject, read_profile
from mlagentbench.record.folder import RunFolder, find_runs
from mlagentbench.record.request import Host, Imported, RunRequest
from mlagentbench.record.summary import Summary
from mlagentbench.reporting.steps import Step, steps_in

_CLAIMS_KEPT = 3
"""Of a run, for its card; the table of claims has all of them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A run, as the report keeps it."""

    folder: Path
    profile: Profile
    """With those of its points at which something changed, and its first claims."""
    strip: str
    """Its steps, a letter each."""
    damage: str = ""
    """Why its record cannot be trusted. It counts as a run without a grade."""
    imported: Imported | None = None
    """Where another program made it: from where it comes, and what is missing."""

    @property
    def summary(self) -> Summary:
        return self.profile.summary

    @property
    def who(self) -> str:
        return name_of(self.summary.agent, self.summary.model)

    @property
    def unfinished(self) -> bool:
        return not self.summary.ended

    @property
    def untold(self) -> bool:
        """Whether nobody knows if it succeeded: it was imported, and not graded here."""
        return self.imported is not None and self.summary.grade is None and not self.damage

    @property
    def outcome(self) -> str:
        """`success`, `unfinished`, `not graded`, or why it did not succeed."""
        if self.profile.success:
            return "success"
        if self.unfinished:
            return "unfinished"
        failure = self.profile.failure
        if failure is not None and failure.mode != "none":
            return failure.mode
        return "not graded" if self.untold else "no mode"


@dataclass
class Conditions:
    """What runs were made with: one example of each, and how many runs had it."""

    hosts: dict[str, tuple[Host, int]] = field(default_factory=dict)
    """Of runs that were made by this package; others do not tell."""
    asked: dict[tuple[str, str, str, bool], tuple[RunRequest, int]] = field(default_factory=dict)
    """By agent, settings and limits, and whether another program made the runs."""


@dataclass
class Gathered:
    runs: list[Seen] = field(default_factory=list)
    conditions: Conditions = field(default_factory=Conditions)
    left_out: list[str] = field(default_factory=list)
    """What is not in the numbers, and why; a sentence each."""


Take = Callable[[Seen, Profile, Sequence[Step]], None]


def gather(
    places: Sequence[str | Path], folder: Path, take: Take, progress: Callable[[str], None]
) -> Gathered:
    """Read each run once. `take` is given it with all of its steps, before they are forgotten."""
    found = Gathered()
    own = 0
    runs = list(_folders(places, folder))
    for number, run in enumerate(runs, start=1):
        if number % 1_000 == 0:
            progress(f"{number:,} of {len(runs):,} runs read")
        try:
            request = run.request()  # first: what was derived from it outlives it, and proves nothing
        except (RecordError, OSError) as error:
            damage = _relative(str(error), run.path).removesuffix(".")
            found.left_out.append(f"{run.path.name}: nobody can tell what it is a run of ({damage})")
            continue
        damage = ""
        try:
            profile = read_profile(run)
        except (RecordError, OSError) as error:
            damage = _relative(str(error), run.path)
            profile = _of_damaged(run, request)
        if not profile.summary.task:
            own += 1
            continue
        steps: list[Step] = []
        if not damage:
            try:
                unknown = profile.summary.unknown
                steps = list(steps_in(run.events_file, profile.summary.run, profile.points, unknown))
            except RecordError as error:
                damage = _relative(str(error), run.path)
        strip = "".join(step.letter for step in steps)
        imported = request.imported if profile.summary.imported else None
        seen = Seen(run.path, _trimmed(profile), strip, damage, imported)
        _note(found.conditions, request, profile)
        take(seen, profile, steps)
        found.runs.append(seen)
    if own:
        found.left_out.append(
            f"{own:,} of `mlagentbench assist` on a person's own folder, which have no grade"
        )
    if not found.runs:
        raise UsageError(
            f"There are no runs of tasks in {', '.join(map(str, places))}; `mlagentbench run TASK` makes some."
        )
    found.runs.sort(key=lambda run: (run.summary.task, run.summary.variant, run.who, run.summary.seed))
    return found


def _folders(places: Sequence[str | Path], folder: Path) -> Iterator[RunFolder]:
    """Each once, however many places hold it."""
    seen: set[Path] = set()
    for place in places:
        here = next((path for path in (Path(place), folder / place) if path.is_dir()), None)
        runs = find_runs([here]) if here else _of_agent(place, folder)
        for run in runs:
            if run.path not in seen:
                seen.add(run.path)
                yield run


def _of_agent(agent: str | Path, folder: Path) -> list[RunFolder]:
    """Its runs, and those that nobody can tell the agent of, so that they are named."""
    found = runs_of(agent, folder)
    return [run for run, _ in (*found.read, *found.damaged)]


def _relative(problem: str, path: Path) -> str:
    """Without the place where the runs lie, which is nobody's business."""
    return problem.replace(f"{path}/", "").replace(str(path), path.name)


def _trimmed(profile: Profile) -> Profile:
    claims = profile.claims.model_copy(update={"unsupported": profile.claims.unsupported[:_CLAIMS_KEPT]})
    return profile.model_copy(update={"claims": claims, "points": _changes(profile.points)})


def _changes(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points that are worth something else than the one before; curves over them are the same."""
    if len(points) < 3:
        return tuple(points)
    kept = [points[0]]
    for before, point in pairwise(points):
        if _worth(before) != _worth(point):
            kept.append(point)
    if kept[-1] is not points[-1]:
        kept.append(points[-1])
    return tuple(kept)


def _worth(point: Point) -> tuple[object, ...]:
    return point.valid, point.improvement, point.success, point.cost is None


def _note(conditions: Conditions, request: RunRequest, profile: Profile) -> None:
    summary, subject = profile.summary, profile.subject
    key = (summary.agent, summary.model, subject.settings_hash, summary.imported)
    if key not in conditions.asked:
        conditions.asked[key] = request, 0
    first, number = conditions.asked[key]
    conditions.asked[key] = first, number + 1
    if summary.imported:
        return
    if subject.host not in conditions.hosts:
        conditions.hosts[subject.host] = request.host, 0
    host, number = conditions.hosts[subject.host]
    conditions.hosts[subject.host] = host, number + 1


def _of_damaged(run: RunFolder, request: RunRequest) -> Profile:
    """What is known of a run whose record cannot be read: what was asked. It stays in the denominator."""
    return Profile(
        basis=Basis(rules="", head="", grades="", annotations=""),
        subject=Subject(
            data=request.data_digest,
            experiment=run.path.parents[2].name if len(run.path.parents) > 2 else "",
            agent=request.agent,
            settings=request.settings,
            settings_hash="damaged",
            created=request.created,
            version=request.version,
            host="damaged",
        ),
        summary=Summary(
            run=request.id,
            task=request.task,
            variant=request.variant,
            agent=request.called,
            model=request.model,
            seed=request.seed,
            network=request.network,
            sandbox=request.sandbox,
            head="",
            ended="damaged",
            steps=0,
            failed_steps=0,
            actions={},
            denied=0,
            elapsed=0.0,
            execution_wall=0.0,
            execution_cpu=0.0,
            peak_memory=0,
            cost=None,
            imported=request.imported is not None,
            unknown=("time", "tokens", "cost", "execution"),
        ),
        times=None,
        process=Process(),
        failure=Failure(
            mode="infrastructure", evidence="Its record was damaged, so that there is no grade to trust."
        ),
    )


def limits_in_words(request: RunRequest) -> str:
    """What bounded a run as a whole. Of an imported one, only steps and time can be known: the rest is what it is
    graded with."""
    limits = request.limits
    parts = [
        f"{limits.steps:,} steps" if limits.steps is not None else "",
        f"{limits.time / 60:,.0f} minutes" if limits.time is not None else "",
        f"{limits.tokens:,} tokens" if limits.tokens is not None else "",
        f"{limits.cost:g} dollars" if limits.cost is not None else "",
        f"{limits.execution_time / 60:,.0f} minutes an execution",
        f"{limits.memory / 1e9:,.1f} GB memory",
    ]
    return ", ".join(part for part in (parts[:2] if request.imported else parts) if part) or "not known"
