"""Working on a person's own problem: on a copy of their folder, with their consent, and without a grade."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from mlagentbench.agent.spec import build_agent
from mlagentbench.environment import Environment, Silence, Watch
from mlagentbench.environment.actions.registry import shown_actions
from mlagentbench.environment.consent import Person
from mlagentbench.environment.limits import run_limits
from mlagentbench.environment.models import ModelChoice
from mlagentbench.environment.own import own_prepared, own_problem, python_for
from mlagentbench.environment.secrets import refuse_secrets
from mlagentbench.environment.setup import Setup
from mlagentbench.errors import UsageError
from mlagentbench.folders import state_folder
from mlagentbench.launch.run import Run, drive
from mlagentbench.record.request import OwnProblem
from mlagentbench.sandbox import choose
from mlagentbench.workspace.surveying import Survey

EXPERIMENT = "assist"
SHOWN = ("Read File", "Write File", "Run Command", "Request Help")
"""Shown to the agent besides the published actions."""
_OF_TASKS = {"starter", "plain", "oracle", "tree", "recipe", "command"}
"""Agents that need what only a task has, or that take no step which a person could be asked about."""
_SPEAKING = {"research", "react", "act", "autogpt", "langchain"}
"""Agents that have nothing to decide with unless they are given a model."""


def assist(
    folder: str | Path,
    wish: str,
    agent: str = "research",
    model: str | ModelChoice = "",
    *,
    person: Person | None = None,
    settings: Mapping[str, Any] | None = None,
    leave_out: Iterable[str] = (),
    copy_limit: int | None = None,
    python: str | None = None,
    runs: str | Path | None = None,
    limits: Mapping[str, Any] | None = None,
    sandbox: str = "auto",
    network: bool = False,
    devices: Iterable[str] = (),
    seed: int = 0,
    watch: Watch | None = None,
    told: Callable[[OwnProblem, Survey, str], None] = lambda own, found, python: None,
) -> Run:
    """Let `agent` do what `wish` says, on a copy of `folder`. `apply` then brings what it changed into the folder,
    which nothing else touches.

    `person` is asked before anything is changed, run or ended; without one, everything is allowed in the copy. `told`
    hears what of the folder is copied, shown and left out, and which Python is used, before anything happens.

    >>> import mlagentbench
    >>> done = mlagentbench.assist("my-project", "Make train.py faster.", model="openai/gpt-4.1")  # doctest: +SKIP
    >>> mlagentbench.apply(done.folder)                                                          # doctest: +SKIP
    """
    if agent in _OF_TASKS:
        raise UsageError(
            f"The agent {agent!r} works on tasks only; take research, react, act, langchain, autogpt, or your own."
        )
    models = ModelChoice(act=model) if isinstance(model, str) else model
    if not models.act and agent in _SPEAKING:
        raise UsageError(f"The agent {agent!r} needs a language model; name one with -m provider/name.")
    built, kept = build_agent(agent, settings or {})
    own, found = own_problem(
        folder, wish, leave_out=leave_out, copy_limit=copy_limit, asks=person is not None
    )
    place = runs_folder(runs)
    _keep_apart(place, Path(own.folder))
    chosen = python_for(Path(own.folder), python)
    prepared = own_prepared(own, chosen)
    refuse_secrets(kept, models.options, models.base_url)
    models = models.opened(watch)  # before there is a folder
    told(own, found, str(prepared.interpreter.python))
    setup = Setup(
        prepared=prepared,
        sandbox=choose(sandbox),
        # Waiting for a person is time of the run too, so there is no limit unless somebody asks for one.
        limits=run_limits(prepared.task.definition.limits, {"time": None, **(limits or {})}),
        actions=shown_actions(SHOWN, with_model=bool(models.act)),
        runs=place,
        experiment=EXPERIMENT,
        agent=agent,
        settings=kept,
        models=models,
        seed=seed,
        key=None,
        python=chosen,
        network=network,
        devices=tuple(devices),
        watch=watch or Silence(),
        person=person,
        own=own,
    )
    return drive(Environment(setup), built)


def runs_folder(runs: str | Path | None = None) -> Path:
    """Where runs on people's own problems lie: in no folder that is worked on, unless told otherwise."""
    return (state_folder() / "runs" if runs is None else Path(runs)).absolute()


def _keep_apart(runs: Path, folder: Path) -> None:
    if runs.resolve().is_relative_to(folder):
        raise UsageError(
            f"The runs would lie in {runs}, inside of the folder that is worked on, which nothing may be written to. "
            "Name another place with -o."
        )
