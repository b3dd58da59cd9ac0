"""The page of the suite's tasks, made from their definitions and from the numbers that an audit saved:

mlagentbench audit --all --starter-runs 5 --save docs/tasks.json
python -m mlagentbench.auditing.page docs/tasks.json > docs/tasks.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlagentbench.auditing.overview import Row, read_rows
from mlagentbench.task.definition import Metric, Source, Task
from mlagentbench.task.registry import in_suite, list_tasks
from mlagentbench.units import format_size

_HEAD = """# Tasks

The benchmark's own tasks. Each has a variant `mini`, which is made from a seed and needs no account, no network and no
GPU, and a variant `full`, the published data or size. `mlagentbench info TASK` tells everything about one of them, and
[own-tasks.md](own-tasks.md) how to add one.

This page is made from the tasks' definitions and from an audit:

```console
mlagentbench audit --all --starter-runs 5 --save docs/tasks.json
python -m mlagentbench.auditing.page docs/tasks.json > docs/tasks.md
```
"""
_MEASURED = """
## What they score

Measured by that audit on the variant `mini` with data seed 0. The starter is what an agent begins with, *plain* is what
an hour of an average practitioner gives, the *oracle* shows what can be reached. Gains are relative to the starter's
distance from the metric's floor; a success needs more than 10 %. *Room* is what the oracle gains over the plain model.
CPU time is of one run on one core: starter, plain, oracle. Memory is the most that any of them used.
"""


def tasks_page(tasks: Sequence[Task], rows: Iterable[Row]) -> str:
    """The whole page as Markdown. A task without a row has no numbers yet."""
    measured = {row.task: row for row in rows if row.variant == "mini"}
    lines = [_HEAD, "| task | about | metric | submits |", "|---|---|---|---|"]
    for task in tasks:
        definition = task.definition
        lines.append(
            f"| [`{task.id}`](#{task.name.lower()}) | {definition.modality} | {_metric(definition.metric)} | "
            f"{_submits(task)} |"
        )
    lines += [
        _MEASURED,
        "| task | starter | plain | oracle | plain gains | oracle gains | room | CPU time | memory |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [_row(task, measured.get(task.id)) for task in tasks]
    for task in tasks:
        lines += _section(task)
    return "\n".join(lines) + "\n"


def suite_page(file: Path) -> str:
    """The page of the suite, with the numbers in `file`."""
    return tasks_page([task for task in list_tasks() if in_suite(task)], read_rows(file))


def number(value: float | None) -> str:
    """Four digits that count."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def with_spread(mean: float | None, spread: float | None) -> str:
    """`0.63 ± 0.0071`: the spread to two digits."""
    if spread is None:
        return number(mean)
    return f"{number(mean)} ± {f'{spread:,.0f}' if spread >= 100 else f'{spread:.2g}'}"


def percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f} %"


def seconds(*values: float | None) -> str:
    return " / ".join("–" if value is None else f"{value:.1f}" for value in values) + " s"


def _row(task: Task, row: Row | None) -> str:
    if row is None:
        return f"| `{task.id}` |" + " – |" * 8
    cells = (
        f"`{row.task}`",
        with_spread(row.starter, row.spread),
        number(row.plain),
        number(row.oracle),
        percent(row.plain_gain),
        percent(row.oracle_gain),
        percent(row.room),
        seconds(row.starter_seconds, row.plain_seconds, row.oracle_seconds),
        format_size(row.memory) if row.memory is not None else "–",
    )
    return f"| {' | '.join(cells)} |"


def _section(task: Task) -> list[str]:
    definition = task.definition
    lines = [
        f"\n## {task.name}\n",
        f"{definition.title}. Needs {', '.join(definition.requirements) or 'nothing'}.",
    ]
    for name, variant in definition.variants.items():
        lines.append(f"\n- **{name}**: {variant.description}")
        if variant.requirements:
            lines.append(f"  Needs {', '.join(variant.requirements)} in addition.")
        if variant.sources:
            lines.append(f"  From {'; '.join(map(_source, variant.sources))}.")
        bands = variant.bands.model_dump(exclude_none=True)
        if bands:
            stated = ", ".join(f"{kind} {low:g} to {high:g}" for kind, (low, high) in bands.items())
            lines.append(f"  Scores for every data seed: {stated}.")
    if definition.disclosure:
        lines.append(f"\nWhat remains possible: {definition.disclosure.strip()}")
    return lines


def _metric(metric: Metric) -> str:
    arrow = {"minimize": " ↓", "maximize": " ↑", None: ""}[metric.goal]
    return f"{metric.name}{f', {metric.unit}' if metric.unit else ''}{arrow}"


def _submits(task: Task) -> str:
    definition = task.definition
    what = ", a program" if definition.submission.endswith(".py") else ", weights"
    return f"`{definition.submission}`" + (what if definition.program is not None else "")


def _source(source: Source) -> str:
    kinds = {
        "kaggle-competition": "the Kaggle competition",
        "http": "the file",
        "huggingface": "the Hugging Face hub's",
        "listed": "the addresses that it lists,",
    }
    return f"{kinds[source.kind]} [{source.name}]({source.page})"


if __name__ == "__main__":
    sys.stdout.write(suite_page(Path(sys.argv[1])))
