"""Verdicts that lack what the task's own starter, plain model or oracle scores: that is measured, as far as it can be
here, and the verdicts are brought up to date. Nothing is fetched, and no data are made."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mlagentbench.environment.limits import resource_limits, run_limits
from mlagentbench.environment.setup import this_host
from mlagentbench.errors import MLAgentBenchError, RecordError
from mlagentbench.evaluation.groups import runs_of
from mlagentbench.evaluation.rejudging import judge_again
from mlagentbench.grading import Grade
from mlagentbench.grading.references import RUNS, Kind, kinds_of, unmeasured
from mlagentbench.record.folder import RunFolder, find_runs
from mlagentbench.record.request import Host, RunRequest
from mlagentbench.record.summary import read_summary
from mlagentbench.sandbox import choose
from mlagentbench.task.definition import Task
from mlagentbench.task.preparation import Prepared, find_prepared
from mlagentbench.task.registry import load_task

Progress = Callable[[str], None]
Extent = Literal["none", "quick", "all"]
"""What may be measured: nothing; what nobody has to wait hours for, which leaves out published data; everything."""


@dataclass(frozen=True)
class Incomplete:
    """Runs on the same data whose verdicts lack something."""

    prepared: Prepared
    runs: tuple[RunFolder, ...]
    unmeasured: tuple[Kind, ...]
    """Of what they lack."""


@dataclass
class Completed:
    """What came of completing verdicts."""

    measured: list[str] = field(default_factory=list)
    judged: int = 0
    """Runs whose verdict has changed."""
    waiting: list[str] = field(default_factory=list)
    """What could be measured here, and was not asked for: `plain and oracle of house-price@1 (mini)`."""
    problems: list[str] = field(default_factory=list)
    """What cannot be, a sentence each."""


def complete_verdicts(
    places: Sequence[str | Path],
    folder: Path,
    extent: Extent = "quick",
    progress: Progress = lambda line: None,
) -> Completed:
    """Complete the verdicts of all runs in `places`: folders of runs, experiments in `folder`, or agents with runs
    there. Data are looked at once, however many runs are on them."""
    done = Completed()
    passed_over: dict[str, list[str]] = {}
    for data, runs in _by_data(places, folder).items():
        found = _find(data)
        if isinstance(found, str):
            if _lacks_something(runs):
                passed_over.setdefault(found, []).append(data.told)
            continue
        short = find_incomplete(found, runs)
        kinds = short.unmeasured
        if kinds and (extent == "none" or (extent == "quick" and _takes_long(found))):
            done.waiting.append(f"{' and '.join(kinds)} of {data.told}")
        elif kinds and found.task.definition.variant(data.variant).live:
            reason = "its services are on the network; an `experiment` on it with --network on measures them"
            passed_over.setdefault(reason, []).append(data.told)
        else:
            _measure_all(short, data, done, progress)
        judged, problems = judge_all(short)
        done.judged += judged
        done.problems += problems
    for reason, names in passed_over.items():
        done.problems.append(f"plain and oracle of {', '.join(dict.fromkeys(names))} are not known: {reason}")
    return done


def find_incomplete(prepared: Prepared, runs: Iterable[RunFolder]) -> Incomplete:
    """Those of `runs`, which are all on these data, whose verdicts can be completed."""
    there = set(kinds_of(prepared))
    if prepared.task.definition.metric.goal is None:
        there &= {"starter"}
    found, wanted = [], set[Kind]()
    for run in runs:
        if kinds := lacking(_verdict(run)) & there:
            found.append(run)
            wanted |= kinds
    return Incomplete(prepared, tuple(found), tuple(k for k in unmeasured(prepared) if k in wanted))


def lacking(grade: Grade | None) -> set[Kind]:
    """What a verdict was not set against; without a score there is nothing to set."""
    if grade is None or grade.score is None:
        return set()
    told: dict[Kind, object] = {
        "starter": grade.baseline,
        "plain": grade.over_plain,
        "oracle": grade.position,
    }
    return {kind for kind, value in told.items() if value is None}


def measure(
    prepared: Prepared, kind: Kind, sandbox: str, progress: Progress, *, network: bool = False
) -> None:
    """Run the task's own `kind` as often as it should be, and remember what it scores."""
    from mlagentbench.grading.grader import Grader

    limits = resource_limits(run_limits(prepared.task.definition.limits))
    with tempfile.TemporaryDirectory(prefix="mlagentbench-measure-") as scratch:
        grader = Grader(prepared, choose(sandbox), Path(scratch), limits, progress, network)
        grader.measure(kind, RUNS[kind])


def judge_all(short: Incomplete) -> tuple[int, list[str]]:
    """Set all of them against what is known by now: how many verdicts have changed, and what went wrong."""
    judged, problems = 0, []
    for run in short.runs:
        try:
            judged += judge_again(run, short.prepared)
        except (RecordError, OSError) as error:
            problems.append(f"The verdict of {run.path.name} is as it was: {error}")
    return judged, problems


def made_here(host: Host) -> bool:
    """Whether a run was made on a machine like this one, as far as its record tells."""
    here = this_host()
    return (host.machine, host.cores) == (here.machine, here.cores)


@dataclass(frozen=True)
class _Data:
    """What runs have in common whose verdicts are set against the same measurements."""

    task: str
    folder: str
    variant: str
    seed: int
    digest: str
    keyed: bool
    python: str
    imported: bool
    foreign: bool
    here: bool

    @classmethod
    def of(cls, request: RunRequest, foreign: bool) -> _Data:
        return cls(
            task=request.task,
            folder=request.task_folder,
            variant=request.variant,
            seed=request.data_seed,
            digest=request.data_digest,
            keyed=bool(request.data_key),
            python=request.python,
            imported=request.imported is not None,
            foreign=foreign,
            here=made_here(request.host),
        )

    @property
    def told(self) -> str:
        return f"{self.task} ({self.variant}{f', data seed {self.seed}' if self.seed else ''})"


def _by_data(places: Sequence[str | Path], folder: Path) -> dict[_Data, list[RunFolder]]:
    """Runs that cannot be read are left to the report, which names them; so is work on a person's own folder."""
    found: dict[_Data, list[RunFolder]] = {}
    seen: set[Path] = set()
    for run in _folders(places or (folder,), folder):
        if run.path in seen:
            continue
        seen.add(run.path)
        try:
            request = run.request()
        except (RecordError, OSError):
            continue
        if request.own is None:
            found.setdefault(_Data.of(request, run.origin == "foreign"), []).append(run)
    return found


def _folders(places: Sequence[str | Path], folder: Path) -> Iterator[RunFolder]:
    for place in places:
        here = next((path for path in (Path(place), folder / place) if path.is_dir()), None)
        yield from find_runs([here]) if here else (run for run, _ in runs_of(place, folder).read)


def _find(data: _Data) -> Prepared | str:
    """The data, ready for a measurement; or why there can be none."""
    if data.imported:
        return "its runs were imported"
    if data.foreign:
        return "its runs were not made here; `mlagentbench grade` grades them, `mlagentbench trust` lets them count"
    if not data.here:
        return "its runs were made on another machine; a report there has them"
    if data.keyed:
        return "its data were made with a key; the `experiment`, started again with --key, measures them"
    if data.python:
        # Named by the record, which may come from anybody; a report runs no program for that.
        return "its runs had an interpreter of the user's own; the `experiment`, started again, measures them"
    task = _task(data)
    if isinstance(task, str):
        return task
    try:
        prepared = find_prepared(task, data.variant, seed=data.seed)
    except MLAgentBenchError as error:
        return str(error)
    if prepared is None:
        return f"its data are not ready here; `{_preparing(data)}` makes them"
    return prepared if prepared.digest == data.digest else "its data are others than those of its runs by now"


def _task(data: _Data) -> Task | str:
    try:
        task = load_task(data.folder or data.task.partition("@")[0])
    except MLAgentBenchError:
        return "there is no such task here"
    return task if task.id == data.task else f"the task here is {task.id}"


def _preparing(data: _Data) -> str:
    seed = f" --data-seed {data.seed}" if data.seed else ""
    return f"mlagentbench prepare {data.folder or data.task} --variant {data.variant}{seed}"


def _takes_long(prepared: Prepared) -> bool:
    """Whether it may be a matter of hours: data that were published, and not made from a seed."""
    variant = prepared.task.definition.variant(prepared.variant)
    return not prepared.task.trusted or bool(variant.sources) or prepared.variant.partition("=")[0] == "full"


def _verdict(run: RunFolder) -> Grade | None:
    """Of a run that has ended. One that was not graded is not worth reading."""
    if not run.grades_file.exists():
        return None
    try:
        return read_summary(run).grade
    except (RecordError, OSError):
        return None  # the report says what is wrong with it


def _lacks_something(runs: Iterable[RunFolder]) -> bool:
    """By the first that has a score: what it lacks, the others do."""
    scored = (grade for run in runs if (grade := _verdict(run)) is not None and grade.score is not None)
    return bool(lacking(next(scored, None)))


def _measure_all(short: Incomplete, data: _Data, done: Completed, progress: Progress) -> None:
    if not short.unmeasured:
        return
    used = short.runs[0].request().sandbox
    sandbox = "auto" if used == "none" else used
    for kind in short.unmeasured:
        try:
            measure(short.prepared, kind, sandbox, progress)
        except MLAgentBenchError as error:
            done.problems.append(f"{kind} of {data.told} could not be measured: {error}")
            if kind == "starter":
                return  # nothing can be told without it
            continue
        done.measured.append(f"{kind} of {data.told}")
