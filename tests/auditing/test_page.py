"""The page of tasks and the table behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlagentbench.auditing.bands import outside
from mlagentbench.auditing.overview import read_rows, row_of, save_rows
from mlagentbench.auditing.page import suite_page, tasks_page
from mlagentbench.auditing.report import AuditReport, Item
from mlagentbench.grading.references import Measurement, References
from mlagentbench.task.definition import Bands, Metric
from mlagentbench.task.registry import in_suite, list_tasks, load_task

DOCS = Path(__file__).parents[2] / "docs"
SUITE = [task for task in list_tasks() if in_suite(task)]


def measured(score: float, seed: int = 0, seconds: float = 2.0) -> Measurement:
    return Measurement(
        score=score, seed=seed, wall_seconds=9, cpu_seconds=seconds, peak_memory=int(seconds * 10**6)
    )


def report(task: str = "ball@1", *, ok: bool = True) -> AuditReport:
    return AuditReport(
        task=task,
        variant="mini",
        items=[Item(name="x", ok=ok, detail="")],
        references=References(
            starter=[measured(9.0), measured(11.0, 1)],
            plain=[measured(8.0, 0, 3)],
            oracle=[measured(4.0, 0, 5)],
        ),
    )


def test_a_row_says_what_lies_between_starter_plain_and_oracle() -> None:
    row = row_of(report(), Metric(name="error", goal="minimize", floor=0.0))
    assert (row.starter, row.plain, row.oracle, row.starter_runs) == (10, 8, 4, 2)
    assert row.spread == pytest.approx(2**0.5)
    assert (row.plain_gain, row.oracle_gain) == pytest.approx((0.2, 0.6))
    assert row.room == pytest.approx(0.4)
    assert (row.starter_seconds, row.oracle_seconds, row.memory) == (2, 5, 5_000_000)


def test_what_was_not_measured_stays_empty() -> None:
    row = row_of(AuditReport(task="ball@1", variant="mini"), Metric(name="error", goal="minimize"))
    assert row.starter is row.oracle_gain is row.room is row.memory is None


def test_saved_rows_take_the_place_of_older_ones_and_leave_the_others(tmp_path: Path) -> None:
    metric = Metric(name="error", goal="minimize")
    file = tmp_path / "table.json"
    assert read_rows(file) == []
    save_rows(file, [row_of(report("ball@1"), metric), row_of(report("arrow@1"), metric)])
    save_rows(file, [row_of(report("ball@2", ok=False), metric)])
    assert [(row.task, row.ok) for row in read_rows(file)] == [("arrow@1", True), ("ball@2", False)]


def test_the_page_has_the_numbers_of_a_row(tiny_task: Path) -> None:
    task = load_task(tiny_task)
    page = tasks_page([task], [row_of(report(), task.definition.metric)])
    assert "| `ball@1` | 10 ± 1.4 | 8 | 4 | +20.0 % | +60.0 % | +40.0 % | 2.0 / 3.0 / 5.0 s | 5 MB |" in page
    assert "| `ball@1` | – |" in tasks_page([task], [])


def test_docs_tasks_is_what_the_definitions_and_the_saved_table_make() -> None:
    assert (DOCS / "tasks.md").read_text(encoding="utf-8") == suite_page(DOCS / "tasks.json"), (
        "make it again: python -m mlagentbench.auditing.page docs/tasks.json > docs/tasks.md"
    )


@pytest.mark.parametrize("task", SUITE, ids=lambda task: task.name)
def test_every_task_of_the_suite_was_measured_and_kept_its_promises(task) -> None:
    (row,) = [row for row in read_rows(DOCS / "tasks.json") if row.task == task.id]
    assert row.ok and row.starter_runs >= 5
    assert row.oracle_gain is not None and row.plain_gain is not None
    assert row.oracle_gain > 0.1 and row.oracle_gain >= row.plain_gain >= 0


def test_scores_out_of_their_bands_are_told() -> None:
    bands = Bands(starter=(1, 2), oracle=(3, 4))
    assert outside(bands, {"starter": [1, 2], "plain": [99], "oracle": [3.5]}) == []
    (told,) = outside(bands, {"starter": [1.5, 2.1]})
    assert told == "the starter scores 2.1, which is not from 1 to 2"
