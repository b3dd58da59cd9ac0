"""Can an experiment run here? Everything that stands in its way is found before anything starts, and told at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from mlagentbench.agent.spec import Agent, build_agent, few_steps, needs_model, needs_of
from mlagentbench.environment.limits import run_limits
from mlagentbench.environment.making import refuse_unpromised
from mlagentbench.environment.secrets import refuse_secrets, values_of
from mlagentbench.errors import MLAgentBenchError, SandboxUnavailableError
from mlagentbench.launch.board import Line
from mlagentbench.launch.cells import Cell, Wanted, expand, fits, name_in_cells, takes_models
from mlagentbench.launch.machine import all_gpus
from mlagentbench.launch.orders import CheckOrder
from mlagentbench.launch.plan import AgentEntry, Plan
from mlagentbench.launch.processes import ForkerDiedError, Processes
from mlagentbench.sandbox import Sandbox, choose
from mlagentbench.task.definition import Task
from mlagentbench.task.needs import missing
from mlagentbench.task.preparation import choose_variant, find_prepared
from mlagentbench.task.registry import load_task


@dataclass
class Draft:
    """A plan, expanded, and what is wrong with it."""

    plan: Plan
    tasks: dict[str, Task] = field(default_factory=dict)
    cells: list[Cell] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What of it has no effect."""


def draft(plan: Plan, key: str | None = None) -> Draft:
    """Expand a plan, as far as its tasks and agents can be loaded."""
    made = Draft(plan)
    for entry in plan.tasks:
        try:
            made.tasks[entry.task] = task = load_task(entry.task)
            for variant in entry.variants or plan.variants:
                choose_variant(task, variant)
        except MLAgentBenchError as error:
            made.problems.append(str(error))
    for model in (*plan.models, *(each for agent in plan.agents for each in agent.models or ())):
        try:
            refuse_secrets({}, model.options, model.base_url)
        except MLAgentBenchError as error:
            made.problems.append(str(error))
    built: dict[str, tuple[Agent, dict[str, Any]]] = {}
    for agent in plan.agents:
        try:
            refuse_secrets(agent.chosen, {}, "")
            built[agent.name] = build_agent(agent.agent, agent.chosen)
        except MLAgentBenchError as error:
            made.problems.append(str(error))
        else:
            made.problems += _problems_of(plan, agent)
    made.problems += _unused_models(plan)
    made.cells = expand(plan, made.tasks)
    made.notes += _idle_exclusions(plan, made.tasks)
    if not made.cells and not made.problems:
        made.problems.append("Nothing is left to run: `exclude` takes everything out.")
    tasks = {name_in_cells(task): task for task in made.tasks.values()}
    for cell in made.cells:
        task = tasks[cell.task]
        if cell.name in built:
            made.wanted.append(_wanted(cell, task, *built[cell.name], key))
            try:
                limits = run_limits(task.definition.limits, made.wanted[-1].uncounted | dict(cell.limits))
            except MLAgentBenchError as error:
                made.problems.append(str(error))
            else:
                problem = few_steps(cell.name, needs_of(built[cell.name][0]), limits.steps)
                made.problems += [problem] if problem else []
    made.problems = list(dict.fromkeys(made.problems))
    return made


def _wanted(cell: Cell, task: Task, agent: Agent, settings: dict[str, Any], key: str | None) -> Wanted:
    needs = needs_of(agent)
    uncounted = {} if needs.counts_steps else {"steps": None}
    return Wanted(
        cell, task, settings, tuple(needs.actions), needs.chat, uncounted, needs_tools=needs.tools, key=key
    )


def _problems_of(plan: Plan, agent: AgentEntry) -> list[str]:
    models = plan.models if agent.models is None else agent.models
    if agent.agent == "human":
        return ["A person cannot make runs that go on side by side; leave the agent human out."]
    if needs_model(agent.agent) and not models:
        own = " If it asks none, it has to say so: `needs_model = False`." if ":" in agent.agent else ""
        return [
            f"The agent {agent.name} needs a model: name one with -m provider/name, or under `models`.{own}"
        ]
    return []


def _unused_models(plan: Plan) -> list[str]:
    if any(takes_models(agent) for agent in plan.agents):
        return []
    named = {model.model for agent in plan.agents for model in agent.models or ()}
    unused = [model.model for model in plan.models if model.model not in named]
    if not unused:
        return []
    agents = ", ".join(agent.name for agent in plan.agents)
    return [
        f"No agent of this plan would ask {', '.join(unused)}: {agents} ask no model, or have others. Leave what is "
        "not used out of the models, or name an agent that asks it."
    ]


def _idle_exclusions(plan: Plan, tasks: dict[str, Task]) -> list[str]:
    """Mistyped names, most likely."""
    cells = expand(plan.model_copy(update={"exclude": ()}), tasks)
    return [
        f"`exclude` leaves nothing out by {exclusion.model_dump(exclude_none=True)}: no run of this plan fits it."
        for exclusion in plan.exclude
        if not any(fits(exclusion, cell) for cell in cells)
    ]


def with_digests(wanted: list[Wanted]) -> list[Wanted]:
    """The same, each knowing its data where they are ready."""
    known: dict[tuple[str, str, int], str] = {}
    for each in wanted:
        if each.cell.data not in known:
            prepared = find_prepared(
                each.task, each.cell.variant, seed=each.cell.data_seed, key=each.key, python=each.cell.python
            )
            known[each.cell.data] = prepared.digest if prepared else ""
    return [replace(each, digest=known[each.cell.data]) for each in wanted]


def stands_in_the_way(plan: Plan, lines: list[Line], processes: Processes | None) -> list[str]:
    """What keeps the runs that are still to be made from being made here."""
    left = [line for line in lines if line.state != "ended"]
    problems: list[str] = []
    try:
        backend = choose(plan.sandbox)
        for line in left:
            problems += _unpromised(backend, line.wanted)
    except MLAgentBenchError as error:
        problems.append(str(error))
    try:
        values_of(dict.fromkeys(name for line in left for name in line.wanted.settings.get("env") or ()))
    except MLAgentBenchError as error:
        problems.append(str(error))
    seen = set()
    for line in left:
        cell, task = line.cell, line.wanted.task
        if cell.data in seen:
            continue
        seen.add(cell.data)
        if task.definition.variant(cell.variant).live and not cell.network:
            problems.append(
                f"{task.id} ({cell.variant}) uses services on the network; set `network: true` for it, or --network on."
            )
        if not line.wanted.digest:
            problems += [
                f"{task.id} ({cell.variant}) needs {need.what}: {need.command}"
                for need in missing(task, cell.variant)
                if not need.command.startswith("mlagentbench prepare")
            ]
    wanted = max([plan.resources.gpus, *(entry.gpus or 0 for entry in plan.tasks)])
    if wanted > len(all_gpus()):
        problems.append(f"Runs want {wanted} GPUs each, and this machine has {len(all_gpus())}.")
    models = {line.cell.model.model_dump_json(): line.cell.model for line in left if line.cell.model}
    if models and processes is not None:
        with_tools = {
            (line.cell.model.model, line.cell.name)
            for line in left
            if line.cell.model and line.wanted.needs_tools
        }
        order = CheckOrder(models=tuple(models.values()), with_tools=tuple(sorted(with_tools)))
        problems += _models(order, processes)
    return list(dict.fromkeys(problems))


def _unpromised(sandbox: Sandbox, wanted: Wanted) -> list[str]:
    """What the sandbox cannot promise for a run."""
    try:
        refuse_unpromised(
            sandbox, wanted.task, programs_chat=wanted.own_chat and wanted.cell.model is not None
        )
    except SandboxUnavailableError as error:
        return [str(error)]
    return []


def _models(order: CheckOrder, processes: Processes) -> list[str]:
    """Asked in a process of its own, which loads what providers need; this one stays small."""
    processes.start(0, order, ())
    problems: list[str] = []
    try:
        while True:
            for message in processes.messages(60.0):
                if message.kind == "ending":
                    problems = message.text.splitlines()
                elif message.kind == "lost":
                    processes.start(0, order, ())
                elif message.kind == "gone":
                    if message.status:
                        problems.append(f"The models could not be looked at. {message.text.strip()}")
                    return problems
    except ForkerDiedError as error:
        return [str(error)]
