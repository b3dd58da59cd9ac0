"""Runs of the original benchmark, taken in as runs of this one, and graded where that can be done."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.environment.limits import resource_limits
from mlagentbench.errors import MLAgentBenchError
from mlagentbench.evaluation.oldnames import Placement, place_run
from mlagentbench.grading import Grade, Grader
from mlagentbench.record.folder import STORE, RunFolder, run_path
from mlagentbench.record.grades import remember_grade
from mlagentbench.record.importing import Writer
from mlagentbench.record.original.folder import OldFolder
from mlagentbench.record.original.run import OldRun, read_old_run
from mlagentbench.record.original.workspaces import Workspaces, keep_workspaces
from mlagentbench.record.request import RunRequest
from mlagentbench.record.summary import summarise
from mlagentbench.sandbox import choose
from mlagentbench.workspace import Store, find, remove_tree

Progress = Callable[[str], None]
_MARKS = ("env_log", "agent_log")
_DEEPEST = 12
_MOST_SENTENCES = 200


@dataclass(frozen=True)
class Import:
    """What became of one folder."""

    source: Path
    run: Path | None = None
    """Where the run lies now; None where nothing could be made of the folder."""
    problem: str = ""
    """Why not, or that it was imported before."""
    steps: int = 0
    ended: str = ""
    missing: tuple[str, ...] = ()
    """What the folder does not tell."""
    damaged: tuple[str, ...] = ()
    """What could not be read, or only in part."""
    grade: Grade | None = None
    not_graded: str = ""
    """Why there is no grade."""

    @property
    def ok(self) -> bool:
        return self.run is not None


def import_runs(
    *folders: str | Path,
    runs: str | Path = "runs",
    experiment: str = "imported",
    task: str | Path | None = None,
    variant: str | None = None,
    agent: str | None = None,
    model: str | None = None,
    sandbox: str = "auto",
    progress: Progress = lambda line: None,
) -> list[Import]:
    """Take in run folders of the original benchmark: each of `folders`, or all that lie below it.

    `task`, `agent` and `model` say what a folder does not tell, or tells wrongly. `variant` is that of the data to
    grade with, `full` unless it is said. Every folder has its place in the answer.

    >>> import mlagentbench
    >>> [each.missing for each in mlagentbench.import_runs("logs/cifar10/run_1")]              # doctest: +SKIP
    """
    done: list[Import] = []
    for place in map(Path, folders):
        found = list(_run_folders(place))
        if not found:
            done.append(Import(place, problem=_no_run(place)))
        for folder in found:
            progress(f"Importing {folder}.")
            try:
                with OldFolder(folder) as old:
                    run = read_old_run(old)
                    where = place_run(run, task=task, variant=variant, agent=agent, model=model)
                    done.append(
                        _import(old, run, where, Path(runs).absolute(), experiment, sandbox, progress)
                    )
            except MLAgentBenchError as error:
                done.append(Import(folder, problem=str(error)))
            except OSError as error:
                done.append(Import(folder, problem=f"It could not be read, or the run not written: {error}."))
    return done


def _no_run(place: Path) -> str:
    if not place.is_dir():
        return "There is no such folder."
    return "It is no run folder of the original, and none lies below it: one holds env_log/ or agent_log/."


def _run_folders(place: Path, depth: int = 0) -> Iterator[Path]:
    """`place` if it is a run's folder, else those below it. Links are not followed."""
    try:
        with os.scandir(place) as listing:
            inner = sorted(entry.name for entry in listing if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    if any(mark in inner for mark in _MARKS):
        yield place
    elif depth < _DEEPEST:
        for name in inner:
            yield from _run_folders(place / name, depth + 1)


def _import(
    old: OldFolder,
    run: OldRun,
    where: Placement,
    root: Path,
    experiment: str,
    sandbox: str,
    progress: Progress,
) -> Import:
    """The run is built aside and renamed, so that it is there as a whole or not at all."""
    request = where.request
    place = run_path(root, experiment, request.task, request.called, request.model, request.id)
    if place.exists():
        return Import(old.path, place, "It was imported before, and is as it was then.")
    aside = RunFolder(root / STORE / f"importing-{secrets.token_hex(6)}")
    aside.path.mkdir(parents=True)
    try:
        with Store(root / STORE) as store:
            kept = keep_workspaces(old, len(run.trace.steps), store, request.limits.disk)
            request = _with_findings(request, run, where, kept)
            aside.write_request(request, "imported")
            verdict, reason = _grade(where, kept, store, aside, sandbox, progress)
            notes = [f"Imported from {old.path}.", *([f"Not graded: {reason}"] if reason else [])]
            Writer(run, kept, where.words, aside, store).write(notes)
            if verdict is not None:
                remember_grade(aside, verdict)
            store.flush()
        summary = summarise(aside)
        place.parent.mkdir(parents=True, exist_ok=True)
        aside.path.rename(place)
    finally:
        shutil.rmtree(aside.path, ignore_errors=True)
    imported = request.imported
    assert imported is not None
    return Import(
        source=old.path,
        run=place,
        steps=summary.steps,
        ended=summary.ended,
        missing=imported.missing,
        damaged=imported.damaged,
        grade=verdict,
        not_graded=reason.replace(str(aside.path), str(place)),
    )


def _with_findings(request: RunRequest, run: OldRun, where: Placement, kept: Workspaces) -> RunRequest:
    assert request.imported is not None
    found = request.imported.model_copy(
        update={
            "missing": _some([*run.missing, *where.missing, *kept.missing]),
            "damaged": _some([*run.damaged, *kept.damaged]),
        }
    )
    return request.model_copy(update={"imported": found})


def _some(sentences: list[str]) -> tuple[str, ...]:
    more = len(sentences) - _MOST_SENTENCES
    return (*sentences[:_MOST_SENTENCES], *([f"And {more:,} more of the kind."] if more > 0 else []))


def _grade(
    where: Placement, kept: Workspaces, store: Store, folder: RunFolder, sandbox: str, progress: Progress
) -> tuple[Grade | None, str]:
    """A verdict of our own grader on what the run left; or why there is none."""
    if where.prepared is None or not kept.any:
        return None, where.not_gradable or "there are no files of the run."
    request = where.request
    try:
        grader = Grader(
            where.prepared, choose(sandbox), folder.scratch, resource_limits(request.limits), progress
        )
        verdict = grader.grade(store, kept.last)
    except MLAgentBenchError as error:
        return None, f"the grader could not run: {error}"
    finally:
        if folder.scratch.exists():
            remove_tree(folder.scratch)
    submission = where.prepared.task.definition.submission
    left_nothing = submission.endswith(".csv") and find(store, kept.last, submission) is None
    if verdict.valid or left_nothing:  # without a submission it failed, whatever the data were
        return verdict, ""
    return None, (
        f"what the run left has not the form that {request.task} ({request.variant}) asks for: {verdict.reason} "
        "The original's data were others. `mlagentbench grade` keeps this as a verdict, if it is one."
    )
