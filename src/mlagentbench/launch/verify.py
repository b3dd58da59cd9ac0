"""Is a run what it says it is? The chain, the snapshots, and the grade are looked at again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from mlagentbench.environment.limits import resource_limits
from mlagentbench.environment.making import prepared_for
from mlagentbench.errors import MLAgentBenchError, RecordError
from mlagentbench.grading import Grade, Grader
from mlagentbench.grading.scoring import THRESHOLD, judge
from mlagentbench.record.events import RunEnded, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import read_grades
from mlagentbench.record.packing import objects_of
from mlagentbench.record.summary import derive, read_summary
from mlagentbench.sandbox import choose
from mlagentbench.workspace import remove_tree

_FOLLOWING = ("improvement", "success", "success_at", "decided")
"""What of a verdict follows from its score and its baseline."""


@dataclass
class Verification:
    """What was checked of a run, and what is wrong with it."""

    run: Path
    checked: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.problems


def verify(
    run: str | Path,
    *,
    key: str | None = None,
    regrade: bool = True,
    progress: Callable[[str], None] = lambda line: None,
) -> Verification:
    """Read every line and every object of a run again, and grade its last snapshot again."""
    folder = RunFolder.open(run)
    result = Verification(folder.path)
    try:
        history = folder.history()
    except RecordError as error:
        result.problems.append(str(error))
        return result
    steps = [event for event in history.events if isinstance(event, StepTaken)]
    result.checked.append(f"{len(history.events)} events in an unbroken chain, {len(steps)} steps")
    if imported := folder.request().imported:
        since = time.strftime("%Y-%m-%d", time.gmtime(imported.time))
        result.checked.append(f"imported from {imported.source}: the chain holds only since then, {since}")
    if history.dropped:
        result.checked.append(f"a torn last line of {history.dropped} bytes, which `resume` drops")
    if [step.index for step in steps] != list(range(1, len(steps) + 1)):
        result.problems.append("The steps are not numbered one after the other.")
    for step in steps:
        if step.observation.output and not (folder.outputs / step.observation.output).is_file():
            result.problems.append(f"The whole output of step {step.index} is missing from outputs/.")
    _check_objects(folder, result)
    ended = next((event for event in history.events if isinstance(event, RunEnded)), None)
    if ended is None:
        result.checked.append("the run has not ended; `resume` goes on with it")
    elif folder.request().own is not None:
        result.checked.append("a person's own problem, so there is nothing to grade")
    elif regrade and not result.problems:
        _check_grade(folder, ended.snapshot, key, progress, result)
    _check_summary(folder, result)
    return result


def _check_objects(folder: RunFolder, result: Verification) -> None:
    try:
        store = folder.store()
        count = 0
        for name in objects_of(folder):
            store.get(name)
            count += 1
        result.checked.append(f"{count} objects of its snapshots")
    except RecordError as error:
        result.problems.append(str(error))


def _check_grade(
    folder: RunFolder, snapshot: str, key: str | None, progress: Callable[[str], None], result: Verification
) -> None:
    try:
        recorded = read_grades(folder).get(snapshot)
    except RecordError as error:
        result.problems.append(str(error))
        return
    request = folder.request()
    if recorded is None and request.imported is not None:
        result.checked.append("imported and not graded; a note in its record says why")
        return
    if recorded is None:
        result.problems.append(
            f"The run has ended but was not graded; `mlagentbench grade {folder.path}` does it."
        )
        return
    scratch = folder.scratch
    try:
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
    except MLAgentBenchError as error:
        result.problems.append(f"It could not be graded again: {error}")
        return
    finally:
        if scratch.exists():
            remove_tree(scratch)
    if agree(recorded, again):
        result.checked.append(f"the same verdict when graded again ({_say(again)})")
    else:
        result.problems.append(f"Graded again it gets {_say(again)}; recorded is {_say(recorded)}.")
    verdict = judge(recorded, prepared.task.definition.metric, recorded.baseline)
    if any(getattr(verdict, name) != getattr(recorded, name) for name in _FOLLOWING):
        result.problems.append("The recorded verdict does not follow from its own score and baseline.")


def _check_summary(folder: RunFolder, result: Verification) -> None:
    try:
        if folder.summary_file.exists() and read_summary(folder) != derive(folder):
            result.problems.append(
                f"{folder.summary_file} does not follow from the record. Delete it; it is made again when asked for."
            )
    except RecordError as error:
        result.problems.append(str(error))


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
