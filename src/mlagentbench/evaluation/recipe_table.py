"""The table of what the agent `recipe` reaches, made from its runs:

mlagentbench run TASK -a recipe --runs 3 -o runs                          # for each task of the suite
python -m mlagentbench.evaluation.recipe_table runs > docs/recipe.json
python -m mlagentbench.evaluation.recipe_table docs/recipe.json           # the table in docs/agents.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from mlagentbench.evaluation.searching import tried_in
from mlagentbench.record.folder import RunFolder, find_runs
from mlagentbench.record.summary import read_summary


class Reached(BaseModel):
    """One run of it."""

    model_config = ConfigDict(frozen=True)
    task: str
    variant: str
    seed: int
    success: bool
    improvement: float | None
    score: float | None
    validation: float | None
    experiments: int
    chosen: tuple[str, ...]
    """What was kept, one upon the other; nothing where the starter was."""
    cpu_seconds: float
    """Of all executions."""


_ROWS = TypeAdapter(list[Reached])


def reached_in(places: Iterable[Path]) -> list[Reached]:
    """Every run of the agent in some folders of runs, by task and seed."""
    found = [_reached(run) for run in find_runs(list(places)) if run.request().agent == "recipe"]
    return sorted(found, key=lambda row: (row.task, row.variant, row.seed))


def _reached(run: RunFolder) -> Reached:
    summary = read_summary(run)
    tree = tried_in(run)
    node = best = next((each for each in tree if each.chosen), None)
    line = []
    while node is not None and node.operator != "starter":
        line.append(node.plan.removesuffix("."))
        node = None if node.parent is None else tree[node.parent]
    grade = summary.grade
    return Reached(
        task=summary.task,
        variant=summary.variant,
        seed=summary.seed,
        success=grade is not None and grade.success,
        improvement=grade.improvement if grade else None,
        score=grade.score if grade else None,
        validation=best.score if best else None,
        experiments=len(tree),
        chosen=tuple(reversed(line)),
        cpu_seconds=summary.execution_cpu,
    )


def table(rows: Sequence[Reached]) -> str:
    """A line for each task: what its runs came to, in the order of their seeds."""
    seeds = sorted({row.seed for row in rows})
    told = ", ".join(map(str, seeds))
    lines = [
        f"| task | success, seeds {told} | improvement | chosen with seed {seeds[0]} | experiments | CPU time |",
        "|---|---|---|---|---:|---:|",
    ]
    for task, group in groupby(rows, key=lambda row: row.task):
        runs = list(group)
        lines.append(
            f"| `{task}` | {', '.join('yes' if run.success else 'no' for run in runs)} "
            f"| {', '.join(_percent(run.improvement) for run in runs)} | {_chosen(runs[0])} "
            f"| {', '.join(str(run.experiments) for run in runs)} "
            f"| {', '.join(f'{run.cpu_seconds:.0f}' for run in runs)} s |"
        )
    counts = [
        f"{sum(row.success for row in rows if row.seed == seed)} of {sum(row.seed == seed for row in rows)}"
        for seed in seeds
    ]
    return "\n".join([*lines, f"| **successes** | {', '.join(counts)} | | | | |"])


def _chosen(run: Reached) -> str:
    return "; ".join(run.chosen).replace("|", "\\|") or "the starter"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:+.1f} %"


def read_rows(file: Path) -> list[Reached]:
    return _ROWS.validate_json(file.read_bytes())


if __name__ == "__main__":
    given = Path(sys.argv[1])
    if given.is_dir():
        print(_ROWS.dump_json(reached_in([given]), indent=1).decode())
    else:
        print(table(read_rows(given)))
