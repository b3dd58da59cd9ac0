"""Verdicts brought up to date with what the task's starter, plain model and oracle scored since; nothing is run."""

from __future__ import annotations

from pathlib import Path

from mlagentbench.environment.setup import key_mark
from mlagentbench.errors import UsageError
from mlagentbench.grading import Baseline, Grade
from mlagentbench.grading.references import read_references
from mlagentbench.grading.scoring import baseline_of, judge
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import read_grades, remember_grades
from mlagentbench.record.summary import summarise
from mlagentbench.task.preparation import Prepared, find_prepared
from mlagentbench.task.registry import load_task


def judge_again(run: str | Path, *, key: str | None = None) -> bool:
    """Set a run's scores against what is measured by now; whether a verdict has changed. Scores stay as they are."""
    folder = RunFolder.open(run)
    request = folder.request()
    if request.data_key != key_mark(key):
        raise UsageError(f"The data of {run} were made with another key, or without one; see --key.")
    prepared = find_prepared(
        load_task(request.task_folder or request.task),
        request.variant,
        seed=request.data_seed,
        key=key,
        python=request.python or None,
    )
    if prepared is None or prepared.digest != request.data_digest:
        return False
    known = read_grades(folder)
    changed = [new for old in known.values() if (new := _judged(prepared, old)) != old]
    if changed:
        folder.lock()
        try:
            remember_grades(folder, changed)
            summarise(folder)
        finally:
            folder.unlock()
    return bool(changed)


def _judged(prepared: Prepared, grade: Grade) -> Grade:
    """The verdict that the same score gets now."""
    starter = _starter(prepared)
    if grade.score is None or starter is None:
        return grade
    references = read_references(prepared)
    metric = prepared.task.definition.metric
    return judge(grade, metric, starter, references.scores("plain"), references.scores("oracle"))


def _starter(prepared: Prepared) -> Baseline | None:
    """As it is remembered; a timed task's is 1 by definition."""
    program = prepared.task.definition.program
    if program is not None and program.timing is not None:
        return Baseline(mean=1.0, spread=0.0, runs=program.timing.rounds)
    return baseline_of(read_references(prepared).scores("starter"))
