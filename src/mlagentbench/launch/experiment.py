"""Many runs: every task with every agent, model and seed, on this machine, as far as they are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlagentbench.errors import MLAgentBenchError, PreparationError, UsageError
from mlagentbench.grading.grader import BASELINE_RUNS
from mlagentbench.grading.references import read_references
from mlagentbench.launch.board import Board, Line, Measuring, Nobody, Onlooker
from mlagentbench.launch.cells import Cell
from mlagentbench.launch.checking import Draft, draft, stands_in_the_way, with_digests
from mlagentbench.launch.finding import find_lines, wait_for_locks
from mlagentbench.launch.forker import Forker
from mlagentbench.launch.keeping import alone_in, keep_plan
from mlagentbench.launch.local import Local
from mlagentbench.launch.machine import Machine
from mlagentbench.launch.plan import Plan, Reference
from mlagentbench.launch.processes import Processes
from mlagentbench.launch.reading import make_plan, read_plan
from mlagentbench.record.summary import Summary
from mlagentbench.sandbox import choose
from mlagentbench.task.preparation import Prepared, prepare


@dataclass(frozen=True)
class Outcome:
    """What came of one run of an experiment."""

    cell: Cell
    state: str
    """`ended`; or `missing`, `unfinished`, `held`, `lost`: started again, the experiment goes on with it."""
    folder: Path | None
    summary: Summary | None
    """Of a run that has ended."""
    detail: str = ""
    cpu_seconds: float = 0.0
    """User and system time of its processes, as far as they ran in this call."""


@dataclass(frozen=True)
class Experiment:
    """An experiment as it stands."""

    name: str
    folder: Path
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    """What keeps it from running here; only a dry run goes on in spite of them."""
    stopped: str = ""
    """Why it ended before everything was done: `stopped` by the user, or `disk`."""

    @property
    def summaries(self) -> list[Summary]:
        """Of the runs that have ended."""
        return [outcome.summary for outcome in self.outcomes if outcome.summary is not None]

    @property
    def complete(self) -> bool:
        """Whether every run has ended, and none because its process died."""
        return len(self.summaries) == len(self.outcomes) and all(s.ended != "died" for s in self.summaries)


def experiment(
    plan: str | Path | Mapping[str, Any] | Plan,
    *,
    folder: str | Path = "runs",
    name: str | None = None,
    key: str | None = None,
    changed: bool = False,
    dry_run: bool = False,
    onlooker: Onlooker | None = None,
    forker: Forker | None = None,
) -> Experiment:
    """Do what is missing of an experiment: a YAML file, or what one would hold.

    A `dry_run` starts nothing and tells what is there, what is missing, and what stands in the way. With `changed`, a
    plan that does not want runs any more which an earlier one of that name wanted is taken all the same. A `forker` is
    one that was started before, and is ready by now.

    >>> import mlagentbench
    >>> plan = {"tasks": ["house-price"], "agents": ["starter", "oracle"], "runs": 4}
    >>> [summary.grade.score for summary in mlagentbench.experiment(plan).summaries]           # doctest: +SKIP
    """
    chosen = _plan(plan)
    where = Path(folder).absolute() / (name or chosen.name or "experiment")
    watch = onlooker or Nobody()
    made = draft(chosen, key)
    if dry_run:
        return _look(made, where, forker)
    if made.problems:
        raise _cannot(made.problems)
    with alone_in(where):
        notes = keep_plan(where, chosen, made.cells, made.tasks, changed=changed)
        lines, found = find_lines(where, with_digests(made.wanted))
        board = Board(where.name, where, lines, notes=[*notes, *found])
        wait_for_locks(lines, watch.preparing)
        if all(line.state == "ended" for line in lines):
            watch.opened(board)
        else:
            with _processes(chosen, lines, forker) as processes:
                if problems := stands_in_the_way(chosen, lines, processes):
                    raise _cannot(problems)
                _prepare(board, chosen, key, watch)
                machine = Machine(chosen.resources)
                watch.opened(board)
                Local(board, chosen, machine, processes, watch, key).go()
        return _told(board)


def _plan(plan: str | Path | Mapping[str, Any] | Plan) -> Plan:
    if isinstance(plan, Plan):
        return plan
    return read_plan(Path(plan)) if isinstance(plan, str | Path) else make_plan(plan, "This")


def _cannot(problems: list[str]) -> UsageError:
    listed = "\n  ".join(problems)
    return UsageError(f"Nothing was started, because this cannot run here:\n  {listed}")


@contextmanager
def _processes(plan: Plan, lines: list[Line], forker: Forker | None) -> Iterator[Processes]:
    with nullcontext(forker) if forker else Forker() as started:
        yield Processes(started, plan.sandbox, sorted({line.cell.agent for line in lines}))


def _look(made: Draft, where: Path, forker: Forker | None) -> Experiment:
    """How it stands, without touching anything."""
    lines, notes = find_lines(where, with_digests(made.wanted))
    problems = [*made.problems]
    if any(line.state != "ended" for line in lines):
        with _processes(made.plan, lines, forker) as processes:
            problems += stands_in_the_way(made.plan, lines, processes)
    known = {line.cell.identity() for line in lines}
    outcomes = [_outcome(line) for line in lines]
    outcomes += [Outcome(c, "missing", None, None) for c in made.cells if c.identity() not in known]
    return Experiment(where.name, where, tuple(outcomes), tuple(notes), tuple(problems))


def _prepare(board: Board, plan: Plan, key: str | None, watch: Onlooker) -> None:
    """Make the data ready that runs need, once, before them; and find out what of the tasks is to be measured."""
    problems: list[str] = []
    done: set[tuple[str, str, int]] = set()
    for line in board.lines:
        if line.cell.data in done or line.state == "ended":
            continue
        done.add(line.cell.data)
        task, cell = line.wanted.task, line.cell
        try:
            prepared = prepare(
                task,
                cell.variant,
                seed=cell.data_seed,
                key=key,
                python=plan.python,
                progress=watch.preparing,
                sandbox=None if task.trusted else choose(plan.sandbox),
                network=cell.network,
            )
        except MLAgentBenchError as error:
            problems.append(str(error))
            continue
        board.measurings += _to_be_measured(prepared, cell.data, plan)
    if problems:
        raise PreparationError(
            "\n  ".join(["Nothing was started, because data could not be made ready:", *problems])
        )


def _to_be_measured(prepared: Prepared, data: tuple[str, str, int], plan: Plan) -> list[Measuring]:
    known = read_references(prepared)
    task = prepared.task
    timed = task.definition.program is not None and task.definition.program.timing is not None
    there: dict[Reference, bool] = {
        "starter": not timed,
        "plain": (task.folder / "plain").is_dir(),
        "oracle": (task.folder / "solution").is_dir(),
    }
    wanted: dict[Reference, int] = {"starter": BASELINE_RUNS, "plain": 1, "oracle": 1}
    return [
        Measuring(data, what)
        for what in plan.references
        if there[what] and len(known.of(what)) < wanted[what]
    ]


def _outcome(line: Line) -> Outcome:
    return Outcome(line.cell, line.state, line.folder, line.summary, line.detail, line.cpu)


def _told(board: Board) -> Experiment:
    return Experiment(
        board.name,
        board.folder,
        tuple(_outcome(line) for line in board.lines),
        tuple(board.notes),
        stopped=board.stopping,
    )
