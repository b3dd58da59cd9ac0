"""What an agent is: a policy that looks at the history and takes actions until done."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from mlagentbench.environment import Environment
from mlagentbench.errors import UsageError


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
    counts_steps: bool = True
    """Whether its steps are decisions, which the usual limit of steps is meant for; else only one that the user gives
    holds."""


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
"""Agents that can do without a model. One of the user's own says it with `needs_model = False` in its class."""

_WITH_EXTRA = {"langchain"}
"""Agents that need the extra of their name."""


def needs_model(name: str) -> bool:
    """Whether the agent has nothing to decide with unless it is given a model."""
    if ":" not in name:
        return name not in WITHOUT_MODEL
    module, _, attribute = name.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError):
        return True
    return bool(getattr(kind, "needs_model", True))


def needs_of(agent: Agent) -> Needs:
    needs = getattr(agent, "needs", None)
    return needs if isinstance(needs, Needs) else Needs()


def build_agent(name: str, settings: Mapping[str, Any]) -> tuple[Agent, dict[str, Any]]:
    """The agent `name` with these settings, and the settings as the record keeps them.

    A class that takes settings has a pydantic model of them as its attribute `Settings`. A function is an agent too: it
    is what a class has as its `run`.
    """
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
    model: type[BaseModel] | None = getattr(kind, "Settings", None)
    if model is None:
        if settings:
            raise UsageError(f"The agent {name!r} takes no settings, but was given {', '.join(settings)}.")
        agent: Agent = _Function(kind) if inspect.isfunction(kind) else kind()
        return agent, {}
    try:
        chosen = model.model_validate(dict(settings))
    except ValidationError as error:
        problem = error.errors()[0]
        field = ".".join(map(str, problem["loc"])) or "settings"
        known = ", ".join(model.model_fields)
        raise UsageError(
            f"The setting {field!r} of the agent {name!r} is not right: {problem['msg']}. Its settings are: {known}."
        ) from None
    agent = kind(chosen)
    return agent, chosen.model_dump(mode="json")


class _Function:
    def __init__(self, run: Callable[[Environment], None]) -> None:
        self._run = run

    def run(self, env: Environment) -> None:
        self._run(env)
