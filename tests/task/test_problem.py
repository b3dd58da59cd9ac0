from __future__ import annotations

import pytest

from mlagentbench.errors import TaskError
from mlagentbench.task.definition import Limits
from mlagentbench.task.problem import problem_text
from mlagentbench.task.registry import list_tasks, load_task


def test_the_blanks_are_filled_in(task):
    text = problem_text(task, "mini", Limits(steps=50, time=5 * 3600, execution_time=300))
    assert "At most 50 steps and 5 h in all; one execution of a script may take 5 m." in text
    assert "Data (mini variant): Synthetic throws: 400 to learn from" in text
    assert "by the mean absolute error of" in text and "(goal: minimize)" in text
    assert "{" not in text
    assert text.endswith("\n\nPython has its standard library alone; nothing can be installed.\n")


def test_the_packages_that_there_are_are_named():
    text = problem_text(load_task("house-price"), "mini", Limits())
    assert "Python has numpy 2.2.6, pandas 2.3.3, " in text
    assert text.endswith("nothing else can be installed.\n")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{answer}", r"unknown placeholder \{answer\}"),
        ("{}", r"unknown placeholder \{\}"),
        ("{", "not a template"),
    ],
)
def test_a_placeholder_that_nothing_fills_is_named(task, content, complaint):
    (task.folder / "problem.md").write_text(content)
    with pytest.raises(TaskError, match=complaint):
        problem_text(task, "mini", Limits())


def test_every_listed_task_has_a_problem_in_every_variant():
    for task in list_tasks():
        for variant in task.definition.variants:
            assert problem_text(task, variant, Limits())
