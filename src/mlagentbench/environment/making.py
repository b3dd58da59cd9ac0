"""Making a run's setup: from what the user says of a new one, or from the record of one that there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack

from mlagentbench.environment.actions.registry import shown_actions
from mlagentbench.environment.consent import Person
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.limits import changed_limits, run_limits
from mlagentbench.environment.models import ModelChoice, changed_calls
from mlagentbench.environment.own import own_prepared
from mlagentbench.environment.secrets import refuse_secrets, values_of
from mlagentbench.environment.setup import Setup, key_mark
from mlagentbench.environment.sharing import mounts_of
from mlagentbench.environment.trust import demand_own
from mlagentbench.environment.watch import Silence, Watch
from mlagentbench.errors import UsageError
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.naming import checked_label
from mlagentbench.record.request import ChatBy, RunRequest
from mlagentbench.sandbox import Sandbox, Service, choose, demand
from mlagentbench.task.definition import Task
from mlagentbench.task.preparation import Prepared, find_prepared, prepare
from mlagentbench.task.registry import load_task


class Options(TypedDict, total=False):
    """What can be said of a run besides its task and agent; each has a default."""

    variant: str | None
    seed: int
    data_seed: int
    """Of the prepared data; another one is a fresh data set of the same difficulty."""
    key: str | None
    """Enters the making of data, so that nobody without it can make them again."""
    limits: Mapping[str, Any]
    sandbox: str
    network: bool
    python: str | None
    """The interpreter for the sandbox, instead of the task's own."""
    runs: str | Path
    experiment: str
    show_actions: Iterable[str]
    hide_actions: Iterable[str]
    services: Iterable[Service]
    chat: ChatBy
    """What answers programs that chat, in tasks that offer it: `stand-in`, or `model`, which is the run's own."""
    own_chat: bool
    """Whether programs may chat with the run's model whatever the task offers: for a program that is the agent."""
    folders: Iterable[Path]
    """What programs may read of this machine besides, each folder or file at its own path."""
    variables: Iterable[str]
    """Of the caller's environment, by name, for a program that is the agent."""
    devices: Iterable[str]
    models: ModelChoice
    """For `env.complete` and for actions that think; `run` takes them as its own argument."""
    id: str
    """Of the run, which its folder is named by; else a new one."""
    label: str
    """What the agent with these settings is called in reports, if not by its own name."""
    watch: Watch
    ask: Callable[[str], str] | None


def make(task: str | Path, **options: Unpack[Options]) -> Environment:
    """An environment for one run of `task`, whose data are made ready first if they need no account.

    >>> import mlagentbench
    >>> with mlagentbench.make("house-price") as env:                                      # doctest: +SKIP
    ...     problem = env.reset(seed=1)
    ...     print(env.step(mlagentbench.Action("List Files", {"dir_path": "."})))
    """
    return Environment(new_setup(task, "own", {}, options.get("models") or ModelChoice(), options))


def new_setup(
    task: str | Path, agent: str, settings: Mapping[str, Any], models: ModelChoice, options: Options
) -> Setup:
    watch = options.get("watch") or Silence()
    variant, seed, key = options.get("variant"), options.get("data_seed", 0), options.get("key")
    python = options.get("python")
    refuse_secrets(settings, models.options, models.base_url)
    variables = tuple(options.get("variables", ()))
    values_of(variables)  # before there is a folder
    loaded = load_task(task)
    sandbox = choose(options.get("sandbox", "auto"))
    refuse_unpromised(sandbox, loaded, programs_chat=options.get("own_chat", False) and bool(models.act))
    prepared = find_prepared(loaded, variant, seed=seed, key=key, python=python) or prepare(
        loaded, variant, seed=seed, key=key, python=python, progress=watch.note, sandbox=sandbox
    )
    setup = Setup(
        prepared=prepared,
        sandbox=sandbox,
        limits=run_limits(loaded.definition.limits, options.get("limits")),
        actions=shown_actions(
            options.get("show_actions", ()), options.get("hide_actions", ()), with_model=bool(models.act)
        ),
        runs=Path(options.get("runs", "runs")).absolute(),
        experiment=options.get("experiment", "default"),
        agent=agent,
        settings=settings,
        models=models,
        seed=options.get("seed", 0),
        key=key,
        python=python,
        network=options.get("network", False),
        services=tuple(options.get("services", ())),
        chat=_chat_by(loaded, models, options, watch),
        own_chat=options.get("own_chat", False),
        mounts=mounts_of(options.get("folders", ())),
        variables=variables,
        devices=tuple(options.get("devices", ())),
        watch=watch,
        ask=options.get("ask"),
        label=checked_label(options.get("label", "")),
        id=options.get("id", ""),
    )
    setup.offer(Path()).check()
    return setup


def refuse_unpromised(sandbox: Sandbox, task: Task, *, programs_chat: bool) -> None:
    """Raise SandboxUnavailableError if the sandbox cannot promise what the task needs, or a program that is the agent
    and chats with the run's model."""
    demand(sandbox, task.definition.promises, task.id)
    if programs_chat:
        demand(sandbox, ("services",), "An agent that is a program and asks a model")


def _chat_by(task: Task, models: ModelChoice, options: Options, watch: Watch) -> ChatBy:
    """What answers programs that chat: as asked for, if the run has a model; nothing where no chat is offered."""
    if options.get("own_chat") and models.act:
        return "model"
    if "chat" not in task.definition.services:
        return ""
    asked = options.get("chat", "")
    if asked == "model" and not models.act:
        watch.note("This run has no model, so programs chat with the stand-in.")
        return "stand-in"
    return asked or "stand-in"


def recorded_setup(
    folder: RunFolder,
    *,
    key: str | None = None,
    sandbox: str | None = None,
    limits: Mapping[str, Any] | None = None,
    calls: Mapping[str, Any] | None = None,
    devices: Iterable[str] = (),
    watch: Watch | None = None,
    ask: Callable[[str], str] | None = None,
    person: Person | None = None,
    replays: bool = True,
    own_chat: bool = False,
    folders: Iterable[Path] = (),
    variables: Iterable[str] = (),
) -> Setup:
    """What a recorded run was started with, and what the user now says instead."""
    demand_own(folder, "Resuming")
    request = folder.request()
    if request.own is not None and request.own.asks and person is None:
        raise UsageError(
            "This run asks a person before it changes or runs something; go on with "
            f"`mlagentbench assist --resume {folder.path}`."
        )
    watch = watch or Silence()
    prepared = prepared_for(request, key, watch.note)
    models = ModelChoice.of(request)
    backend = choose(sandbox or request.sandbox)
    refuse_unpromised(backend, prepared.task, programs_chat=own_chat and bool(models.act))
    return Setup(
        prepared=prepared,
        sandbox=backend,
        limits=changed_limits(request.limits, limits),
        actions=request.actions,
        runs=folder.path.parents[3] if len(folder.path.parents) > 3 else folder.path.parent,
        experiment=folder.path.parents[2].name,
        agent=request.agent,
        settings=request.settings,
        models=replace(models, calls=changed_calls(models.calls, calls)),
        seed=request.seed,
        key=key,
        python=request.python or None,
        network=request.network,
        chat=request.chat,
        own_chat=own_chat,
        mounts=mounts_of(folders),
        variables=tuple(variables),
        devices=tuple(devices),
        watch=watch,
        ask=ask,
        person=person,
        own=request.own,
        origin=request.origin,
        label=request.label,
        folder=folder,
        replays=replays,
    )


def prepared_for(request: RunRequest, key: str | None, progress: Callable[[str], None]) -> Prepared:
    """The data that a recorded run was of; refused if they cannot be had or have become others."""
    if request.own is not None:
        return own_prepared(request.own, request.python)
    if request.data_key != key_mark(key):
        raise UsageError(
            f"This run's data were made {'with a key' if request.data_key else 'without a key'}; "
            f"{'give the same with --key' if request.data_key else 'leave --key out'}."
        )
    task = load_task(request.task_folder or request.task)
    prepared = prepare(
        task,
        request.variant,
        seed=request.data_seed,
        key=key,
        python=request.python or None,
        progress=progress,
    )
    if prepared.digest != request.data_digest and not (request.imported and not request.data_digest):
        raise UsageError(
            f"The data of {request.task} ({request.variant}) are not those of the run any more: the task has "
            f"changed since. Its record can be shown, but the run cannot go on or be graded again."
        )
    return prepared
