"""From a plan to its runs: one cell each. A run is found again by what its `run.json` says, and by nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import Any

from mlagentbench.agent.spec import WITH_ANY_MODEL, needs_model
from mlagentbench.environment.actions.registry import shown_actions
from mlagentbench.environment.models import ModelChoice, changed_calls
from mlagentbench.environment.setup import key_mark
from mlagentbench.errors import UsageError
from mlagentbench.launch.plan import AgentEntry, Exclusion, ModelEntry, Plan, TaskEntry
from mlagentbench.record.naming import called
from mlagentbench.record.request import ChatBy, RunRequest
from mlagentbench.task.definition import Task
from mlagentbench.task.preparation import choose_variant
from mlagentbench.task.registry import in_suite


@dataclass(frozen=True)
class Cell:
    """One run that is wanted."""

    task: str
    """As `load_task` takes it: a name with its version, or the path of a folder."""
    variant: str
    data_seed: int
    agent: str
    label: str
    settings: Mapping[str, Any]
    """As the user gave them; the record has all of them."""
    model: ModelEntry | None
    limits: Mapping[str, Any]
    """Only those that were given."""
    seed: int
    network: bool = False
    chat: ChatBy = ""
    python: str | None = None
    show_actions: tuple[str, ...] = ()
    hide_actions: tuple[str, ...] = ()

    @property
    def task_name(self) -> str:
        return self.task.rstrip("/").rpartition("/")[2]

    @property
    def who(self) -> str:
        """The agent by its label, and its model."""
        return f"{self.name} · {self.model.model}" if self.model else self.name

    @property
    def name(self) -> str:
        return called(self.agent, self.label, self.settings)

    @property
    def data(self) -> tuple[str, str, int]:
        """Which data it works on."""
        return self.task, self.variant, self.data_seed

    def identity(self) -> str:
        """All that tells this run from others."""
        told = asdict(replace(self, model=None))
        told["model"] = self.model.model_dump(exclude={"price", "runs", "limits"}) if self.model else None
        return json.dumps(told, sort_keys=True)

    def models(self, plan: Plan) -> ModelChoice:
        calls = changed_calls(ModelChoice().calls, plan.calls.model_dump(exclude_none=True))
        if self.model is None:
            return ModelChoice(calls=calls)
        entry = self.model
        return ModelChoice(
            act=entry.model,
            edit=entry.edit,
            fast=entry.fast,
            base_url=entry.base_url,
            prices={entry.model: entry.price} if entry.price else {},
            options=entry.options,
            calls=calls,
        )


def expand(plan: Plan, tasks: Mapping[str, Task]) -> list[Cell]:
    """Every run of the plan. All cells get their first seed before any gets its second, so that what is there after a
    while tells something about each of them.

    `tasks` are the plan's tasks by what it calls them; those that could not be loaded are left out.
    """
    numbered: list[tuple[int, Cell]] = []
    for entry, agent in product(plan.tasks, plan.agents):
        if entry.task not in tasks:
            continue
        variants = _variants(tasks[entry.task], entry.variants or plan.variants)
        for variant, data_seed in product(variants, entry.data_seeds or plan.data_seeds):
            for model in _models_for(plan, agent):
                runs = agent.runs or (model.runs if model else None) or plan.runs
                cell = _cell(plan, entry, tasks[entry.task], variant, data_seed, agent, model)
                if not any(fits(exclusion, cell) for exclusion in plan.exclude):
                    numbered += [(n, replace(cell, seed=plan.seed + n)) for n in range(runs)]
    unique = {cell.identity(): (number, cell) for number, cell in numbered}
    return [cell for _, cell in sorted(unique.values(), key=lambda each: each[0])]


def _variants(task: Task, said: Sequence[str]) -> list[str]:
    """Those that the task has."""
    found = []
    for name in said:
        try:
            found.append(choose_variant(task, name))
        except UsageError:
            continue  # told by whoever looks at the plan before anything starts
    return found


def _models_for(plan: Plan, agent: AgentEntry) -> list[ModelEntry | None]:
    if agent.models is not None:
        known = {model.model: model for model in plan.models}
        said = [known.get(m.model, m) if m == ModelEntry(model=m.model) else m for m in agent.models]
        return [*said] or [None]
    return [*plan.models] if takes_models(agent) and plan.models else [None]


def takes_models(agent: AgentEntry) -> bool:
    """Whether an agent that has none of its own is run with each model of the experiment: one that needs a model, or
    that uses one where there is one, such as a program."""
    return agent.models is None and (needs_model(agent.agent) or agent.agent in WITH_ANY_MODEL)


def name_in_cells(task: Task) -> str:
    """The suite's by their id, others by their folder: a copy of a task may have the same id."""
    return task.id if in_suite(task) else str(task.folder.absolute())


def _cell(
    plan: Plan,
    entry: TaskEntry,
    task: Task,
    variant: str,
    data_seed: int,
    agent: AgentEntry,
    model: ModelEntry | None,
) -> Cell:
    return Cell(
        task=name_in_cells(task),
        variant=variant,
        data_seed=data_seed,
        agent=agent.agent,
        label=agent.label,
        settings=agent.chosen,
        model=model,
        limits=plan.limits.given()
        | entry.limits.given()
        | (model.limits.given() if model else {})
        | agent.limits.given(),
        seed=plan.seed,
        network=plan.network if entry.network is None else entry.network,
        chat=plan.chat,
        python=plan.python,
        show_actions=plan.show_actions,
        hide_actions=plan.hide_actions,
    )


def fits(exclusion: Exclusion, cell: Cell) -> bool:
    return all(
        said is None or said in is_so
        for said, is_so in (
            (exclusion.task, (cell.task, cell.task_name, cell.task_name.partition("@")[0])),
            (exclusion.variant, (cell.variant,)),
            (exclusion.data_seed, (cell.data_seed,)),
            (exclusion.agent, (cell.name,)),
            (exclusion.model, (cell.model.model if cell.model else "",)),
        )
    )


@dataclass(frozen=True)
class Wanted:
    """A cell with all that is needed to know its run: the loaded task, and the settings as a record keeps them."""

    cell: Cell
    task: Task
    settings: dict[str, Any]
    actions: tuple[str, ...] = ()
    """Shown because the agent needs them."""
    own_chat: bool = False
    """Whether the agent has programs chat with the run's model on every task."""
    uncounted: dict[str, None] = field(default_factory=dict)
    """Limits of the task that do not hold for the agent: steps, of one that takes none."""
    needs_tools: bool = False
    """Whether the agent needs a model with native tool calling."""
    digest: str = ""
    """Of the prepared data; empty where they are not prepared."""
    key: str | None = field(default=None, repr=False)

    def is_in(self, request: RunRequest) -> bool:
        """Whether this is what a recorded run was asked for."""
        cell, models = self.cell, ModelChoice.of(request)
        entry = cell.model or ModelEntry(model="")
        stated = (
            self.task.definition.limits.model_dump(exclude_none=True) | self.uncounted | dict(cell.limits)
        )
        recorded = request.limits.model_dump()
        shown = shown_actions(
            (*cell.show_actions, *self.actions), cell.hide_actions, with_model=bool(cell.model)
        )
        return (
            request.origin is None
            and request.task == self.task.id
            and request.task_folder == ("" if in_suite(self.task) else str(self.task.folder.absolute()))
            and (request.variant, request.data_seed, request.seed)
            == (cell.variant, cell.data_seed, cell.seed)
            and request.data_key == key_mark(self.key)
            and self.digest in ("", request.data_digest)
            and (request.agent, request.label) == (cell.agent, cell.label)
            and _plain(request.settings) == _plain(self.settings)
            and (models.act, models.edit, models.fast) == (entry.model, entry.edit, entry.fast)
            and models.base_url == entry.base_url
            and _plain(models.options) == _plain(entry.options)
            and request.network == cell.network
            and (request.python or None) == cell.python
            and request.actions == shown
            and request.chat == self._chat()
            and all(recorded.get(name) == value for name, value in stated.items())
        )

    def _chat(self) -> ChatBy:
        if self.own_chat and self.cell.model:
            return "model"
        if "chat" not in self.task.definition.services:
            return ""
        return self.cell.chat if self.cell.chat and self.cell.model else "stand-in"


def _plain(value: object) -> object:
    return json.loads(json.dumps(value, default=str))


def differences(before: list[Cell], now: list[Cell]) -> tuple[list[Cell], list[Cell]]:
    """The cells that were dropped, and those that were added."""
    old, new = ({cell.identity(): cell for cell in cells} for cells in (before, now))
    return [old[key] for key in old.keys() - new.keys()], [new[key] for key in new.keys() - old.keys()]


def in_groups(cells: list[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """The cells that differ by nothing but their seed, with words for them."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        data = f", data seed {cell.data_seed}" if cell.data_seed else ""
        groups.setdefault(f"{cell.task_name} ({cell.variant}{data}) · {cell.who}", []).append(cell)
    yield from groups.items()
