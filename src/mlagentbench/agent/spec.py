"""What an agent is: a policy that looks at the history and takes actions until done."""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from mlagentbench.environment import Environment
from mlagentbench.errors import MLAgentBenchError, UsageError
from mlagentbench.validation import problem_of


class Settings(BaseModel):
    """Base of an agent's settings: each field is followed by a sentence, and an unknown one is refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True)
class Needs:
    """What an agent needs of its run besides what every run has. One that needs something has it as `needs`."""

    actions: tuple[str, ...] = ()
    """Shown, whatever else is."""
    chat: bool = False
    """Programs may chat with the run's model on every task, with tools too."""
    folders: tuple[Path, ...] = ()
    """Of this machine, for programs to read."""
    variables: tuple[str, ...] = ()
    """Of the caller's environment, for the program that is the agent. Their values are never written down."""
    tools: bool = False
    """Only models with native tool calling will do."""
    counts_steps: bool = True
    """Whether its steps are decisions, which the usual limit of steps is meant for; else only one that the user gives
    holds."""

    least_steps: int = 1
    """Below so many it would not do what it is for."""


class Agent(Protocol):
    """`run` takes actions through `env.step` until `env.done`, or until it has nothing more to do.

    It must be deterministic given what `env` and the model answer: a resumed run starts it again from the beginning,
    and answers it from the record.
    """

    def run(self, env: Environment) -> None: ...


AGENTS: dict[str, str] = {
    "starter": "mlagentbench.agent.starter:StarterAgent",
    "plain": "mlagentbench.agent.references:PlainAgent",
    "oracle": "mlagentbench.agent.references:OracleAgent",
    "human": "mlagentbench.agent.human:HumanAgent",
    "scripted": "mlagentbench.agent.scripted:ScriptedAgent",
    "command": "mlagentbench.agent.command:CommandAgent",
    "recipe": "mlagentbench.agent.recipe.agent:RecipeAgent",
    "research": "mlagentbench.agent.research:ResearchAgent",
    "react": "mlagentbench.agent.react:ReactAgent",
    "act": "mlagentbench.agent.act:ActAgent",
    "tree": "mlagentbench.agent.tree.agent:TreeAgent",
    "autogpt": "mlagentbench.agent.autogpt:AutoGptAgent",
    "langchain": "mlagentbench.agent.langchain:LangChainAgent",
}
"""A name to an import path, loaded when asked for. `module:Class` of the user's own works wherever a name does."""

WITHOUT_MODEL = {"starter", "plain", "oracle", "human", "scripted", "recipe", "command"}
"""Agents that can do without a model. One of the user's own says it with `needs_model = False` in its class, or as an
attribute of its function."""

WITH_ANY_MODEL = {"human", "scripted", "command"}
"""Those of them that use one where there is one: by actions that think, or by a program that asks it."""

_WITH_EXTRA = {"langchain"}
"""Agents that need the extra of their name."""


def needs_model(name: str) -> bool:
    """Whether the agent has nothing to decide with unless it is given a model."""
    if ":" not in name:
        return name not in WITHOUT_MODEL
    try:
        return bool(getattr(_find(name), "needs_model", True))
    except UsageError:
        return True


def needs_of(agent: Agent) -> Needs:
    needs = getattr(agent, "needs", None)
    return needs if isinstance(needs, Needs) else Needs()


def few_steps(name: str, needs: Needs, steps: int | None) -> str:
    """Why the agent is of no use with a limit of so many steps; empty where it is."""
    if steps is None or steps >= needs.least_steps:
        return ""
    return (
        f"The agent {name} needs at least {needs.least_steps} steps, and the run's limit is {steps}. Allow more with "
        "--max-steps, or use an agent that goes step by step, such as research."
    )


def build_agent(name: str, settings: Mapping[str, Any]) -> tuple[Agent, dict[str, Any]]:
    """The agent `name` with these settings, and the settings as the record keeps them.

    A class that takes settings has a pydantic model of them as its attribute `Settings`. A function is an agent too: it
    is what a class has as its `run`.
    """
    kind = _find(name)
    model: Any = getattr(kind, "Settings", None)
    if model is None:
        if settings:
            raise UsageError(f"The agent {name!r} takes no settings, but was given {', '.join(settings)}.")
        return _made(name, kind), {}
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        raise UsageError(
            f"`Settings` of the agent {name!r} must be a class that is derived from pydantic.BaseModel."
        )
    chosen = _settings(name, model, settings)
    return _made(name, kind, chosen), chosen.model_dump(mode="json")


def _find(name: str) -> Any:
    """The class or function of the agent `name`."""
    where = AGENTS.get(name, name)
    if ":" not in where:
        near = get_close_matches(name, AGENTS, 1)
        hint = f"Did you mean {near[0]!r}?" if near else f"The agents are {', '.join(AGENTS)}."
        raise UsageError(f"There is no agent {name!r}. {hint} `package.module:Class` names one of your own.")
    module, _, attribute = where.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        extra = f" Install it: pip install 'mlagentbench[{name}]'." if name in _WITH_EXTRA else ""
        raise UsageError(f"The agent {name!r} could not be loaded: {error}.{extra}") from None
    except (Exception, SystemExit) as error:
        if name in AGENTS:
            raise
        raise UsageError(f"The agent {name!r} could not be loaded: {_fault(error)}. Mend its file.") from None
    if not callable(kind):
        raise UsageError(
            f"The agent {name!r} is of the type {type(kind).__name__}: name a class with the method run(self, env), or "
            "a function of one argument."
        )
    return kind


def _made(name: str, kind: Any, *chosen: BaseModel) -> Agent:
    if inspect.isfunction(kind):
        return _Function(kind)
    try:
        agent: Agent = kind(*chosen)
    except MLAgentBenchError:
        raise
    except Exception as error:
        if name in AGENTS:
            raise
        given = "its settings" if chosen else "nothing, since it has no `Settings`"
        raise UsageError(
            f"The agent {name!r} could not be made; it was given {given}: {_fault(error)}. Mend its file."
        ) from None
    if not callable(getattr(agent, "run", None)):
        raise UsageError(f"The agent {name!r} has no method run(self, env).")
    return agent


def _fault(error: BaseException) -> str:
    """What somebody's code raised, and where."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} ({error.filename}, line {error.lineno})"
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({last.filename}, line {last.lineno})"


def _settings(name: str, model: type[BaseModel], given: Mapping[str, Any]) -> BaseModel:
    # A model that says nothing of unknown names would pass them over; a record names settings by their fields.
    extra = model.model_config.get("extra", "forbid")
    try:
        return model.model_validate(dict(given), extra=extra, by_alias=True, by_name=True)
    except ValidationError as error:
        field, wrong = problem_of(error, model, "setting")
        which = (
            f"The setting {field!r} of the agent {name!r} is"
            if field
            else f"The agent {name!r}'s settings are"
        )
        wrong, _, _ = wrong.partition(" Known are: ")
        known = ", ".join(model.model_fields) or "none"
        raise UsageError(f"{which} not right: {wrong} Its settings are: {known}.") from None


class _Function:
    def __init__(self, run: Callable[[Environment], None]) -> None:
        self._run = run

    def run(self, env: Environment) -> None:
        self._run(env)
