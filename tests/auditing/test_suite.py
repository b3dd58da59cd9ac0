"""The benchmark's own tasks keep every promise."""

from __future__ import annotations

import pytest

from mlagentbench import audit
from mlagentbench.auditing.bands import KINDS, outside, scores_over_seeds
from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox import choose
from mlagentbench.task.definition import Task
from mlagentbench.task.registry import in_suite, list_tasks, load_task


def is_timed(task: Task) -> bool:
    return task.definition.program is not None and task.definition.program.timing is not None


def suite() -> list[object]:
    """By name; those that measure time run one after the other."""
    return [
        pytest.param(task.name, marks=[pytest.mark.xdist_group("timing")] if is_timed(task) else [])
        for task in list_tasks()
        if in_suite(task)
    ]


@pytest.mark.parametrize("task", suite())
def test_a_task_of_the_suite_passes_its_audit_or_is_refused_in_a_sentence(task: str) -> None:
    if set(load_task(task).definition.promises) & set(choose().cannot):
        with pytest.raises(SandboxUnavailableError, match=rf"^{task}@\d+ .* cannot run that"):
            audit(task, variant="mini")
        return
    report = audit(task, variant="mini")
    assert report.ok, "\n".join(f"{item.name}: {item.detail}" for item in report.failures)


@pytest.mark.slow
@pytest.mark.parametrize("task", suite())
def test_the_starter_is_steady_over_five_runs(task: str) -> None:
    report = audit(task, variant="mini", starter_runs=5)
    assert report.ok, "\n".join(f"{item.name}: {item.detail}" for item in report.failures)
    assert len(report.references.starter) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("task", suite())
def test_scores_stay_in_the_stated_bands_whatever_the_data_seed(task: str) -> None:
    (loaded,) = (each for each in list_tasks() if each.name == task)
    bands = loaded.definition.variants["mini"].bands
    assert set(bands.model_dump(exclude_none=True)) == set(KINDS), "every task of the suite states them"
    assert not outside(bands, scores_over_seeds(task, "mini", range(5)))
