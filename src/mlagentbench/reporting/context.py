"""The published results: beside results of the same data, and as context only under results of others."""

from __future__ import annotations

from typing import get_args

from mlagentbench.evaluation.paper import Published, TableName, published
from mlagentbench.reporting.model import Cell, Row, Section, Table, columns
from mlagentbench.reporting.tally import Field, Tally, seconds_of, tokens_of
from mlagentbench.reporting.wording import NOTHING

_TITLES: dict[TableName, str] = {
    "v2_success": "Success rate in %, published (Table 3)",
    "v2_improvement": "Average improvement in %, published (Table 4)",
    "v1draft_success": "Success rate in %, first draft",
    "v1draft_improve": "Average improvement in %, first draft",
    "v1draft_tokens": "Tokens a run, first draft",
    "v1draft_minutes": "Minutes a run, first draft",
}
_PUBLISHED_VARIANT = "full"


def context(field: Field) -> Section:
    beside = field.variant == _PUBLISHED_VARIANT
    if beside:
        title = "Beside the published results"
        text: tuple[str, ...] = (
            "The published results are of the same tasks and data, by the paper's agents and models of their time "
            "(Baseline is the untouched starter). Columns of this report stand first; its success is by "
            "measured baselines "
            "and repaired graders, so that numbers may differ for that reason too.",
        )
    else:
        title = "For context: the published results, on other data"
        text = (
            "These are not comparable with the results above. The published results are of the full data; "
            "the runs of this "
            f"report are of the variant {field.variant}, which has other data with other baselines. They are "
            "shown only so "
            "that a reader knows what was published.",
        )
    if beside and field.told_of_untold:
        text = (*text, field.told_of_untold)
    tables = tuple(_table(name, field if beside else None) for name in get_args(TableName))
    return Section("published", title, text, tables)


def _table(name: TableName, field: Field | None) -> Table:
    printed = published(name)
    ours = field.agents if field else []
    of_field = {task.partition("@")[0]: task for task in field.tasks} if field else {}
    rows: list[Row] = []
    for task in dict.fromkeys((*printed.values, *of_field)):
        values = printed.values.get(task, {})
        own = [_own(name, each, of_field.get(task, "")) for each in ours]
        rows.append((task, *own, *(_number(values.get(agent), name) for agent in printed.agents)))
    averages = [_average(name, each) for each in ours]
    rows.append(
        (
            "average, as printed",
            *averages,
            *(_number(printed.printed.get(agent), name) for agent in printed.agents),
        )
    )
    rows.append(
        ("mean of the numbers above", *averages, *(_mean(printed, agent, name) for agent in printed.agents))
    )
    heads = ("task", *(f">{each.who} (here)" for each in ours), *(f">{agent}" for agent in printed.agents))
    runs = (f"{printed.runs} runs of each model on each task.",) if printed.runs else ()
    return Table(
        f"published-{name.replace('_', '-')}",
        _TITLES[name],
        columns(*heads),
        tuple(rows),
        (*printed.footnotes(), *runs),
        foot=2,
        folded=name.startswith("v1"),
    )


def _own(name: TableName, each: Tally, task: str) -> Cell:
    if task not in each.tasks:
        return NOTHING
    return _measured(name, Tally(each.who, {task: each.tasks[task]}))


def _average(name: TableName, each: Tally) -> Cell:
    return _measured(name, each)


def _measured(name: TableName, tally: Tally) -> Cell:
    measure = name.partition("_")[2]
    if measure == "success":
        return _number(100 * tally.success.value, name)
    if measure in ("improvement", "improve"):
        return _number(100 * tally.improvement.value, name)
    if measure == "tokens":
        return _number(tally.mean(tokens_of), name)
    seconds = tally.mean(seconds_of)
    return _number(None if seconds is None else seconds / 60, name)


def _mean(printed: Published, agent: str, name: TableName) -> Cell:
    known = any(row[agent] is not None for row in printed.values.values())
    return _number(printed.average(agent), name) if known else NOTHING


def _number(value: float | None, name: TableName) -> Cell:
    if value is None or value != value:
        return NOTHING
    return Cell(f"{value:,.0f}" if name.endswith("tokens") else f"{value:.1f}", value)
