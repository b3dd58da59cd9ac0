"""What the file of an experiment may say, what is said about mistakes in it, and which runs come of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mlagentbench import load_task
from mlagentbench.errors import UsageError
from mlagentbench.launch.cells import Cell, expand
from mlagentbench.launch.plan import Plan
from mlagentbench.launch.reading import make_plan, read_plan


def plan_of(**said: Any) -> Plan:
    return make_plan({"tasks": ["house-price"], "agents": ["starter"]} | said, "This")


def cells_of(plan: Plan) -> list[Cell]:
    return expand(plan, {entry.task: load_task(entry.task) for entry in plan.tasks})


def told(tmp_path: Path, text: str) -> str:
    file = tmp_path / "my.yaml"
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        read_plan(file)
    return str(refused.value)


def test_all_of_everything_and_agents_without_a_model_once():
    plan = plan_of(
        tasks=["house-price", "imdb"],
        agents=[
            "starter",
            "research",
            {"agent": "research", "label": "with-log", "settings": {"retrieval": True}},
        ],
        models=["openai/one", "openai/two"],
        runs=3,
    )
    cells = cells_of(plan)
    assert len(cells) == 2 * (1 + 2 + 2) * 3
    assert len({cell.identity() for cell in cells}) == len(cells)
    assert {cell.who for cell in cells} == {
        *("starter", "research · openai/one", "research · openai/two"),
        *("with-log · openai/one", "with-log · openai/two"),
    }
    assert [cell.seed for cell in cells] == [0] * 10 + [1] * 10 + [2] * 10, "each cell once before any twice"


def test_the_nearest_number_of_runs_counts():
    plan = plan_of(
        agents=["starter", {"agent": "react", "runs": 5}, "act"],
        models=[{"model": "openai/one", "runs": 25}, "openai/two"],
        runs=8,
    )
    counts: dict[str, int] = {}
    for cell in cells_of(plan):
        counts[cell.who] = counts.get(cell.who, 0) + 1
    assert counts == {
        "starter": 8,
        "react · openai/one": 5,
        "react · openai/two": 5,
        "act · openai/one": 25,
        "act · openai/two": 8,
    }


def test_an_agent_may_have_models_of_its_own_which_mean_those_of_the_experiment_by_name():
    plan = plan_of(
        agents=[
            "act",
            {"agent": "react", "models": ["openai/one"]},
            {"agent": "scripted", "models": ["openai/two"]},
        ],
        models=[{"model": "openai/one", "fast": "openai/small", "runs": 2}, "openai/two"],
    )
    cells = [cell for cell in cells_of(plan) if cell.agent != "act"]
    assert [(cell.who, cell.model.fast if cell.model else None, cell.seed) for cell in cells] == [
        ("react · openai/one", "openai/small", 0),
        ("scripted · openai/two", "", 0),
        ("react · openai/one", "openai/small", 1),
    ]


def test_what_is_excluded_is_left_out():
    plan = plan_of(
        tasks=["house-price", {"task": "imdb", "variants": ["mini", "full"], "data_seeds": [0, 7]}],
        agents=["starter", "act"],
        models=["openai/one", "openai/two"],
        exclude=[
            {"task": "imdb", "variant": "full"},
            {"data_seed": 7, "agent": "act"},
            {"task": "house-price", "model": "openai/two"},
        ],
    )
    assert [(cell.task_name, cell.variant, cell.data_seed, cell.who) for cell in cells_of(plan)] == [
        ("house-price@1", "mini", 0, "starter"),
        ("house-price@1", "mini", 0, "act · openai/one"),
        ("imdb@1", "mini", 0, "starter"),
        ("imdb@1", "mini", 7, "starter"),
        ("imdb@1", "mini", 0, "act · openai/one"),
        ("imdb@1", "mini", 0, "act · openai/two"),
    ]


def test_limits_of_the_agent_come_before_the_tasks_and_those_before_the_experiments():
    plan = plan_of(
        tasks=[{"task": "house-price", "limits": {"steps": 20, "memory": "2GB"}}],
        agents=[{"agent": "starter", "limits": {"steps": 10, "time": None}}],
        limits={"steps": 50, "time": "5h", "cost": 1.5},
    )
    (cell,) = cells_of(plan)
    assert cell.limits == {"steps": 10, "time": None, "cost": 1.5, "memory": 2 * 10**9}


def test_the_same_cell_said_twice_is_one_run():
    assert len(cells_of(plan_of(tasks=["house-price", "house-price@1"]))) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("taks: [house-price]\n", "taks: there is no such key. Did you mean 'tasks'?"),
        (
            "agents: [{agent: act, setings: {}}]\n",
            "agents[0].setings: there is no such key. Did you mean 'settings'?",
        ),
        ("limits: {step: 5}\n", "limits.step: there is no such key. Did you mean 'steps'?"),
        (
            "resources: {ram: 5}\n",
            "resources.ram: there is no such key. Known are: cores, gpus, sharing, parallel",
        ),
        (
            "models: [{model: openai/x, temprature: 1}]\n",
            "models[0].temprature: there is no such key. Known are",
        ),
        ("agents: [{agent: act, models: [{modl: x}]}]\n", "agents[0].models[0].modl: there is no such key."),
        ("exclude: [{}]\n", "exclude[0]: an exclusion says what to leave out"),
        ("runs: 0\n", "runs: it must be at least 1, and is 0."),
        ("agents: [act, act]\n", "act stands among the agents more than once; give each a label of its own."),
        ("limits: {time: tomorrow}\n", "limits.time: 'tomorrow' is not a duration"),
        ("limits: {time: [1]}\n", "limits.time: [1] is not a duration"),
        ("tasks: house-price\n", "tasks: it must be a list, as in [a, b], and is 'house-price'."),
        (
            "chat: modle\n",
            "chat: 'modle' is not possible here. Possible are '', 'stand-in' and 'model'. Did you mean",
        ),
        ("agents: [{agent: act, env: [A]}]\n", "agents[0]: only the agent 'command' has a program"),
        ("agents: [{agent: act, label: a b}]\n", "agents[0].label: 'a b' is no label"),
        ("runs: 1\nruns: 2\n", "the key 'runs' stands twice"),
        ("name: ../evil\n", "name: '../evil' is no plain name for an experiment; use letters, digits"),
        ("- house-price\n", "must hold keys and values"),
        ("tasks: [house-price\n", "is not valid YAML"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_the_nearest_word(tmp_path: Path, text: str, sentence: str):
    rest = "".join(
        f"{key}: [{value}]\n"
        for key, value in (("tasks", "house-price"), ("agents", "starter"))
        if f"{key}:" not in text and "- " not in text
    )
    assert sentence in told(tmp_path, text + rest)


def test_every_mistake_is_told_at_once(tmp_path: Path):
    words = told(tmp_path, "tasks: []\nrunz: 4\nseed: many\n")
    assert all(
        place in words for place in ("tasks:", "agents: it is missing, and required", "runz:", "seed:")
    )


def test_paths_that_begin_with_a_dot_are_found_from_the_file(tmp_path: Path):
    file = tmp_path / "sub" / "my.yaml"
    file.parent.mkdir()
    file.write_text(
        "tasks: [../tasks/ball, house-price]\n"
        "agents: [{agent: scripted, settings: {file: ./a.jsonl}}]\n"
        "models: [mock/./script.txt]\n"
    )
    plan = read_plan(file)
    assert [entry.task for entry in plan.tasks] == [f"{tmp_path}/tasks/ball", "house-price"]
    assert plan.agents[0].settings == {"file": f"{file.parent}/a.jsonl"}
    assert plan.models[0].model == f"mock/{file.parent}/script.txt"
    assert plan.name == "my"


def test_without_a_file_they_are_found_from_where_the_command_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    plan = plan_of(
        tasks=("./ball",),
        agents=[{"agent": "scripted", "settings": {"file": "./a.jsonl"}}],
        models=["mock/../script.txt"],
    )
    assert plan.tasks[0].task == f"{tmp_path}/ball"
    assert plan.agents[0].settings == {"file": f"{tmp_path}/a.jsonl"}
    assert plan.models[0].model == f"mock/{tmp_path.parent}/script.txt"
