from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.task import worker
from mlagentbench.task.new import new_task
from mlagentbench.task.preparation import prepare
from mlagentbench.task.registry import load_task


def score(task, prepared, part: str, workspace: Path) -> float:
    """Run a part of the task as an agent would find it, and grade what it wrote."""
    for source in (task.folder / "starter", task.folder / part, prepared.public):
        shutil.copytree(source, workspace, dirs_exist_ok=True)
    ended = subprocess.run(
        [prepared.interpreter.python, "-I", "train.py"],
        cwd=workspace, capture_output=True, text=True, check=True, env={"SEED": "1"},
    )  # fmt: skip
    assert re.search(r"^validation MAE: \d+\.\d+$", ended.stdout, re.MULTILINE)
    arguments = {"submission": workspace / "submission.csv", "private": prepared.private}
    return float(worker.call(task.folder / "grade.py", "grade", arguments, prepared.interpreter, seconds=30))


@pytest.mark.parametrize("variant", ["mini", "full"])
def test_a_new_task_runs_as_it_is_and_leaves_room_for_improvement(task, tmp_path, variant):
    prepared = prepare(task, variant)
    starter, plain, oracle = (
        score(task, prepared, part, tmp_path / part) for part in ("starter", "plain", "solution")
    )
    assert oracle < plain <= starter
    assert oracle < 0.75 * starter


def test_it_carries_the_name_that_was_asked_for(tmp_path):
    folder = new_task("my_Task-2", tmp_path / "deep" / "er")
    assert folder == tmp_path / "deep" / "er" / "my_Task-2"
    assert load_task(folder).name == "my_Task-2"
    assert not list(folder.rglob("__pycache__"))


@pytest.mark.parametrize("name", ["", "-x", "a b", "../up", "a@1", "ü"])
def test_a_name_that_cannot_be_one_is_refused(tmp_path, name):
    with pytest.raises(UsageError, match="no name for a task"):
        new_task(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path):
    new_task("mine", tmp_path)
    with pytest.raises(UsageError, match="is there already"):
        new_task("mine", tmp_path)
