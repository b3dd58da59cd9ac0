"""Which task a run of a plan is on, and which recorded runs are of it."""

from __future__ import annotations

import shutil

from mlagentbench import load_task
from mlagentbench.launch.board import Line
from mlagentbench.launch.checking import draft
from mlagentbench.launch.demand import entry_of
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
    assert entry_of(Line(wanted), plan).cores == 1


def problems_of(**said):
    made = draft(make_plan({"tasks": ["house-price"]} | said, "This"))
    return made.problems, made.notes, [cell.who for cell in made.cells]


def test_a_program_is_run_with_each_model_of_the_experiment():
    program = {"agent": "command", "label": "mine", "settings": {"command": "true"}}
    problems, _, cells = problems_of(agents=[program, "starter"], models=["mock/a", "mock/b"])
    assert not problems and cells == ["mine · mock/a", "mine · mock/b", "starter"]
    problems, _, cells = problems_of(agents=[{**program, "models": []}, "act"], models=["mock/a"])
    assert not problems and cells == ["mine", "act · mock/a"], "an empty list of its own: none"


def test_models_that_no_agent_would_ask_are_refused():
    problems, _, _ = problems_of(agents=["starter", "recipe"], models=["mock/a", "mock/b"])
    assert problems == [
        "No agent of this plan would ask mock/a, mock/b: starter, recipe ask no model, or have others. Leave what is "
        "not used out of the models, or name an agent that asks it."
    ]
    problems, _, _ = problems_of(agents=[{"agent": "act", "models": ["mock/a"]}], models=["mock/a"])
    assert not problems


def test_an_exclusion_that_fits_no_run_is_told_of():
    left_out = [{"agent": "act"}, {"agent": "atc", "model": "mock/a"}]
    problems, notes, cells = problems_of(agents=["act", "react"], models=["mock/a"], exclude=left_out)
    assert not problems and cells == ["react · mock/a"]
    assert notes == [
        "`exclude` leaves nothing out by {'agent': 'atc', 'model': 'mock/a'}: no run of this plan fits it."
    ]
