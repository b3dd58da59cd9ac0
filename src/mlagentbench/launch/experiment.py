"""Many runs: every task with every agent, model and seed, on this machine, as far as they are missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlagentbench.errors import MLAgentBenchError, PreparationError, UsageError
from mlagentbench.grading.references import unmeasured
from mlagentbench.launch.board import Board, Line, Measuring, Nobody, Onlooker
from mlagentbench.launch.cells import Cell
from mlagentbench.launch.checking import Draft, draft, stands_in_the_way, with_digests
from mlagentbench.launch.finding import find_lines, wait_for_locks
from mlagentbench.launch.forker import Forker
from mlagentbench.launch.keeping import alone_in, keep_plan
from mlagentbench.launch.local import Local
from mlagentbench.launch.machine import Machine
from mlagentbench.launch.plan import Plan
from mlagentbench.launch.processes import Processes
from mlagentbench.launch.reading import make_plan, read_plan
from mlagentbench.launch.references import Incomplete, find_incomplete, judge_all, lacking, made_here
from mlagentbench.record.folder import RunFolder, name_problem
from mlagentbench.record.summary import Summary, read_summary
from mlagentbench.sandbox import choose
from mlagentbench.task.preparation import find_prepared, prepare


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
    """Why it ended before everything was done: `stopped` by the user, `disk`, or `died`: no process can be started."""

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
    called = name or chosen.name or "experiment"
    if problem := name_problem(called):
        raise UsageError(f"{problem}.")
    where = Path(folder).absolute() / called
    watch = onlooker or Nobody()
    made = draft(chosen, key)
    if dry_run:
        return _look(made, where, forker)
    if made.problems:
        raise _cannot(made.problems)
    with alone_in(where):
        notes = keep_plan(where, chosen, made.cells, made.tasks, changed=changed)
        lines, found = find_lines(where, with_digests(made.wanted))
        board = Board(where.name, where, lines, notes=[*made.notes, *notes, *found])
        wait_for_locks(lines, watch.preparing)
        short = _incomplete(lines, key)
        over = all(line.state == "ended" for line in lines)
        board.measurings = _lacked(short, lines, chosen)
        if over and not board.measurings:
            watch.opened(board)
        else:
            with _processes(chosen, lines, forker) as processes:
                problems = stands_in_the_way(chosen, lines, processes)
                if problems and not over:
                    raise _cannot(problems)
                if problems:
                    board.measurings.clear()
                    board.notes += [f"Not all was measured that reports need: {each}" for each in problems]
                _prepare(board, chosen, key, watch)
                machine = Machine(chosen.resources)
                watch.opened(board)
                Local(board, chosen, machine, processes, watch, key).go()
        _judge(board, short)
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
    return Experiment(where.name, where, tuple(outcomes), (*made.notes, *notes), tuple(problems))


def _incomplete(lines: list[Line], key: str | None) -> dict[tuple[str, str, int], Incomplete]:
    """The runs that have ended here and whose verdicts lack something that can be measured, by their data."""
    runs: dict[tuple[str, str, int], list[Line]] = {}
    for line in lines:
        if line.state == "ended" and line.summary is not None and lacking(line.summary.grade):
            runs.setdefault(line.cell.data, []).append(line)
    found = {}
    for data, ended in runs.items():
        cell = ended[0].cell
        prepared = find_prepared(
            ended[0].wanted.task, cell.variant, seed=cell.data_seed, key=key, python=cell.python
        )
        folders = [RunFolder(line.folder) for line in ended if line.folder is not None]
        if prepared is not None:
            here = [
                run
                for run in folders
                if (asked := run.request()).data_digest == prepared.digest and made_here(asked.host)
            ]
            found[data] = find_incomplete(prepared, here)
    return found


def _lacked(
    short: Mapping[tuple[str, str, int], Incomplete], lines: list[Line], plan: Plan
) -> list[Measuring]:
    """What they need measured, where no run that is still to be made needs it too."""
    open_data = {line.cell.data for line in lines if line.state != "ended"}
    return [
        Measuring(data, what)
        for data, each in short.items()
        for what in each.unmeasured
        if data not in open_data and what in plan.references
    ]


def _judge(board: Board, short: Mapping[tuple[str, str, int], Incomplete]) -> None:
    """Bring the verdicts up to date of runs that had ended before."""
    by_folder = {line.folder: line for line in board.lines}
    for each in short.values():
        judged, problems = judge_all(each)
        board.notes += problems
        for run in each.runs if judged else ():
            by_folder[run.path].summary = read_summary(run)


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
        board.measurings += [
            Measuring(cell.data, what) for what in unmeasured(prepared) if what in plan.references
        ]
    if problems:
        raise PreparationError(
            "\n  ".join(["Nothing was started, because data could not be made ready:", *problems])
        )


def _outcome(line: Line) -> Outcome:
    folder = line.folder if line.recorded else None
    return Outcome(line.cell, line.state, folder, line.summary, line.detail, line.cpu)


def _told(board: Board) -> Experiment:
    return Experiment(
        board.name,
        board.folder,
        tuple(_outcome(line) for line in board.lines),
        tuple(board.notes),
        stopped=board.stopping,
    )
