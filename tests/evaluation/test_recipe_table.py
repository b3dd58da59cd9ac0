"""What the agent `recipe` reaches is read from its runs, and the documentation tells what was read."""

from __future__ import annotations

from pathlib import Path

from mlagentbench import run
from mlagentbench.evaluation.recipe_table import Reached, reached_in, read_rows, table
from mlagentbench.task.registry import in_suite, list_tasks

DOCS = Path(__file__).parents[2] / "docs"


def test_a_run_is_read_with_what_was_chosen_and_others_are_passed_over(tiny_task, runs):
    done = run(tiny_task, "recipe", runs=runs, seed=3)
    run(tiny_task, "starter", runs=runs)
    (row,) = reached_in([runs])
    assert (row.seed, row.variant, row.chosen) == (3, "mini", ())
    assert done.grade is not None and row.score == done.grade.score and row.success == done.grade.success
    assert row.experiments >= 1 and row.cpu_seconds > 0 and row.validation is not None


def test_the_table_has_a_line_for_each_task_and_counts_successes_by_seed():
    def row(task: str, seed: int, gain: float | None) -> Reached:
        return Reached(
            task=task, variant="mini", seed=seed, success=(gain or 0) > 0.1, improvement=gain, score=1.0,
            validation=2.0, experiments=5, chosen=("a | b", "EPOCHS = 4") if gain else (), cpu_seconds=12.3,
        )  # fmt: skip

    lines = table(
        [row("x@1", 0, 0.2), row("x@1", 1, -0.011), row("y@1", 0, 0.5), row("y@1", 1, None)]
    ).splitlines()
    assert lines[2] == "| `x@1` | yes, no | +20.0 %, -1.1 % | a \\| b; EPOCHS = 4 | 5, 5 | 12, 12 s |"
    assert lines[3].startswith("| `y@1` | yes, no | +50.0 %, – |")
    assert lines[4].startswith("| **successes** | 2 of 2, 0 of 2 |")


def test_the_page_tells_what_was_measured_on_every_task_over_three_seeds():
    rows = read_rows(DOCS / "recipe.json")
    assert table(rows) in (DOCS / "agents.md").read_text(encoding="utf-8")
    tasks = {task.id for task in list_tasks() if in_suite(task)}
    assert {(row.task, row.seed) for row in rows} == {(task, seed) for task in tasks for seed in (0, 1, 2)}
    for seed in (0, 1, 2):
        assert sum(row.success for row in rows if row.seed == seed) >= 8
