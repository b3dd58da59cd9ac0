"""The published tables."""

from __future__ import annotations

from typing import get_args

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.evaluation.paper import TableName, published
from mlagentbench.evaluation.statistics import wilson
from mlagentbench.task.registry import list_tasks


@pytest.mark.parametrize("name", get_args(TableName))
def test_every_table_is_of_tasks_of_the_suite_and_its_averages_are_explained(name):
    table = published(name)
    assert set(table.values) <= {task.name for task in list_tasks()}
    assert len(table.values) == 13
    assert all(set(row) == set(table.agents) for row in table.values.values())
    explained = " ".join(table.footnotes())
    for agent, printed in table.printed.items():
        assert table.average(agent) == pytest.approx(printed, rel=0.01, abs=0.11) or agent in explained


def test_the_average_of_the_baseline_is_shown_over_eight_and_over_thirteen_tasks():
    table = published("v2_success")
    assert table.printed["Baseline"] == 10.4
    assert table.average("Baseline") == pytest.approx(6.4, abs=0.05)
    (note,) = table.footnotes()
    assert "10.4" in note and "8 tasks" in note and "6.4" in note and "13" in note


def test_published_successes_are_of_eight_runs_and_have_wilson_intervals():
    table = published("v2_success")
    share = table.values["ogbn-arxiv"]["Claude v1.0"]
    assert (share, table.runs) == (37.5, 8)
    interval = wilson(share / 100 * table.runs, table.runs)
    assert (round(100 * interval.low), round(100 * interval.high)) == (14, 69)


def test_what_was_not_printed_is_none():
    assert published("v1draft_success").values["fathomnet"]["GPT-4 (no retrieval)"] is None
    assert published("v1draft_tokens").values["cifar10"]["Baseline"] is None
    assert "empty cell" in published("v1draft_success").footnotes()[0]


def test_a_table_that_does_not_exist_is_told_with_those_that_do():
    with pytest.raises(UsageError, match="v2_success"):
        published("v3")
