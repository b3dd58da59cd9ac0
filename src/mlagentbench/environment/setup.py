"""Putting a run together: data, sandbox, workspace, record."""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mlagentbench.environment.consent import Person
from mlagentbench.environment.desk import Desk
from mlagentbench.environment.limits import resource_limits
from mlagentbench.environment.models import ModelChoice
from mlagentbench.environment.offering import Chat, Offering
from mlagentbench.environment.own import module_path, own_layout, own_text
from mlagentbench.environment.secrets import values_of
from mlagentbench.environment.watch import Silence, Watch, asked_to_stop
from mlagentbench.environment.workbench import Workbench
from mlagentbench.errors import MachineFaultError
from mlagentbench.grading import Grade
from mlagentbench.model.redaction import Redaction
from mlagentbench.record.folder import RunFolder, new_run_id
from mlagentbench.record.grades import read_grades, remember_grade
from mlagentbench.record.journal import Journal
from mlagentbench.record.request import ChatBy, Host, Origin, OwnProblem, RunLimits, RunRequest
from mlagentbench.record.summary import summarise
from mlagentbench.sandbox import Mount, Sandbox, Service
from mlagentbench.service.offering import Offer
from mlagentbench.task.definition import Limits
from mlagentbench.task.layout import Layout, hidden_folders, layout, program_environment
from mlagentbench.task.preparation import Prepared
from mlagentbench.task.problem import problem_text
from mlagentbench.task.registry import in_suite
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
    variables: tuple[str, ...] = ()
    """Of the caller's environment, for a program that is the agent."""
    devices: tuple[str, ...] = ()
    watch: Watch = field(default_factory=Silence)
    ask: Callable[[str], str] | None = None
    person: Person | None = None
    """Asked before anything is changed, run or ended."""
    own: OwnProblem | None = None
    """What is worked on instead of a task."""
    origin: Origin | None = None
    label: str = ""
    id: str = ""
    """Of a new run; empty: any."""
    folder: RunFolder | None = None
    """The recorded run to go on with."""
    replays: bool = True
    """Whether the agent is taken through the steps that it took again, or starts after all that is recorded."""

    def open(self, seed: int | None) -> OpenRun:
        """The run's folder, locked, with all that works on it."""
        ended = self.folder is not None and self.folder.summary_file.is_file()
        variables = {} if ended else values_of(self.variables)
        folder = self.folder or RunFolder.create(self.runs, self.experiment, self.request(seed))
        request = folder.request()
        store = folder.store()
        store.lock_shared()
        redaction = Redaction(variables.values())
        journal = Journal(folder, redaction)
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
            stopping=partial(asked_to_stop, self.watch),
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
            self.limits,
            elapsed=lambda: spent + time.monotonic() - started,
            tell=self.watch.model,
            waiting=self.watch.waiting,
            seed=request.seed,
        )
        bench.desk = desk
        bench.offering = self.offering(folder, desk, redaction)
        bench.problem = problem
        bench.about = self.about()
        bench.variables, bench.redaction = variables, redaction
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

    def offering(self, folder: RunFolder, desk: Desk, redaction: Redaction) -> Offering | None:
        """What programs are offered; None for the many runs that offer nothing."""
        if not self.offered:
            return None
        chat = Chat(desk, redaction) if self.chat == "model" and desk.has("tool") else None
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
            id=self.id or new_run_id(),
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
        """The verdict on a snapshot; the same bytes are graded once. Where the machine fails, nothing is remembered."""
        if self.grader is None:
            return None
        known = read_grades(self.folder).get(snapshot)
        if known is None:
            try:
                known = self.grader().grade(self.store, snapshot)
            except MachineFaultError as fault:
                raise MachineFaultError(fault.what, self.folder.path) from fault
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
