"""One run, from its start to its verdict; going on with one; trying something else from one of its steps."""

from __future__ import annotations

import shutil
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from mlagentbench.agent.spec import (
    AGENTS,
    WITH_ANY_MODEL,
    Agent,
    Needs,
    build_agent,
    few_steps,
    needs_model,
    needs_of,
)
from mlagentbench.environment import Environment, Options, Watch
from mlagentbench.environment.actions.registry import all_actions, shown_actions
from mlagentbench.environment.consent import EndedByPersonError, Person
from mlagentbench.environment.limits import changed_limits
from mlagentbench.environment.making import new_setup, recorded_setup, refuse_unpromised
from mlagentbench.environment.models import ModelChoice
from mlagentbench.environment.secrets import refuse_secrets, values_of
from mlagentbench.environment.trust import demand_own
from mlagentbench.environment.watch import Silence
from mlagentbench.errors import MLAgentBenchError, RunOverError, StillActingError, UsageError
from mlagentbench.grading import Grade
from mlagentbench.record.events import Event, ModelCalled, Note, RunEnded, RunStarted, StepTaken
from mlagentbench.record.folder import RunFolder, new_run_id
from mlagentbench.record.request import ChatBy, Origin, RunRequest
from mlagentbench.record.summary import Summary, read_summary
from mlagentbench.sandbox import choose
from mlagentbench.task.registry import load_task


@dataclass(frozen=True)
class Run:
    """A run that was made: where it lies and what came of it."""

    folder: Path
    summary: Summary

    @property
    def grade(self) -> Grade | None:
        return self.summary.grade


def run(
    task: str | Path,
    agent: str = "starter",
    model: str | ModelChoice = "",
    *,
    settings: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> Run:
    """Let `agent` work on `task`, record it, and grade what it leaves.

    >>> import mlagentbench
    >>> mlagentbench.run("house-price", "starter").grade.valid                              # doctest: +SKIP
    True
    """
    built, kept = build_agent(agent, settings or {})
    models = ModelChoice(act=model) if isinstance(model, str) else model
    if not models.act and agent in AGENTS and needs_model(agent):
        raise UsageError(
            f"The agent {agent!r} needs a language model, and the run has none. Name one with -m provider/name."
        )
    models = models.opened(options.get("watch"))  # before there is a folder
    setup = new_setup(task, agent, kept, models, _with_needs(built, options))
    if problem := few_steps(agent, needs_of(built), setup.limits.steps):
        raise UsageError(problem)
    return drive(Environment(setup), built)


def _with_needs(agent: Agent, options: Options) -> Options:
    needs = needs_of(agent)
    shown, folders = options.get("show_actions", ()), options.get("folders", ())
    any_steps = {} if needs.counts_steps else {"steps": None}
    return {
        **options,
        "show_actions": (*shown, *needs.actions),
        "own_chat": needs.chat or options.get("own_chat", False),
        "folders": (*folders, *needs.folders),
        "variables": needs.variables,
        "limits": {**any_steps, **(options.get("limits") or {})},
    }


def resume(
    run: str | Path,
    *,
    key: str | None = None,
    sandbox: str | None = None,
    limits: Mapping[str, Any] | None = None,
    calls: Mapping[str, Any] | None = None,
    devices: Iterable[str] = (),
    watch: Watch | None = None,
    ask: Callable[[str], str] | None = None,
    person: Person | None = None,
    trust: bool = False,
) -> Run:
    """Go on with a run that was stopped or killed. One that has ended is only graded, if it was not.

    One that was not made here is refused, unless `trust` says that it may decide about this machine.

    `limits` and `calls` hold those of its limits and of its `CallOptions` that shall be others from now on; `devices`
    are the GPUs that it gets, which a record does not keep.
    """
    folder = RunFolder.open(run)
    request = folder.request()
    _refuse_imported(request)
    demand_own(folder, "Resuming", trust)
    _refuse_half_made(folder, request)
    if any(isinstance(event, RunEnded) for event in folder.history().events):
        (watch or Silence()).note("This run has ended: there is nothing to resume. This is what came of it.")
    built, _ = build_agent(request.agent, request.settings)
    needs = needs_of(built)
    setup = recorded_setup(
        folder,
        key=key,
        sandbox=sandbox,
        limits=limits,
        calls=calls,
        devices=devices,
        watch=watch,
        ask=ask,
        person=person,
        own_chat=needs.chat,
        folders=needs.folders,
        variables=needs.variables,
    )
    return drive(Environment(setup), built)


def fork(
    run: str | Path,
    step: int,
    *,
    agent: str | None = None,
    model: str | ModelChoice | None = None,
    settings: Mapping[str, Any] | None = None,
    seed: int | None = None,
    key: str | None = None,
    limits: Mapping[str, Any] | None = None,
    watch: Watch | None = None,
    ask: Callable[[str], str] | None = None,
    trust: bool = False,
) -> Run:
    """A new run that begins as `run` did, up to and including `step`, and goes on from there.

    The same agent is replayed through those steps, as far as it took them; another one starts after them. `model` is
    the one that decides from there on, or all that is to be said of models. A run that was not made here is refused,
    unless `trust` says that it may decide about this machine.
    """
    source = RunFolder.open(run)
    request = source.request()
    _refuse_imported(request)
    demand_own(source, "Forking", trust)
    if request.own is not None:
        raise UsageError(
            "A run on a person's own problem cannot be forked. `mlagentbench assist --resume` goes on with it."
        )
    events = source.history().events
    steps = [event for event in events if isinstance(event, StepTaken)]
    if not 0 <= step <= len(steps):
        raise UsageError(f"{run} has steps 1 to {len(steps)}; it cannot be forked at step {step}.")
    same_agent = agent in (None, request.agent)
    if settings is None:
        settings = request.settings if same_agent else {}
    built, kept = build_agent(agent or request.agent, settings)
    if model is None:
        models = models_kept(request, agent)
    else:
        models = ModelChoice.of(request).with_act(model) if isinstance(model, str) else model
    refuse_secrets(kept, models.options, models.base_url)
    models.try_servers(watch or Silence())
    needs = needs_of(built)
    values_of(needs.variables)  # before there is a folder
    others = request.origin.begins_after if request.origin else 0
    begins_after = min(step, others) if same_agent else step
    if not needs.counts_steps and not same_agent:
        limits = {"steps": None, **(limits or {})}
    copy = models.entered_in(request).model_copy(
        update={
            "id": new_run_id(),
            "agent": agent or request.agent,
            "label": request.label if same_agent and kept == request.settings else "",
            "settings": kept,
            "seed": request.seed if seed is None else seed,
            "limits": changed_limits(request.limits, limits),
            "actions": _actions_with(models, request, needs),
            "chat": _chat_with(models, request, needs),
            "origin": Origin(run=request.id, step=step, begins_after=begins_after),
        }
    )
    task = load_task(request.task_folder or request.task)
    refuse_unpromised(choose(request.sandbox), task, programs_chat=needs.chat and bool(models.act))
    folder = RunFolder.create(source.store().folder.parent, source.path.parents[2].name, copy)
    for taken in steps[:step]:
        if taken.observation.output:
            folder.outputs.mkdir(exist_ok=True)
            with (
                source.open_output(taken.observation.output) as output,
                (folder.outputs / taken.observation.output).open("wb") as copied,
            ):
                shutil.copyfileobj(output, copied)
    log = folder.log()
    for event in _up_to(events, step):
        log.append(event)
    log.append(Note(text=f"Forked from {request.id} after step {step}."))
    log.close()
    setup = recorded_setup(
        folder,
        key=key,
        limits=limits,
        watch=watch,
        ask=ask,
        own_chat=needs.chat,
        folders=needs.folders,
        variables=needs.variables,
    )
    return drive(Environment(setup), built)


def _refuse_imported(request: RunRequest) -> None:
    if request.imported is not None:
        raise UsageError(
            "This run was imported: its agent was another program, so nothing here can go on with it. "
            "`mlagentbench show`, `grade` and `checkout` work on it."
        )


def _refuse_half_made(folder: RunFolder, request: RunRequest) -> None:
    """A fork that was killed while its beginning was written: its agent would begin too early."""
    origin = request.origin
    if origin is None or not origin.begins_after:
        return
    if sum(isinstance(event, StepTaken) for event in folder.history().events) < origin.begins_after:
        raise UsageError(
            f"This fork was killed before it had the steps that it begins with. Make it again: "
            f"`mlagentbench fork {origin.run} --step {origin.step} -a {request.agent}`."
        )


def models_kept(request: RunRequest, agent: str | None) -> ModelChoice:
    """What a fork with `agent` has where nothing is said of models: those of the run, or none if it is another agent
    that has no use for them."""
    if agent is None or agent == request.agent or agent in WITH_ANY_MODEL or needs_model(agent):
        return ModelChoice.of(request)
    return ModelChoice()


def _actions_with(models: ModelChoice, request: RunRequest, needs: Needs) -> tuple[str, ...]:
    """The actions that a fork shows: those of the run and of its agent's need. Those that need a model go and come with
    it."""
    actions = request.actions
    if bool(models.act) != bool(request.model):
        thinking = set(shown_actions(with_model=True)) - set(shown_actions())
        kept = {name for name in actions if name not in thinking} | (thinking if models.act else set())
        actions = tuple(name for name in all_actions() if name in kept)
    return (*actions, *(name for name in needs.actions if name not in actions))


def _chat_with(models: ModelChoice, request: RunRequest, needs: Needs) -> ChatBy:
    """What answers programs in a fork: as in the run, if that is still there."""
    if models.act:
        return "model" if needs.chat else request.chat
    if request.chat != "model":
        return request.chat
    offered = load_task(request.task_folder or request.task).definition.services
    return "stand-in" if "chat" in offered else ""


def _up_to(events: Sequence[Event], step: int) -> list[Event]:
    """The start of a run, and its steps and model calls up to a step."""
    kept: list[Event] = []
    end = 0
    for event in events:
        if isinstance(event, RunStarted | StepTaken | ModelCalled):
            kept.append(event)
        if isinstance(event, RunStarted) or (isinstance(event, StepTaken) and event.index <= step):
            end = len(kept)
    return kept[:end]


def drive(env: Environment, agent: Agent) -> Run:
    """Let the agent act until it or the environment is done, and end the run as what it was.

    What stops the harness leaves the run resumable. What goes wrong in the agent ends it, and is recorded and graded.
    """
    folder: RunFolder | None = None
    try:
        with env:
            env.reset()
            folder = env.folder
            if not env.ended:
                _let_act(env, agent)
    except EndedByPersonError:
        if folder is None:
            raise KeyboardInterrupt from None
        with env.taken_up_again(folder) as rest:
            rest.reset()
            rest.finish("stopped", "The person ended it.")
    return Run(folder.path, read_summary(folder))


def _let_act(env: Environment, agent: Agent) -> None:
    try:
        agent.run(env)
    except (Exception, StillActingError) as error:
        if _met_the_end(error):
            env.finish("submitted" if env.terminated else "limit")
            return
        # Agents are other people's code: what they raise ends their run. What the harness raises is a defect.
        if isinstance(error, MLAgentBenchError) or _came_from_the_harness(error):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        env.finish("error", f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})")


def _met_the_end(error: BaseException | None) -> bool:
    """Whether the agent asked for more than its run had, whatever it made of the refusal."""
    while error is not None and not isinstance(error, RunOverError | StillActingError):
        error = error.__cause__ or error.__context__
    return error is not None


def _came_from_the_harness(error: BaseException) -> bool:
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    return any(frame.f_code is Environment.step.__code__ for frame in frames)
