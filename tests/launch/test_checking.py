"""Which task a run of a plan is on, and which recorded runs are of it."""

from __future__ import annotations

import shutil
from types import SimpleNamespace

from mlagentbench import load_task
from mlagentbench.launch.checking import draft
from mlagentbench.launch.local import Local
from mlagentbench.launch.reading import make_plan


def test_a_copy_of_a_task_is_not_taken_for_the_suites(tmp_path):
    copy = shutil.copytree(load_task("house-price").folder, tmp_path / "house-price")
    plan = make_plan({"tasks": [str(copy), "house-price"], "agents": ["starter"]}, "This")
    folders = [wanted.task.folder for wanted in draft(plan).wanted]
    assert folders == [copy, load_task("house-price").folder]


def test_a_task_in_the_home_folder_is_found_again(tiny_task, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    shutil.copytree(tiny_task, tmp_path / "mine")
    plan = make_plan({"tasks": [{"task": "~/mine", "cores": 1}], "agents": ["starter"]}, "This")
    (wanted,) = draft(plan).wanted
    line = SimpleNamespace(wanted=wanted, cell=wanted.cell)
    assert Local._entry(SimpleNamespace(_plan=plan), line).cores == 1  # type: ignore[arg-type]
