"""The benchmark's own tasks keep every promise."""

from __future__ import annotations

import pytest

from mlagentbench import audit

pytestmark = pytest.mark.xdist_group("timing")


@pytest.mark.parametrize("task", ["house-price", "vectorization"])
def test_a_task_of_the_suite_passes_its_audit(task: str) -> None:
    report = audit(task, variant="mini")
    assert report.ok, "\n".join(f"{item.name}: {item.detail}" for item in report.failures)
