"""What `experiment` does: a plan of a file and flags, carried out before the user's eyes, and what came of it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from mlagentbench.cli import options as o
from mlagentbench.cli.board import open_onlooker
from mlagentbench.cli.machine import plain, print_json
from mlagentbench.cli.main import STOPPED
from mlagentbench.cli.screen import Part, Screen, open_screen
from mlagentbench.errors import UsageError
from mlagentbench.launch.cells import in_groups
from mlagentbench.launch.experiment import Experiment, experiment
from mlagentbench.launch.forker import Forker
from mlagentbench.launch.plan import Plan
from mlagentbench.launch.reading import make_plan, read_plan
from mlagentbench.record.naming import PROGRAM

_WITHOUT_SETTINGS = {"starter", "plain", "oracle"}


def plan_of(file: Path | None, values: dict[str, Any]) -> Plan:
    """The file, with what was said with flags instead of parts of it; or the flags alone."""
    limits, calls = o.take_limits(values), o.take_calls(values)
    settings = o.read_settings(values.pop("config"))
    of_program, label = o.take_agent_settings(values), values.pop("label")
    said: dict[str, Any] = {}
    for key in ("tasks", "agents", "models", "variants"):
        if names := [name.strip() for each in values.pop(key) for name in each.split(",") if name.strip()]:
            said[key] = names
    if seeds := values.pop("data_seeds"):
        said["data_seeds"] = list(seeds)
    if (network := values.pop("network")) is not None:
        said["network"] = network == "on"
    resources = {
        k: v
        for k in ("parallel", "cores", "sharing", "gpus", "keep_free")
        if (v := values.pop(k)) is not None
    }
    said |= {key: value for key, value in values.items() if value is not None}
    for name in said.get("agents", ()):
        o.find_own_agents(name)
    if settings:
        named = said.get("agents", [])
        # Where none of them takes settings, all are given them, so that they are refused and not forgotten.
        takers = [name for name in named if name not in _WITHOUT_SETTINGS] or named
        said["agents"] = [{"agent": name, "settings": settings} if name in takers else name for name in named]
        if not said["agents"]:
            raise UsageError(
                "-c sets what agents named with -a do; in a file, each agent has its `settings`."
            )
    if of_program or label:
        said["agents"] = _with_program(said.get("agents", []), of_program, label)
    if file is None:
        if not {"tasks", "agents"} <= said.keys():
            raise UsageError(
                "Name a file, or tasks and agents: `mlagentbench experiment -t house-price -a starter,oracle "
                "--runs 4`. docs/experiments.md has the rest."
            )
        return make_plan(said | {"limits": limits, "calls": calls, "resources": resources}, "This")
    read = read_plan(file)
    for entry in read.agents:
        o.find_own_agents(entry.agent)
    for key, given in (("limits", limits), ("calls", calls), ("resources", resources)):
        if given:
            said[key] = getattr(read, key).model_dump(exclude_unset=True) | given
    return read_plan(file, said) if said else read


def _with_program(agents: list[Any], of_program: dict[str, Any], label: str | None) -> list[Any]:
    """The agents, with the program that flags describe and the name that they give."""
    named = [each if isinstance(each, dict) else {"agent": each} for each in agents]
    programs = [each for each in named if each["agent"] == PROGRAM]
    if of_program and not programs:
        raise UsageError(
            "--command, --mount and --env describe a program that is the agent. Add `-a command`; in a file, the agent "
            "has them as `settings` and `env`."
        )
    if label and len(named) != 1:
        raise UsageError("--label names one agent: give one with -a. In a file, each agent has its `label`.")
    for each in programs:
        each["settings"] = {**each.get("settings", {}), **of_program}
    for each in named if label else ():
        each["label"] = label
    return named


def carry_out(
    plan: Plan,
    *,
    folder: Path,
    name: str | None,
    key: str | None,
    changed: bool,
    dry_run: bool,
    as_json: bool,
    forker: Forker,
) -> int:
    """Do it, tell of it, and give back the exit status."""
    screen = open_screen(json=as_json, lasting=True)
    o.warn_of_gaps(plan.sandbox, plan.network or any(entry.network for entry in plan.tasks))
    if dry_run:
        looked = experiment(plan, folder=folder, name=name, key=key, dry_run=True, forker=forker)
        tell_plan(screen, looked)
        if as_json:
            print_json(told(looked))
        return UsageError.exit_status if looked.problems else 0
    with open_onlooker(screen, json=as_json) as onlooker:
        done = experiment(
            plan, folder=folder, name=name, key=key, changed=changed, onlooker=onlooker, forker=forker
        )
    tell_end(screen, done)
    if as_json:
        print_json(told(done))
    if done.stopped == "stopped":
        return STOPPED
    return 0 if done.complete else 1


def tell_plan(screen: Screen, looked: Experiment) -> None:
    """What an experiment would do."""
    ended = sum(outcome.state == "ended" for outcome in looked.outcomes)
    begun = sum(outcome.state == "unfinished" for outcome in looked.outcomes)
    there = f", of which {ended} are done and {begun} begun" if ended or begun else ""
    screen.line((looked.name, "title"), f"  {len(looked.outcomes)} runs{there}")
    rows: list[list[Part]] = []
    states = {outcome.cell.identity(): outcome.state for outcome in looked.outcomes}
    for _, cells in in_groups([outcome.cell for outcome in looked.outcomes]):
        first = cells[0]
        done = sum(states[cell.identity()] == "ended" for cell in cells)
        data = f", data seed {first.data_seed}" if first.data_seed else ""
        rows.append(
            [f"{first.task_name} ({first.variant}{data})", (first.who, "name"), str(len(cells)), str(done)]
        )
    screen.table(["task", "agent", ">runs", ">done"], rows)
    for note in looked.notes:
        screen.line((note, "warn"))
    if looked.problems:
        screen.line(("What stands in the way here:", "warn"))
        for problem in looked.problems:
            screen.line(f"  {problem}")


def tell_end(screen: Screen, done: Experiment) -> None:
    """The table of all that has ended, what has not, and how to go on."""
    from mlagentbench.cli.tables import group_table
    from mlagentbench.evaluation.groups import group

    screen.line()
    if done.summaries:
        group_table(screen, group(done.summaries))
    for note in done.notes:
        screen.line((note, "warn"))
    died = sum(summary.ended == "died" for summary in done.summaries)
    if died:
        screen.line((f"{died} runs died and are recorded so; `mlagentbench show RUN` tells how.", "bad"))
    for state, words in (("held", "held back"), ("lost", "lost")):
        for why in dict.fromkeys(outcome.detail for outcome in done.outcomes if outcome.state == state):
            count = sum(outcome.state == state and outcome.detail == why for outcome in done.outcomes)
            screen.line((f"{count} {words}: {why}", "bad"))
    if left := sum(outcome.state != "ended" for outcome in done.outcomes):
        screen.line(
            (f"{left} of {len(done.outcomes)} runs are left; the same command goes on with them.", "warn")
        )
    screen.line(("next    ", "label"), f"mlagentbench compare {shlex.quote(str(done.folder))}")


def told(done: Experiment) -> dict[str, Any]:
    """An experiment, for machines."""
    return {
        "experiment": done.name,
        "folder": str(done.folder),
        "complete": done.complete,
        "stopped": done.stopped,
        "notes": list(done.notes),
        "problems": list(done.problems),
        "runs": [
            {
                "task": outcome.cell.task_name,
                "variant": outcome.cell.variant,
                "data_seed": outcome.cell.data_seed,
                "agent": outcome.cell.name,
                "model": outcome.cell.model.model if outcome.cell.model else "",
                "seed": outcome.cell.seed,
                "state": outcome.state,
                "detail": outcome.detail,
                "folder": str(outcome.folder) if outcome.folder else None,
                "cpu_seconds": outcome.cpu_seconds,
                "summary": plain(outcome.summary),
            }
            for outcome in done.outcomes
        ],
    }
