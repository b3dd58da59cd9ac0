"""Putting a run together: data, sandbox, workspace, record. for a new run, or for a recorded one."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from mlagentbench.environment.actions.registry import shown_actions
from mlagentbench.environment.consent import Person
from mlagentbench.environment.desk import Desk
from mlagentbench.environment.environment import Environment
from mlagentbench.environment.limits import changed_limits, resource_limits, run_limits
from mlagentbench.environment.models import ModelChoice, changed_calls
from mlagentbench.environment.offering import Chat, Offering
from mlagentbench.environment.own import module_path, own_layout, own_prepared, own_text
from mlagentbench.environment.sharing import mounts_of
from mlagentbench.environment.watch import Silence, Watch
from mlagentbench.environment.workbench import Workbench
from mlagentbench.errors import UsageError
from mlagentbench.grading import Grade
from mlagentbench.record.folder import RunFolder, new_run_id
from mlagentbench.record.grades import read_grades, remember_grade
from mlagentbench.record.journal import Journal
from mlagentbench.record.request import ChatBy, Host, Origin, OwnProblem, RunLimits, RunRequest
from mlagentbench.record.summary import summarise
from mlagentbench.sandbox import Mount, Sandbox, Service, choose
from mlagentbench.service.offering import Offer
from mlagentbench.task.definition import Limits, Task
from mlagentbench.task.layout import Layout, hidden_folders, layout, program_environment
from mlagentbench.task.preparation import Prepared, find_prepared, prepare
from mlagentbench.task.problem import problem_text
from mlagentbench.task.registry import in_suite, load_task
from mlagentbench.version import __version__
from mlagentbench.workspace import Store, Workspace, remove_tree

if TYPE_CHECKING:
    from mlagentbench.grading.grader import Grader


@dataclass(frozen=True)
class Setup:
    """Everything that a run needs before it starts."""

    prepared: Prepared
    sandbox: Sandbox
    limits: RunLimits
    actions: tuple[str, ...]
    runs: Path
    experiment: str
    agent: str
    settings: Mapping[str, Any]
    models: ModelChoice
    seed: int
    key: str | None
    python: str | None
    network: bool
    services: tuple[Service, ...] = ()
    chat: ChatBy = ""
    own_chat: bool = False
    """Whether programs may chat whatever the task offers, with tools too: for a program that is the agent."""
    mounts: tuple[Mount, ...] = ()
    """What programs may see of the host besides."""
    devices: tuple[str, ...] = ()
    watch: Watch = field(default_factory=Silence)
    ask: Callable[[str], str] | None = None
    person: Person | None = None
    """Asked before anything is changed, run or ended."""
    own: OwnProblem | None = None
    """What is worked on instead of a task."""
    origin: Origin | None = None
    label: str = ""
    folder: RunFolder | None = None
    """The recorded run to go on with."""
    replays: bool = True
    """Whether the agent is taken through the steps that it took again, or starts after all that is recorded."""

    def open(self, seed: int | None) -> OpenRun:
        """The run's folder, locked, with all that works on it."""
        folder = self.folder or RunFolder.create(self.runs, self.experiment, self.request(seed))
        request = folder.request()
        store = folder.store()
        store.lock_shared()
        journal = Journal(folder)
        if folder.scratch.exists():
            remove_tree(folder.scratch)
        plan = layout(self.prepared) if self.own is None else own_layout(self.own)
        seen_as = self.sandbox.workspace_path(folder.workspace)
        workspace = Workspace(
            folder.workspace,
            store,
            plan.read_only,
            link_read_only=self.sandbox.links_read_only(),
            max_file=self.limits.disk,
            seen_as=seen_as,
        )
        bench = Workbench(
            workspace=workspace,
            sandbox=self.sandbox,
            interpreter=self.prepared.interpreter,
            limits=self.limits,
            outputs=folder.outputs,
            scratch=folder.scratch,
            environment=program_environment(request.seed) | module_path(self.own, seen_as),
            hidden=hidden_folders(),
            network=self.network,
            services=self.services,
            mounts=self.mounts,
            devices=self.devices,
            ask=self.ask if self.person is None else self.person.help,
            on_output=self.watch.output,
        )
        shown = Limits(
            steps=self.limits.steps, time=self.limits.time, execution_time=self.limits.execution_time
        )
        problem = (
            problem_text(self.prepared.task, self.prepared.variant, shown)
            if self.own is None
            else own_text(self.own)
        )
        started, spent = time.monotonic(), journal.elapsed()
        models, price = self.models.open(self.watch)
        desk = Desk(
            models,
            journal,
            store,
            price,
            elapsed=lambda: spent + time.monotonic() - started,
            tell=self.watch.model,
            seed=request.seed,
        )
        bench.desk = desk
        bench.offering = self.offering(folder, desk)
        bench.problem = problem
        bench.about = self.about()
        origin = request.origin or Origin(run="", step=0)
        begins_after = origin.begins_after if self.replays else sys.maxsize
        grader = partial(self.grader, folder) if self.own is None else None
        return OpenRun(folder, journal, store, bench, desk, plan, grader, problem, origin.step, begins_after)

    def about(self) -> dict[str, str]:
        """What a program that is the agent is told of the run, as variables of its environment."""
        told = {
            "MLAGENTBENCH_TASK": self.prepared.task.id,
            "MLAGENTBENCH_SUBMISSION": self.prepared.task.definition.submission,
        }
        return told | ({"MLAGENTBENCH_MODEL": self.models.act} if self.chat == "model" else {})

    def offering(self, folder: RunFolder, desk: Desk) -> Offering | None:
        """What programs are offered; None for the many runs that offer nothing."""
        if not self.offered:
            return None
        chat = Chat(desk, self.limits) if self.chat == "model" and desk.has("tool") else None
        return Offering(self.offer(folder.scratch), chat)

    @property
    def offered(self) -> tuple[Literal["papers", "chat"], ...]:
        named = self.prepared.task.definition.services
        return (*named, "chat") if self.own_chat and self.chat and "chat" not in named else named

    def offer(self, scratch: Path) -> Offer:
        return Offer(
            names=self.offered,
            private=self.prepared.private,
            index="services",
            own_network=self.sandbox.own_network and not self.network,
            network=self.network,
            cache=scratch / "papers-cache",
            tools=self.own_chat,
        )

    def grader(self, folder: RunFolder) -> Grader:
        """What grades this run; it is loaded when the first verdict is asked for."""
        from mlagentbench.grading.grader import Grader

        limits = resource_limits(self.limits)
        return Grader(self.prepared, self.sandbox, folder.scratch, limits, self.watch.note, self.network)

    def request(self, seed: int | None) -> RunRequest:
        task = self.prepared.task
        request = RunRequest(
            id=new_run_id(),
            created=time.time(),
            version=__version__,
            task=task.id,
            task_folder="" if in_suite(task) or self.own else str(task.folder.absolute()),
            variant=self.prepared.variant,
            data_seed=self.prepared.seed,
            data_digest=self.prepared.digest,
            data_key=key_mark(self.key),
            python=self.python or "",
            agent=self.agent,
            label=self.label,
            settings=dict(self.settings),
            seed=self.seed if seed is None else seed,
            sandbox=self.sandbox.name,
            network=self.network,
            chat=self.chat,
            actions=self.actions,
            limits=self.limits,
            host=this_host(),
            own=self.own,
            origin=self.origin,
        )
        return self.models.entered_in(request)


@dataclass
class OpenRun:
    """A run that this process has open."""

    folder: RunFolder
    journal: Journal
    store: Store
    bench: Workbench
    desk: Desk
    plan: Layout
    grader: Callable[[], Grader] | None
    """None where there is nothing to grade."""
    problem: str
    inherited: int
    """Steps that a fork has from the run that it was forked from."""
    begins_after: int
    """The step after which the agent begins, be it recorded or not; 0: it is taken through all that is recorded."""

    def lay_out(self) -> None:
        """Fill the workspace for the first time. A run that was killed while doing so starts over."""
        if self.folder.workspace.exists():
            remove_tree(self.folder.workspace)
        self.plan.lay(self.folder.workspace)
        self.bench.workspace.lay_placeholders()

    def grade(self, snapshot: str) -> Grade | None:
        """The verdict on a snapshot; the same bytes are graded once."""
        if self.grader is None:
            return None
        known = read_grades(self.folder).get(snapshot)
        if known is None:
            known = self.grader().grade(self.store, snapshot)
            remember_grade(self.folder, known)
        return known

    def conclude(self) -> None:
        """What is left when a run has ended: its record. The workspace is in its snapshots."""
        summarise(self.folder)
        for folder in (self.folder.workspace, self.folder.scratch):
            if folder.exists():
                remove_tree(folder)

    def close(self) -> None:
        if self.bench.offering is not None:
            self.bench.offering.close()
        self.journal.close()
        self.store.close()


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
    devices: Iterable[str]
    models: ModelChoice
    """For `env.complete` and for actions that think; `run` takes them as its own argument."""
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
    loaded = load_task(task)
    sandbox = choose(options.get("sandbox", "auto"))
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
        devices=tuple(options.get("devices", ())),
        watch=watch,
        ask=options.get("ask"),
        label=options.get("label", ""),
    )
    setup.offer(Path()).check()
    return setup


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
) -> Setup:
    """What a recorded run was started with, and what the user now says instead."""
    request = folder.request()
    if request.own is not None and request.own.asks and person is None:
        raise UsageError(
            "This run asks a person before it changes or runs something; go on with "
            f"`mlagentbench assist --resume {folder.path}`."
        )
    watch = watch or Silence()
    prepared = prepared_for(request, key, watch.note)
    models = ModelChoice.of(request)
    return Setup(
        prepared=prepared,
        sandbox=choose(sandbox or request.sandbox),
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


def key_mark(key: str | None) -> str:
    """Enough to tell keys apart, too little to find one."""
    return hashlib.sha256(key.encode()).hexdigest()[:8] if key else ""


def this_host() -> Host:
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return Host(
        system=f"{platform.system()} {platform.release()}",
        machine=platform.machine(),
        cores=os.cpu_count() or 1,
        memory=pages * size,
        python=platform.python_version(),
    )
