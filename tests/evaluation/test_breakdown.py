"""Runs by category and by date."""

from __future__ import annotations

import math

import pytest
from support.histories import History
from support.runs import graded, write_run

from mlagentbench.evaluation.breakdown import CATEGORIES, by_category, by_date
from mlagentbench.evaluation.profile import make_profile
from mlagentbench.task.registry import list_tasks


@pytest.fixture
def profiles(tmp_path):
    """Good on old data, poor on newer ones."""

    def one(task, gain, seed, model="test/told"):
        events = History().step("Final Answer").end().events
        asked = {"task": task, "seed": seed, "model": model}
        return make_profile(
            write_run(
                tmp_path,
                f"{task}-{model}-{seed}".replace("/", "_"),
                events,
                [graded("snapshot-1", gain)],
                **asked,
            )
        )

    gains = {
        "cifar10@1": [0.5, 0.4],
        "imdb@1": [0.3, None],
        "house-price@1": [0.4, 0.2],
        "fathomnet@1": [0.0, None],
        "babylm@1": [0.2, 0.0],
        "vectorization@1": [0.5, 0.5],
    }
    told = [one(task, gain, seed) for task, values in gains.items() for seed, gain in enumerate(values)]
    return [*told, one("cifar10@1", 0.1, 0, model="")]


def test_every_task_of_the_suite_is_in_a_category_of_the_paper():
    assert {task.definition.category for task in list_tasks()} == set(CATEGORIES) - {"own", ""}


def test_each_category_has_the_mean_over_its_tasks_in_the_papers_order(profiles):
    found = [each for each in by_category(profiles) if each.model]
    assert [each.category for each in found] == [
        "canonical tasks",
        "classic Kaggle",
        "Kaggle challenges",
        "recent research",
        "code improvement",
    ]
    canonical = found[0].result
    assert (canonical.tasks, canonical.runs) == (2, 4)
    assert canonical.success.value == pytest.approx((1 + 0.5) / 2)
    assert canonical.improvement.value == pytest.approx((0.45 + 0.15) / 2)


def test_success_on_data_from_after_the_cutoff_is_set_against_success_before(profiles):
    (found,) = by_date(profiles, {"test/told": "2022-12"})
    assert (found.before.tasks, found.after.tasks, found.undated.tasks) == (3, 2, 1)
    assert found.difference.value == pytest.approx(0.25 - (1 + 0.5 + 1) / 3)
    assert found.difference.low < found.difference.value < found.difference.high < 0.2
    assert found.difference_over_tasks.value == pytest.approx(found.difference.value)
    assert found.difference_over_tasks.low < found.difference.low
    assert found.made_up == 10


def test_data_of_the_month_of_the_cutoff_can_have_been_seen(profiles):
    (found,) = by_date(profiles, {"test/told": "2023-01"})
    assert (found.before.tasks, found.after.tasks) == (4, 1)
    assert found.difference_over_tasks.low is None


def test_an_unknown_cutoff_leaves_everything_untold_and_agents_without_a_model_out(profiles):
    (found,) = by_date(profiles)
    assert found.cutoff is None
    assert (found.before.runs, found.after.runs, found.undated.runs) == (0, 0, 12)
    assert math.isnan(found.difference.value) and found.difference.low is None
