"""What one process of an experiment does: one run, or one measurement."""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from mlagentbench.environment import Options
from mlagentbench.environment.models import ModelChoice
from mlagentbench.environment.watch import Silence, Spacing
from mlagentbench.errors import MachineFaultError, MLAgentBenchError
from mlagentbench.evaluation.profile import make_profile
from mlagentbench.launch.orders import CheckOrder, Ending, MeasureOrder, Message, Order, RunOrder
from mlagentbench.launch.run import Run, resume, run
from mlagentbench.model.errors import BadCredentialsError, ModelError
from mlagentbench.record.events import ModelCalled, StepTaken
from mlagentbench.record.folder import RunFolder, is_run
from mlagentbench.record.steps import Action
from mlagentbench.units import format_duration

_LONGEST = 8_000
_SLOW = 30.0
"""Seconds after which a reply that has not come is worth a line among those of many runs."""

Tell = Callable[[Message], None]


class Stop(KeyboardInterrupt):
    """The experiment is to stop, and what was in hand is done. It passes by whatever agents catch."""


class Telling(Silence):
    """Tells the experiment how far a run is, and stops it between two steps when that is asked for."""

    def __init__(self, job: int, tell: Tell) -> None:
        self._job = job
        self._tell = tell
        self._step = 0
        self._cost: float | None = 0.0
        self._spacing = Spacing(_SLOW)
        self.stopping = False

    def stop_soon(self, number: int, frame: FrameType | None) -> None:
        """Takes the signal."""
        self.stopping = True

    def started(self, folder: RunFolder) -> None:
        for event in folder.history().events:
            if isinstance(event, ModelCalled):
                self._add(event)
        self._say("started")

    def action(self, index: int, action: Action) -> None:
        self.stop_if_asked()

    def step(self, step: StepTaken, replayed: bool) -> None:
        self._step = step.index
        if not replayed:
            self._say("step", step.action.name)
            self.stop_if_asked()

    def model(self, call: ModelCalled) -> None:
        self._add(call)
        self._say("call")
        if not call.inside:
            self.stop_if_asked()

    def note(self, text: str) -> None:
        self._say("note", text)

    def waiting(self, what: str, seconds: float) -> None:
        if self._spacing.worth_a_line(what, seconds):
            self._say("note", f"{what} ({format_duration(seconds)})" if seconds >= 1 else what)

    def _add(self, call: ModelCalled) -> None:
        if call.completion is not None:
            self._cost = None if call.cost is None or self._cost is None else self._cost + call.cost

    def _say(self, kind: Any, text: str = "") -> None:
        self._tell(Message(job=self._job, kind=kind, text=text[:_LONGEST], step=self._step, cost=self._cost))

    def stop_if_asked(self) -> None:
        """Between two things that are better not cut short."""
        if self.stopping:
            raise Stop


def work(job: int, order: Order, cores: tuple[int, ...], channel: socket.socket) -> None:
    """Do it, and say how it ended. A defect is left to Python to print: whoever started this process keeps the end of
    what it printed."""

    def tell(message: Message) -> None:
        _send(channel, message)

    watch = Telling(job, tell)
    signal.signal(signal.SIGTERM, watch.stop_soon)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if cores and sys.platform == "linux":
        os.sched_setaffinity(0, cores)
    ending: Ending = "done"
    text = ""
    try:
        match order:
            case RunOrder():
                _run(order, watch)
            case MeasureOrder():
                _measure(order, watch)
            case CheckOrder():
                text = "\n".join(_check(order))
    except KeyboardInterrupt:
        ending = "stopped"
    except BadCredentialsError as error:
        ending, text = "refused", str(error)
    except ModelError as error:
        ending, text = "model", str(error)
    except MachineFaultError as error:
        ending, text = "machine", str(error)
    except MLAgentBenchError as error:
        ending, text = "failed", str(error)
    _send(channel, Message(job=job, kind="ending", ending=ending, text=text[:_LONGEST]))


def _send(channel: socket.socket, message: Message) -> None:
    """If nobody listens for a while, it is waited for: everything that is told arrives, if there is anybody left."""
    try:
        channel.send(message.model_dump_json().encode())
    except (BrokenPipeError, ConnectionResetError):
        return


def _run(order: RunOrder, watch: Telling) -> None:
    if is_run(order.folder) and not order.give_up:
        _look_at(resume(order.folder, key=order.key, devices=order.gpus, watch=watch))
        return
    if order.give_up:
        from mlagentbench.launch.deaths import give_up

        if told := give_up(_folder_of(order, watch), order.give_up, key=order.key):
            watch.note(told)
        return
    cell = order.cell
    models = cell.models(order.plan).opened(
        trial=False
    )  # the experiment has tried them, once for all of its runs
    _look_at(run(cell.task, cell.agent, models, settings=cell.settings, **_options(order, watch)))


def _look_at(done: Run) -> None:
    """Make the run's profile while its process has time: a report of many runs would take long to make them all."""
    with suppress(MLAgentBenchError):
        make_profile(RunFolder.open(done.folder))


def _options(order: RunOrder, watch: Telling) -> Options:
    cell, plan = order.cell, order.plan
    limits = dict(cell.limits)
    if order.memory is not None:
        limits.setdefault("memory", order.memory)
    return Options(
        id=order.folder.name,
        variant=cell.variant,
        seed=cell.seed,
        data_seed=cell.data_seed,
        key=order.key,
        limits=limits,
        sandbox=plan.sandbox,
        network=cell.network,
        chat=cell.chat,
        python=cell.python,
        runs=order.runs,
        experiment=order.experiment,
        show_actions=cell.show_actions,
        hide_actions=cell.hide_actions,
        devices=order.gpus,
        label=cell.label,
        watch=watch,
    )


def _folder_of(order: RunOrder, watch: Telling) -> RunFolder:
    """The run's folder; one that never came so far gets it now, so that there is a record of it."""
    if is_run(order.folder):
        return RunFolder.open(order.folder)
    from mlagentbench.agent.spec import build_agent
    from mlagentbench.environment.making import new_setup

    cell = order.cell
    _, kept = build_agent(cell.agent, cell.settings)
    setup = new_setup(cell.task, cell.agent, kept, cell.models(order.plan), _options(order, watch))
    folder = RunFolder.create(setup.runs, setup.experiment, setup.request(None))
    watch.started(folder)
    return folder


def _measure(order: MeasureOrder, watch: Telling) -> None:
    from mlagentbench.launch.references import measure
    from mlagentbench.task.preparation import prepare
    from mlagentbench.task.registry import load_task

    task = load_task(order.task)
    prepared = prepare(
        task,
        order.variant,
        seed=order.data_seed,
        key=order.key,
        python=order.plan.python,
        progress=watch.note,
    )

    def progress(text: str) -> None:
        watch.note(text)
        watch.stop_if_asked()

    measure(prepared, order.what, order.plan.sandbox, progress, network=order.network)


def _check(order: CheckOrder) -> list[str]:
    """What stands in the way of these models, a sentence each."""
    found = []
    for entry in order.models:
        for name in dict.fromkeys((entry.model, entry.edit, entry.fast)):
            if not name or name.startswith("huggingface/"):  # would be loaded
                continue
            choice = ModelChoice(act=name, base_url=entry.base_url, options=entry.options)
            try:
                speaks_tools = choice.open(Silence())[0]["act"].speaks_tools
                found += [
                    f"The agent {agent} needs native tool calling, which {name} has not. "
                    "Set its protocol to text or auto."
                    for model, agent in order.with_tools
                    if model == name and not speaks_tools
                ]
                choice.opened()  # tried, too
            except MLAgentBenchError as error:
                found.append(f"{name}: {error}")
    return found
