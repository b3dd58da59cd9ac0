"""Is a run what it says it is? Integrity, origin and grade are looked at one after the other, and told apart."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from mlagentbench import bounds
from mlagentbench.environment.limits import resource_limits
from mlagentbench.environment.making import prepared_for
from mlagentbench.environment.trust import ForeignRunError, local_request
from mlagentbench.errors import MLAgentBenchError, RecordError
from mlagentbench.evaluation.profile import Profile, derive_profile
from mlagentbench.grading import Grade, Grader
from mlagentbench.grading.scoring import THRESHOLD, judge
from mlagentbench.record.events import RunEnded, StepTaken
from mlagentbench.record.files import read_part
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import read_grades, recorded_grades
from mlagentbench.record.log import History
from mlagentbench.record.packing import objects_of
from mlagentbench.record.signature import Origin
from mlagentbench.record.summary import Summary, derive
from mlagentbench.sandbox import choose
from mlagentbench.task.definition import Task
from mlagentbench.workspace import remove_tree

ORIGINS: dict[Origin, str] = {
    "made": "made here: run.json carries the signature of this installation",
    "imported": "imported here from another program's log; nothing proves what happened before that",
    "trusted": "made elsewhere, and trusted here by its user",
    "foreign": "foreign: nothing shows that it was made here, and nothing proves who made it",
}
_FOLLOWING = ("improvement", "success", "success_at", "decided")
"""What of a verdict follows from its score and its baseline."""
_Kept = TypeVar("_Kept", Summary, Profile)
_NEAR = 1e-3
"""Baselines that differ by less than this share are the same: machines round differently."""


@dataclass
class Findings:
    """What was checked, and what is wrong."""

    checked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


@dataclass
class Verification:
    """What was found of a run, by what it proves."""

    run: Path
    origin: Origin = "foreign"
    integrity: Findings = field(default_factory=Findings)
    """The chain of events, the snapshots, and whether what was derived from them follows from them."""
    grade: Findings = field(default_factory=Findings)
    """The last snapshot, graded again here: score, baseline and improvement."""

    @property
    def checked(self) -> list[str]:
        return [*self.integrity.checked, *self.grade.checked]

    @property
    def problems(self) -> list[str]:
        return [*self.integrity.problems, *self.grade.problems]

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(
    run: str | Path,
    *,
    key: str | None = None,
    regrade: bool = True,
    task: str | Path | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Verification:
    """Read every line and every object of a run again, and grade its last snapshot again.

    A run that was not made here is graded in this machine's default sandbox. `task` is the folder of its task, where
    that is not installed by name.
    """
    folder = RunFolder.open(run)
    result = Verification(folder.path)
    try:
        result.origin = folder.origin
        history = folder.history()
    except RecordError as error:
        result.integrity.problems.append(str(error))
        return result
    _check_record(folder, history, result.integrity)
    _check_objects(folder, result.integrity)
    ended = next((event for event in history.events if isinstance(event, RunEnded)), None)
    if ended is None:
        result.integrity.checked.append("the run has not ended; `resume` goes on with it")
    elif folder.request().own is not None:
        result.grade.checked.append("a person's own problem, so there is nothing to grade")
    elif regrade and not result.problems:
        _check_grade(folder, ended.snapshot, key, task, progress, result.grade)
    _check_derived(folder, history, result.integrity)
    return result


def _check_record(folder: RunFolder, history: History, found: Findings) -> None:
    steps = [event for event in history.events if isinstance(event, StepTaken)]
    found.checked.append(f"{len(history.events)} events in an unbroken chain, {len(steps)} steps")
    if imported := folder.request().imported:
        since = time.strftime("%Y-%m-%d", time.gmtime(imported.time))
        found.checked.append(f"imported from {imported.source}: the chain holds only since then, {since}")
    if history.dropped:
        found.checked.append(f"a torn last line of {history.dropped} bytes, which `resume` drops")
    if problem := folder.end_problem(history):
        found.problems.append(problem)
    if [step.index for step in steps] != list(range(1, len(steps) + 1)):
        found.problems.append("The steps are not numbered one after the other.")
    for step in steps:
        if step.observation.output:
            try:
                folder.open_output(step.observation.output).close()
            except FileNotFoundError:
                found.problems.append(f"The whole output of step {step.index} is missing from outputs/.")
            except RecordError as error:
                found.problems.append(f"The whole output of step {step.index} cannot be read: {error}")


def _check_objects(folder: RunFolder, found: Findings) -> None:
    try:
        store = folder.store()
        count = 0
        for name in objects_of(folder):
            store.check(name)
            count += 1
        found.checked.append(f"{count} objects of its snapshots")
    except RecordError as error:
        found.problems.append(str(error))


def _check_grade(
    folder: RunFolder,
    snapshot: str,
    key: str | None,
    task: str | Path | None,
    progress: Callable[[str], None],
    found: Findings,
) -> None:
    try:
        recorded = recorded_grades(folder).get(snapshot)
    except RecordError:
        return  # which is found below
    if recorded is None and folder.request().imported is not None:
        found.checked.append("imported and not graded; a note in its record says why")
        return
    if recorded is None:
        found.problems.append(
            f"The run has ended but was not graded; `mlagentbench grade {folder.path}` does it."
        )
        return
    scratch = folder.scratch
    try:
        request = local_request(folder, task)
        prepared = prepared_for(request, key, progress)
        grader = Grader(
            prepared,
            choose(request.sandbox),
            scratch,
            resource_limits(request.limits),
            progress,
            request.network and request.imported is None,
        )
        again = grader.grade(folder.store(), snapshot)
    except ForeignRunError as error:
        found.checked.append(f"not graded again, so the verdict is what its maker says. {error}")
        return
    except MLAgentBenchError as error:
        found.problems.append(f"It could not be graded again: {error}")
        return
    finally:
        if scratch.exists():
            remove_tree(scratch)
    _compare(prepared.task, recorded, again, found)


def _compare(task: Task, recorded: Grade, again: Grade, found: Findings) -> None:
    """The recorded verdict, and the one that was reached now against what is measured on this machine."""
    same = agree(recorded, again)
    if not same:
        found.problems.append(f"Graded again it gets {_say(again)}; recorded is {_say(recorded)}.")
    if recorded.baseline is not None and again.baseline is not None:
        here, there = again.baseline, recorded.baseline
        if abs(here.mean - there.mean) > 2 * here.spread + _NEAR * abs(here.mean):
            same = False
            found.problems.append(
                f"The starter scores {here.mean:.6g} on this machine; recorded as the baseline is {there.mean:.6g}."
            )
    verdict = judge(recorded, task.definition.metric, recorded.baseline)
    if any(getattr(verdict, name) != getattr(recorded, name) for name in _FOLLOWING):
        same = False
        found.problems.append("The recorded verdict does not follow from its own score and baseline.")
    for name, what in (
        ("over_plain", "improvement over the plain model"),
        ("position", "position to the oracle"),
    ):
        one, other = getattr(recorded, name), getattr(again, name)
        if one is None or other is None or again.interval:
            continue
        if abs(one - other) > max(_NEAR, _NEAR * abs(other)):
            same = False
            found.problems.append(f"The {what} is {other:.4g} here; recorded is {one:.4g}.")
    if same:
        found.checked.append(f"the same verdict when graded again ({_say(again)}{_relative(again)})")


def _relative(grade: Grade) -> str:
    if grade.baseline is None:
        return "; without a baseline"
    gain = f", improvement {grade.improvement:+.2%}" if grade.improvement is not None else ""
    return f"; baseline {grade.baseline.mean:.6g}{gain}"


def _check_derived(folder: RunFolder, history: History, found: Findings) -> None:
    """What lies beside the record: verdicts must be signed where the run is ours; what is derived must follow."""
    try:
        read_grades(folder)
        if (summary := _parsed(Summary, folder, folder.summary_file)) and summary != derive(folder, history):
            found.problems.append(_not_followed(folder.summary_file))
        profile = _parsed(Profile, folder, folder.evaluation_file)
        if profile is not None:
            derived = derive_profile(folder)
            if profile.basis == derived.basis and profile != derived:
                found.problems.append(_not_followed(folder.evaluation_file))
    except RecordError as error:
        if str(error) not in found.problems:
            found.problems.append(str(error))


def _parsed(kind: type[_Kept], folder: RunFolder, file: Path) -> _Kept | None:
    """What a derived file says, believed or not; None if there is none, or one that is made anew anyway."""
    try:
        return kind.model_validate_json(read_part(folder.path, file.name, bounds.DERIVED))
    except (FileNotFoundError, ValidationError):
        return None


def _not_followed(file: Path) -> str:
    return f"{file} does not follow from the record, and is not believed. Delete it; it is made again when asked for."


def agree(one: Grade, other: Grade) -> bool:
    """The same number; for timed tasks, whose times are never the same, the same verdict and nearly the same ratio.

    Nearly is by less than what counts as a success, as a share of the starter's time.
    """
    if (one.valid, one.success) != (other.valid, other.success):
        return False
    if one.interval and other.interval and one.score is not None and other.score is not None:
        return abs(one.score - other.score) < THRESHOLD
    return one.score == other.score


def _say(grade: Grade) -> str:
    return f"score {grade.score:.6g}" if grade.score is not None else f"no score: {grade.reason}"
