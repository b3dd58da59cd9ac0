"""Verdicts brought up to date with what the task's starter, plain model and oracle scored since; nothing is run."""

from __future__ import annotations

from mlagentbench.grading import Baseline, Grade
from mlagentbench.grading.references import BASELINE_RUNS, References, read_references
from mlagentbench.grading.scoring import NO_BASELINE, baseline_of, judge
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import grades_reached_here, remember_grades
from mlagentbench.record.summary import summarise
from mlagentbench.task.preparation import Prepared


def judge_again(folder: RunFolder, prepared: Prepared) -> bool:
    """Set the scores of a run on these data against what is measured by now; whether a verdict has changed. Scores stay
    as they are, and so do verdicts that were not reached here."""
    known = grades_reached_here(folder)
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
    """The verdict that the same score gets now. What it was set against before and is not remembered any more stays."""
    references = read_references(prepared)
    starter = _starter(prepared, references, grade.baseline)
    if grade.score is None or starter is None:
        return grade
    plain, oracle = references.scores("plain"), references.scores("oracle")
    new = judge(grade, prepared.task.definition.metric, starter, plain, oracle)
    return new.model_copy(
        update={
            "over_plain": new.over_plain if plain else grade.over_plain,
            "position": new.position if oracle else grade.position,
            "notes": tuple(note for note in grade.notes if not note.startswith(NO_BASELINE)),
        }
    )


def _starter(prepared: Prepared, references: References, before: Baseline | None) -> Baseline | None:
    """As it is remembered, or was when the verdict was reached; a timed task's is 1 by definition."""
    program = prepared.task.definition.program
    if program is not None and program.timing is not None:
        return Baseline(mean=1.0, spread=0.0, runs=program.timing.rounds)
    scores = references.scores("starter")
    return baseline_of(scores) if before is None or len(scores) >= BASELINE_RUNS else before
