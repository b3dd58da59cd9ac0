"""Programs as agents on the command line: their variables, and what they are called."""

from __future__ import annotations

import json

import pytest
import yaml

from mlagentbench.launch.plan import Plan
from mlagentbench.launch.reading import make_plan
from mlagentbench.record.naming import called

SECRET = "s3cr3t-Value-42"


def test_two_commands_are_two_agents_and_a_label_names_one(place):
    place.environment["MY_KEY"] = SECRET
    program = ("run", place.task, "-a", "command", "-c", "settle=0.3", "--command")
    place(*program, "true", "--env", "MY_KEY", status=1)
    place(*program, "python3 train.py --deep")
    place(*program, "python3 train.py")
    place(*program, "true", "--label", "mine", status=1)
    names = sorted(group["agent"] for group in place.json("compare", "runs")["groups"])
    assert len(names) == 4 and names[-1] == "mine"
    assert [name.rpartition("-")[0] for name in names[:3]] == ["command-train.py"] * 2 + ["command-true"]
    found = {folder.name for folder in place.folder.glob("runs/default/*/*")}
    assert found == {f"{name}--no-model" for name in names}
    assert SECRET not in place("list", "--runs", "--json").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--command", "true"), "Add `-a command`"),
        (("-a", "act", "--env", "MY_KEY"), "Add `-a command`"),
        (("-a", "command", "--command", "x --api-key abcdefgh"), "--env NAME"),
        (("-a", "command", "--command", "true", "--env", "NOT_SET_HERE"), "not set"),
        (("-a", "command", "--command", "true", "--label", "a b"), "is no label"),
    ],
)
def test_what_does_not_fit_is_told(place, arguments: tuple[str, ...], words: str):
    assert words in place("run", place.task, *arguments, status=2).stderr
    assert not (place.folder / "runs").exists()


def test_an_experiment_has_the_same_flags(place):
    place.environment["MY_KEY"] = SECRET
    asked = ("experiment", "-t", place.task, "-w")
    program = ("-a", "command", "-c", "settle=0.3", "--env", "MY_KEY", "--command")
    place(*asked, "some", *program, "echo $MY_KEY; python train.py", "--label", "mine")
    (file,) = place.folder.glob("runs/some/*/mine--no-model/*/run.json")
    assert json.loads(file.read_text())["settings"]["env"] == ["MY_KEY"]
    written = b"".join(each.read_bytes() for each in place.folder.rglob("runs/**/*") if each.is_file())
    assert SECRET.encode() not in written and b"[key removed]" in written
    del place.environment["MY_KEY"]
    refused = place(*asked, "new", *program, "true", status=2).stderr
    assert "MY_KEY" in refused and "not set" in refused
    assert "Add `-a command`" in place(*asked, "x", "-a", "starter", "--command", "true", status=2).stderr
    assert "names one agent" in place(*asked, "x", "-a", "starter,oracle", "--label", "y", status=2).stderr


def test_in_a_plan_two_commands_need_no_label():
    text = """
tasks: [house-price]
agents:
  - {agent: command, settings: {command: one}, env: [MY_KEY]}
  - {agent: command, settings: {command: two}}
"""
    plan = make_plan(yaml.safe_load(text), "plan.yaml")
    assert len({agent.name for agent in plan.agents}) == 2
    assert plan.agents[0].chosen == {"command": "one", "env": ["MY_KEY"]}
    assert isinstance(plan, Plan)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("claude -p go", "claude"),
        ("/opt/mini/bin/mini --yolo", "mini"),
        ("A=1 python3 -u /opt/agent.py --x", "agent.py"),
        ("timeout 60 codex exec", "codex"),
        ("'unbalanced", ""),
        ("sh -c 'a | b; c'", ""),
    ],
)
def test_a_program_is_called_by_what_it_starts(command: str, name: str):
    told = called("command", "", {"command": command})
    assert told.rpartition("-")[0] == "-".join(filter(None, ("command", name)))
