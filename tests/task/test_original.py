from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from support.tasks import original_task

import mlagentbench.task
from mlagentbench.errors import TaskError
from mlagentbench.task.definition import Limits
from mlagentbench.task.problem import problem_text
from mlagentbench.task.registry import list_tasks, load_task

KNOWN = tomllib.loads(
    Path(mlagentbench.task.__file__).with_name("known_originals.toml").read_text(encoding="utf-8")
)


def test_a_folder_of_the_original_loads_as_it_is(original):
    task = load_task(original)
    assert (task.name, task.origin, task.trusted) == ("original-old-task", "original", False)
    assert task.starter == original / "env"
    assert list(task.definition.variants) == ["original"]
    assert task.definition.entry == "train.py"
    assert task.definition.submission == "."
    assert task.definition.metric.goal is None
    assert problem_text(task, "original", Limits()) == "Make {train.py} better."


def test_its_read_only_lines_mean_the_files_that_they_name(original):
    assert load_task(original).definition.read_only == ("train.csv", "train.csv/*", "data/*")


def test_what_its_format_does_not_say_can_be_added_beside_it(original):
    (original / "mlagentbench.toml").write_text(
        'requirements = ["numpy==2.2.6"]\n[metric]\ngoal = "minimize"\n[limits]\ntime = "2h"\n'
    )
    definition = load_task(original).definition
    assert definition.metric.goal == "minimize"
    assert definition.metric.name == "score"
    assert definition.requirements == ("numpy==2.2.6",)
    assert definition.limits.time == 7200


@pytest.mark.parametrize("content", ["metric = 3", "[variants.mini]\ndescription = 'x'", "= "])
def test_additions_that_do_not_fit_are_told(original, content):
    (original / "mlagentbench.toml").write_text(content)
    with pytest.raises(TaskError, match=r"mlagentbench\.toml"):
        load_task(original)


def test_what_most_of_them_import_is_there_unless_something_else_is_said(original):
    (original / "mlagentbench.toml").unlink()
    assert any(each.startswith("numpy==") for each in load_task(original).definition.requirements)


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_of_the_originals_own_tasks_is_used_for_them(original, name):
    known, folder = KNOWN[name], original.with_name(name)
    original.rename(folder)
    (folder / "mlagentbench.toml").unlink()
    assert load_task(folder).definition.category == "own", "it has the name, and is another task"
    (folder / known["file"]).write_text(f"About {known['word'].upper()}.")
    task = load_task(folder)
    definition, ours = task.definition, load_task(known["task"]).definition
    assert (definition.category, definition.data_date) == (ours.category, ours.data_date)
    assert definition.metric.goal == ours.metric.goal and definition.modality == ours.modality
    assert list(definition.requirements) == known["requirements"]
    assert all(re.fullmatch(r"[\w-]+==[\w.]+", each) for each in definition.requirements)
    assert not task.trusted and definition.submission == "."
    (folder / "mlagentbench.toml").write_text('requirements = []\n[metric]\ngoal = "maximize"\n')
    definition = load_task(folder).definition
    assert (definition.metric.goal, definition.requirements) == ("maximize", ()), (
        "what the user says comes first"
    )


def test_all_fifteen_are_known():
    assert {known["task"] for known in KNOWN.values()} == {task.name for task in list_tasks()}


def test_without_a_problem_there_is_nothing_to_do(original):
    (original / "scripts" / "research_problem.txt").unlink()
    with pytest.raises(TaskError, match="nothing to tell an agent"):
        load_task(original)


@pytest.mark.parametrize(
    "wanted",
    [
        "evil @ file:///tmp/evil",
        "git+https://example.com/evil",
        "./evil",
        "numpy>=1",
        "numpy",
        "--index-url=http://evil",
        "-r evil.txt",
        "evil==1 @ file:///tmp",
    ],
)
def test_what_would_be_built_here_is_refused_before_anything_runs(tmp_path: Path, wanted: str) -> None:
    folder = original_task(tmp_path / "theirs", starter="", grader="")
    (folder / "mlagentbench.toml").write_text(f"requirements = [{wanted!r}]")
    with pytest.raises(TaskError, match="name==version"):
        load_task(folder)


def test_a_version_of_a_released_package_is_taken(tmp_path: Path) -> None:
    folder = original_task(tmp_path / "theirs", starter="", grader="")
    wanted = ["numpy==2.2.6", "x[a,b]==1.0.post1", "y==2; python_version < '3.12'"]
    (folder / "mlagentbench.toml").write_text(f"requirements = {wanted!r}")
    assert load_task(folder).definition.requirements == tuple(wanted)


@pytest.mark.parametrize("part", ["env", "scripts"])
def test_a_folder_whose_parts_are_links_is_no_task(tmp_path: Path, part: str) -> None:
    folder = original_task(tmp_path / "theirs", starter="", grader="")
    (folder / part).rename(tmp_path / "private")
    (folder / part).symlink_to(tmp_path / "private")
    with pytest.raises(TaskError, match="not a task"):
        load_task(folder)
