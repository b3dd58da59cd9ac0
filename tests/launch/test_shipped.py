"""The experiments that come with the project: each is valid, and says here what it lacks without a key."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

import mlagentbench
from mlagentbench.launch.checking import draft
from mlagentbench.launch.reading import read_plan
from mlagentbench.task.registry import list_tasks

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
PUBLISHED = Path(mlagentbench.__file__).parent / "evaluation" / "published"


def looked(bench, name: str) -> list[dict]:
    here = name in ("smoke", "example")
    told = bench.json(EXPERIMENTS / f"{name}.yaml", "--dry-run", status=0 if here else 2)
    assert told["experiment"] == name and not bench.runs(name)
    if not here:
        assert any("ANTHROPIC_API_KEY" in problem for problem in told["problems"])
    return told["runs"]


def published_tasks(table: str) -> set[str]:
    with (PUBLISHED / f"{table}.csv").open(newline="") as file:
        rows = [row[0] for row in list(csv.reader(file))[1:]]
    return {
        "babylm" if task == "BabyLM" else task for task in rows if not task.startswith(("mean", "average"))
    }


def test_every_file_is_looked_at_here():
    names = {file.stem for file in EXPERIMENTS.glob("*.yaml")}
    assert names == {"example", "paper-v1", "paper-v2", "research-log-ablation", "smoke"}


def test_the_papers_grid_has_eight_runs_of_seven_models_on_thirteen_tasks(bench):
    runs = [run for run in looked(bench, "paper-v2") if run["model"]]
    assert {run["task"].partition("@")[0] for run in runs} == published_tasks("v2_success")
    assert set(Counter((run["task"], run["model"]) for run in runs).values()) == {8}
    assert len(runs) == 8 * 7 * 13


def test_the_example_has_every_task_with_every_agent_that_needs_no_model(bench):
    runs = looked(bench, "example")
    agents = {"starter", "plain", "recipe", "oracle"}
    cells = Counter((run["task"], run["agent"]) for run in runs)
    assert cells == {(task.id, agent): 3 for task in list_tasks() for agent in agents}


def test_the_first_versions_grid_has_all_tasks_and_more_runs_of_claude(bench):
    runs = looked(bench, "paper-v1")
    assert {run["task"] for run in runs} == {task.id for task in list_tasks()} and len(list_tasks()) == 15
    assert published_tasks("v1draft_success") <= {run["task"].partition("@")[0] for run in runs}
    each = Counter((run["agent"], run["model"].partition("/")[0]) for run in runs)
    assert each == {
        ("research-log", "openai"): 8 * 15,
        ("research", "openai"): 8 * 15,
        ("research-log", "anthropic"): 25 * 15,
        ("research", "anthropic"): 25 * 15,
        ("autogpt", "anthropic"): 25 * 15,
        ("langchain", "anthropic"): 25 * 15,
        ("starter", ""): 8 * 15,
    }
    cells = draft(read_plan(EXPERIMENTS / "paper-v1.yaml")).cells
    steps = {(cell.model.model.partition("/")[0], cell.limits["steps"]) for cell in cells if cell.model}
    assert steps == {("openai", 30), ("anthropic", 50)}


def test_an_agent_that_needs_tools_is_not_paired_with_a_model_without(bench):
    bench.environment["ANTHROPIC_API_KEY"] = "none"
    plan = {"tasks": ["house-price"], "models": ["anthropic/claude-v1"]}
    agents = [
        {"agent": agent, "label": f"{agent}-{protocol}", "settings": {"protocol": protocol}}
        for agent in ("langchain", "research")
        for protocol in ("text", "auto", "tools")
    ]
    file = bench.file("pairs", agents=agents, **plan)
    told = bench.json(file, "--dry-run", status=2)
    assert [problem for problem in told["problems"] if "tool calling" in problem] == [
        f"The agent {agent}-tools needs native tool calling, which anthropic/claude-v1 has not. "
        "Set its protocol to text or auto."
        for agent in ("langchain", "research")
    ]


def test_the_ablation_can_be_paired(bench):
    pairs: dict[str, set[tuple]] = {}
    for run in looked(bench, "research-log-ablation"):
        pairs.setdefault(run["agent"], set()).add((run["task"], run["model"], run["seed"]))
    assert pairs["research-log"] == pairs["research-no-log"] and len(pairs) == 2


@pytest.mark.slow
def test_the_smoke_test_runs_here(bench):
    told = bench.json(EXPERIMENTS / "smoke.yaml")
    assert told["complete"] and all(run["summary"]["grade"]["valid"] for run in told["runs"])
