"""Grading on demand: a recorded run again, at any of its steps; or a submission that was made elsewhere."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from mlagentbench.environment.environment import NOTHING_TO_GRADE
from mlagentbench.environment.limits import resource_limits, run_limits
from mlagentbench.environment.making import prepared_for
from mlagentbench.environment.trust import local_request
from mlagentbench.errors import MachineFaultError, UsageError
from mlagentbench.grading import Grade, Grader
from mlagentbench.record.events import RunEnded, RunStarted, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import remember_grade
from mlagentbench.record.request import RunRequest
from mlagentbench.record.summary import summarise
from mlagentbench.sandbox import choose
from mlagentbench.task.layout import layout
from mlagentbench.task.preparation import Prepared, prepare
from mlagentbench.task.registry import load_task
from mlagentbench.workspace import Store, Workspace, remove_tree

Progress = Callable[[str], None]


def grade(
    run: str | Path,
    *,
    step: int | None = None,
    key: str | None = None,
    sandbox: str | None = None,
    task: str | Path | None = None,
    progress: Progress = lambda line: None,
) -> Grade:
    """Grade a run again at its last snapshot, or at the one after `step` (0: as it began), and keep the verdict.

    A run that was not made here is graded in this machine's default sandbox. `task` is the folder of its task, where
    that is not installed by name.

    >>> import mlagentbench
    >>> mlagentbench.grade("runs/demo/house-price/oracle--no-model/20260101-120000-abcdef")    # doctest: +SKIP
    """
    folder = RunFolder.open(run)
    request = local_request(folder, task)
    snapshot = snapshot_at(folder, step)
    prepared = data_of(request, key, progress)
    folder.lock()
    try:
        grader = grader_of(request, prepared, sandbox, folder.scratch, progress)
        try:
            verdict = grader.grade(folder.store(), snapshot)
        except MachineFaultError as fault:
            raise MachineFaultError(fault.what, folder.path) from fault
        remember_grade(folder, verdict)
        summarise(folder)
    finally:
        try:
            if folder.scratch.exists():
                remove_tree(folder.scratch)
        finally:
            folder.unlock()
    return verdict


def data_of(request: RunRequest, key: str | None, progress: Progress) -> Prepared:
    """What a recorded run is graded on."""
    if request.own is not None:
        raise UsageError(NOTHING_TO_GRADE)
    return prepared_for(request, key, progress)


def grader_of(
    request: RunRequest, prepared: Prepared, sandbox: str | None, scratch: Path, progress: Progress
) -> Grader:
    """A grader as a recorded run needs it; what came from elsewhere gets no network."""
    return Grader(
        prepared,
        choose(sandbox or request.sandbox),
        scratch,
        resource_limits(request.limits),
        progress,
        request.network and request.imported is None,
    )


def snapshot_at(folder: RunFolder, step: int | None = None) -> str:
    """The snapshot after a step, 0 being the beginning; without one, the last that there is."""
    events = folder.history().events
    named = {
        event.index if isinstance(event, StepTaken) else 0: event.snapshot
        for event in events
        if isinstance(event, StepTaken | RunStarted)
    }
    if not named:
        raise UsageError(
            f"{folder.path} has no snapshot: it was stopped before it began. `mlagentbench resume` it."
        )
    if step is None:
        ended = [event.snapshot for event in events if isinstance(event, RunEnded)]
        return ended[-1] if ended else named[max(named)]
    if step not in named:
        raise UsageError(f"{folder.path} has the steps 0 to {max(named)}; there is no step {step}.")
    return named[step]


def grade_file(
    task: str | Path,
    file: str | Path,
    *,
    variant: str | None = None,
    seed: int = 0,
    key: str | None = None,
    python: str | None = None,
    sandbox: str = "auto",
    network: bool = False,
    progress: Progress = lambda line: None,
) -> Grade:
    """Grade a submission that was made elsewhere, as if a run had left it in its workspace.

    >>> import mlagentbench
    >>> mlagentbench.grade_file("house-price", "submission.csv").score                         # doctest: +SKIP
    """
    submission = Path(file)
    if not submission.is_file():
        raise UsageError(f"There is no file {submission} to grade.")
    loaded = load_task(task)
    backend = choose(sandbox)
    prepared = prepare(loaded, variant, seed=seed, key=key, python=python, progress=progress, sandbox=backend)
    limits = run_limits(loaded.definition.limits)
    plan = layout(prepared)
    with tempfile.TemporaryDirectory(prefix="mlagentbench-grade-") as scratch:
        place = Path(scratch) / "workspace"
        store = Store(Path(scratch) / "store")
        workspace = Workspace(
            place, store, plan.read_only, link_read_only=backend.links_read_only(), max_file=limits.disk
        )
        plan.lay(place)
        workspace.lay_placeholders()
        workspace.write(loaded.definition.submission, submission.read_bytes())
        snapshot = workspace.snapshot(executed=True).id
        grader = Grader(
            prepared, backend, Path(scratch) / "grading", resource_limits(limits), progress, network
        )
        verdict = grader.grade(store, snapshot)
        store.close()
    return verdict
