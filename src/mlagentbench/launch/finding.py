"""What of an experiment is there already, by what each run's `run.json` says, so that nothing else can disagree."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from mlagentbench.environment.trust import ForeignRunError
from mlagentbench.errors import RecordError
from mlagentbench.launch.board import Line
from mlagentbench.launch.cells import Wanted
from mlagentbench.record.folder import RunFolder, find_runs
from mlagentbench.record.request import RunRequest
from mlagentbench.record.summary import Summary, read_summary

_PATIENCE = 20.0
"""Seconds that processes of an experiment which was killed may take to let go of their runs."""

_Place = tuple[str, str, int, str, str, str, int]


def find_lines(folder: Path, wanted: list[Wanted]) -> tuple[list[Line], list[str]]:
    """A line for each run that is wanted, in this order, and what there is to say about what was found besides."""
    recorded, notes = _recorded(folder)
    lines = []
    taken: set[Path] = set()
    for each in wanted:
        fitting = [run for run, request in recorded[_place_of(each)] if each.is_in(request)]
        fitting = [run for run in fitting if run.path not in taken]
        _refuse_foreign(fitting)
        lines.append(_line(each, fitting, notes))
        taken |= {run.path for run in fitting}
    if others := sum(map(len, recorded.values())) - len(taken):
        notes.append(
            f"{others} run{'s' if others > 1 else ''} in {folder} {'are' if others > 1 else 'is'} not of this "
            "experiment as it is now; what is told here is without them."
        )
    return lines, notes


def _recorded(folder: Path) -> tuple[dict[_Place, list[tuple[RunFolder, RunRequest]]], list[str]]:
    found: dict[_Place, list[tuple[RunFolder, RunRequest]]] = defaultdict(list)
    notes: list[str] = []
    for run in find_runs([folder]) if folder.is_dir() else []:
        try:
            request = run.request()
        except RecordError as error:
            notes.append(str(error))
            continue
        place = (
            request.task, request.variant, request.data_seed, request.agent, request.label, request.model, request.seed,
        )  # fmt: skip
        found[place].append((run, request))
    return found, notes


def _refuse_foreign(runs: list[RunFolder]) -> None:
    """Neither counted nor made a second time, which may be dear: whoever asks for the experiment decides."""
    for run in runs:
        if run.origin == "foreign":
            raise ForeignRunError(
                f"{run.path} is a run of this experiment, and nothing shows that it was made here. "
                f"`mlagentbench trust {run.path}` lets it count; else move it away, and it is made anew."
            )


def _place_of(wanted: Wanted) -> _Place:
    cell = wanted.cell
    model = cell.model.model if cell.model else ""
    return wanted.task.id, cell.variant, cell.data_seed, cell.agent, cell.label, model, cell.seed


def _line(wanted: Wanted, fitting: list[RunFolder], notes: list[str]) -> Line:
    """Of several runs of one cell the one that is furthest counts, and the first of those."""
    best: tuple[tuple[bool, int], RunFolder, Summary] | None = None
    for run in fitting:
        try:
            summary = read_summary(run)
        except RecordError as error:
            notes.append(f"A damaged run is left alone, and made anew: {error}")
            continue
        rank = (_is_over(summary), summary.steps)
        if best is None or rank > best[0]:
            best = (rank, run, summary)
    if best is None:
        return Line(wanted)
    (over, steps), run, summary = best
    if len(fitting) > 1:
        notes.append(f"There are {len(fitting)} runs of {wanted.cell.task_name} · {wanted.cell.who} · seed "
                     f"{wanted.cell.seed}; {run.path.name} is the one that counts here.")  # fmt: skip
    if over:
        return Line(wanted, "ended", run.path, summary, step=steps, cost=summary.cost)
    return Line(wanted, "unfinished", run.path, step=steps, cost=summary.cost)


def _is_over(summary: Summary) -> bool:
    """Ended and graded; a run that died may have left nothing to grade."""
    return bool(summary.ended) and (summary.grade is not None or summary.ended == "died")


def wait_for_locks(lines: list[Line], tell: Callable[[str], None], patience: float = _PATIENCE) -> None:
    """Runs that another process still writes: wait a little, since it may be letting go of them."""
    told = False
    deadline = time.monotonic() + patience
    for line in lines:
        while line.state == "unfinished" and line.folder is not None:
            run = RunFolder(line.folder)
            try:
                run.lock()
            except RecordError as error:
                if time.monotonic() > deadline:
                    line.state, line.detail = "held", str(error)
                elif not told:
                    told = True
                    tell(
                        "Runs of this experiment are still being written by another process; waiting for it."
                    )
                time.sleep(0.1)
            else:
                run.unlock()
                break
