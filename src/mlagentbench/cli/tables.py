"""Tables of tasks, runs and groups of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mlagentbench.auditing import page
from mlagentbench.auditing.overview import Row
from mlagentbench.cli.catalogue import TaskInfo
from mlagentbench.cli.listing import Listed
from mlagentbench.cli.screen import Part, Screen
from mlagentbench.cli.words import estimate, number, percent, verdict
from mlagentbench.evaluation.groups import Group, undecided
from mlagentbench.record.summary import Summary
from mlagentbench.units import format_duration, format_size

if TYPE_CHECKING:
    from mlagentbench.evaluation.stepwise import Stepwise


def group_table(screen: Screen, groups: Sequence[Group]) -> None:
    """One row a group, with 95 % intervals; what the runs do not decide is said below."""
    several = any(each.place for each in groups)
    columns = ["task", "agent", ">runs", ">valid", ">success", ">decided", ">score", ">improvement"]
    rows: list[list[Part]] = []
    for each in groups:
        row: list[Part] = [
            f"{each.task} ({each.variant})",
            (each.who + (" (network)" if each.network else ""), "name"),
            str(each.runs),
            str(each.valid),
            estimate(each.success, rate=True),
            f"{100 * each.decided.value:.0f} %",
            estimate(each.score),
            estimate(each.improvement, signed=True),
        ]
        rows.append([each.place, *row] if several else row)
    screen.table(["runs in", *columns] if several else columns, rows)
    screen.line(
        ("In brackets: 95 % intervals. Runs without a valid grade count as no success and no gain.", "dim")
    )
    for sentence in undecided(groups):
        screen.line((sentence, "warn"))


def task_table(screen: Screen, tasks: Sequence[TaskInfo]) -> None:
    rows: list[list[Part]] = []
    for task in tasks:
        for variant in task.variants:
            rows.append(
                [
                    (task.id, "name"),
                    variant.name,
                    ("ready", "good") if variant.prepared else ("not prepared", "dim"),
                    f"{task.metric.name} ({task.metric.goal or 'no goal'})",
                    variant.needs or "nothing",
                    task.title,
                ]
            )
    screen.table(["task", "variant", "data", "metric", "needs", "what"], rows)


def audit_table(screen: Screen, rows: Sequence[Row]) -> None:
    """One row an audited task; gains are over the starter, room is what the oracle gains over the plain model."""
    cells: list[list[Part]] = []
    for row in rows:
        cells.append(
            [
                (f"{row.task} ({row.variant})", "name"),
                page.with_spread(row.starter, row.spread),
                page.number(row.plain),
                page.number(row.oracle),
                page.percent(row.plain_gain),
                page.percent(row.oracle_gain),
                page.percent(row.room),
                page.seconds(row.starter_seconds, row.plain_seconds, row.oracle_seconds),
                format_size(row.memory) if row.memory is not None else "–",
                ("holds", "good") if row.ok else ("fails", "bad"),
            ]
        )
    columns = [
        "task", ">starter", ">plain", ">oracle", ">plain gains", ">oracle gains", ">room", ">CPU time",
        ">memory", "audit",
    ]  # fmt: skip
    screen.table(columns, cells)


def run_table(screen: Screen, runs: Sequence[Listed]) -> None:
    rows: list[list[Part]] = []
    for each in runs:
        summary = each.summary
        grade = summary.grade
        rows.append(
            [
                summary.run,
                f"{summary.task} ({summary.variant})",
                (f"{summary.agent} · {summary.model}" if summary.model else summary.agent, "name"),
                str(summary.seed),
                str(summary.steps),
                "unknown" if "time" in summary.unknown else format_duration(summary.elapsed),
                _cost(summary),
                _state(each.state),
                number(grade.score if grade else None),
                percent(grade.improvement if grade else None),
                verdict(grade),
            ]
        )
    screen.table(
        [
            "run", "task", "agent", ">seed", ">steps", ">time", ">cost", "state", ">score", ">improvement",
            "verdict",
        ],
        rows,
    )  # fmt: skip


def _cost(summary: Summary) -> str:
    if "cost" in summary.unknown or summary.cost is None:
        return "unknown"
    return f"{summary.cost:.4g} $" if summary.model_calls else "–"


def _state(state: str) -> Part:
    match state:
        case "running":
            return ("running", "name")
        case "stopped":
            return ("stopped: resume", "warn")
        case _:
            return state.removeprefix("ended: ")


def step_tables(screen: Screen, runs: Sequence[Stepwise]) -> None:
    """What each run was worth after each of its steps; of many runs, only their best and their last."""
    if len(runs) == 1:
        _every_point(screen, runs[0])
    rows: list[list[Part]] = []
    for each in runs:
        last = each.points[-1] if each.points else None
        rows.append(
            [
                each.run.name,
                str(each.snapshots),
                str(each.graded),
                str(each.reused),
                percent(last.improvement if last else None),
                percent(each.best.improvement if each.best else None),
                str(each.best.step) if each.best else "–",
            ]
        )
    screen.table(
        ["run", ">snapshots", ">graded now", ">same as others", ">at the end", ">at best", ">after step"],
        rows,
    )
    for each in runs:
        for problem in each.problems:
            screen.line((f"{each.run.name}: {problem}", "bad"))


def _every_point(screen: Screen, run: Stepwise) -> None:
    rows: list[list[Part]] = [
        [
            str(point.step),
            "unknown" if point.elapsed is None else format_duration(point.elapsed),
            "unknown" if point.tokens is None else f"{point.tokens:,}",
            "unknown" if point.cost is None else f"{point.cost:.4g} $",
            number(point.score),
            percent(point.improvement),
            ("success", "good")
            if point.success
            else ("no success", "dim")
            if point.valid
            else ("not valid", "bad"),
        ]
        for point in run.points
    ]
    screen.table(["step", ">time", ">tokens", ">cost", ">score", ">improvement", "verdict"], rows)
    screen.line()
