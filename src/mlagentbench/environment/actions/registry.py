"""An action is a function with a typed argument model; its prompt text, its JSON schema and its errors come from it."""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from mlagentbench.environment.outcome import Outcome, refused
from mlagentbench.environment.workbench import Workbench
from mlagentbench.errors import PathRefusedError, UsageError
from mlagentbench.record.steps import Action
from mlagentbench.validation import wrong_with


class Arguments(BaseModel):
    """Base of the argument models: what is not named in one is an error that the agent is told."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


A = TypeVar("A", bound=Arguments)

Effect = Literal["reads", "changes", "runs", "ends"]
"""What an action does to the workspace: nothing, edits by the harness, whatever a program does, or it ends the run."""


@dataclass(frozen=True)
class ActionType(Generic[A]):
    name: str
    arguments: type[A]
    perform: Callable[[Workbench, A], Outcome]
    shown: bool
    """Whether it is in the prompt by default; one that is not is accepted all the same, unless it `needs_showing`."""
    needs_showing: bool
    needs_model: bool
    effect: Effect

    @property
    def description(self) -> str:
        return inspect.getdoc(self.perform) or ""

    def usage(self) -> str:
        """`{"file_name": "…"}`: the arguments as an agent writes them, each with what it is."""
        fields = self.arguments.model_fields
        return json.dumps(
            {name: f"[{field.description}]" for name, field in fields.items()}, ensure_ascii=False
        )

    def schema(self) -> dict[str, Any]:
        """For tool calling."""
        schema = self.arguments.model_json_schema()
        schema.pop("title", None)
        schema.pop("description", None)
        return {"name": self.name, "description": self.description, "parameters": schema}


_PUBLISHED_ORDER = (
    "List Files", "Read File", "Write File", "Append File", "Copy File", "Inspect Script Lines", "Undo Edit Script",
    "Execute Script", "Python REPL", "Request Help", "Final Answer", "Understand File", "Edit Script (AI)",
    "Edit Script Segment (AI)", "Reflection", "Append Summary to Research Log", "Retrieval from Research Log",
)  # fmt: skip

_MOST_PROBLEMS = 10
_LONGEST_NAME = 200

_ACTIONS: dict[str, ActionType[Any]] = {}


def action(
    name: str,
    arguments: type[A],
    *,
    shown: bool = False,
    needs_showing: bool = False,
    needs_model: bool = False,
    effect: Effect = "runs",
) -> Callable[[Callable[[Workbench, A], Outcome]], Callable[[Workbench, A], Outcome]]:
    """Register the decorated function as the action `name`; its docstring is what agents read."""

    def register(perform: Callable[[Workbench, A], Outcome]) -> Callable[[Workbench, A], Outcome]:
        _ACTIONS[name] = ActionType(name, arguments, perform, shown, needs_showing, needs_model, effect)
        return perform

    return register


@cache
def all_actions() -> dict[str, ActionType[Any]]:
    """Every action, by name, in the order of the published list, with ours at its end."""
    for module in ("execution", "files", "program", "repl", "talk", "thinking"):
        importlib.import_module(f"mlagentbench.environment.actions.{module}")
    for name in (*_PUBLISHED_ORDER, *sorted(name for name in _ACTIONS if name not in _PUBLISHED_ORDER)):
        _ACTIONS[name] = _ACTIONS.pop(name)
    return _ACTIONS


def shown_actions(
    show: Iterable[str] = (), hide: Iterable[str] = (), *, with_model: bool = False
) -> tuple[str, ...]:
    """The names in the prompt: the published ones, with what the user adds and takes away. Without a model, those that
    need one are left out."""
    actions = all_actions()
    show, hide = list(show), list(hide)
    for name in [*show, *hide]:
        if name not in actions:
            raise UsageError(f"There is no action {name!r}. The actions are: {', '.join(actions)}.")
    return tuple(
        name
        for name, kind in actions.items()
        if (name in show or (kind.shown and (with_model or not kind.needs_model))) and name not in hide
    )


@dataclass(frozen=True)
class Understood(Generic[A]):
    """An action that exists, with arguments that fit."""

    kind: ActionType[A]
    arguments: A

    def perform(self, bench: Workbench) -> Outcome:
        try:
            return self.kind.perform(bench, self.arguments)
        except PathRefusedError as error:
            return refused(str(error))


def perform(bench: Workbench, action: Action, shown: Iterable[str]) -> Outcome:
    """Do what `action` asks for. An agent's mistake is an outcome in words; a defect of ours is an exception."""
    understood = understand(action, shown)
    return understood if isinstance(understood, Outcome) else understood.perform(bench)


NOT_JSON = "not_json"


def unreadable(written: str, reason: str) -> dict[str, Any]:
    """The arguments of an action whose input is not a JSON object. Its observation states the reason."""
    return {NOT_JSON: written, "reason": reason}


def understand(action: Action, shown: Iterable[str]) -> Understood[Any] | Outcome:
    """What `action` asks for, or in words why it cannot be done."""
    actions = all_actions()
    kind = actions.get(action.name)
    if kind is None or (kind.needs_showing and kind.name not in shown):
        usable = ", ".join(name for name in actions if name in shown)
        return refused(f"There is no action named {_shortened(action.name)}. The actions are: {usable}.")
    if NOT_JSON in action.args:
        reason = action.args.get("reason", "The input is not a JSON object.")
        return refused(f"Nothing was done. {reason} The arguments of {kind.name} are: {kind.usage()}")
    try:
        arguments = kind.arguments.model_validate(action.args)
    except ValidationError as error:
        return refused(f"{_problems(error, kind.arguments)} The arguments of {kind.name} are: {kind.usage()}")
    return Understood(kind, arguments)


def _problems(error: ValidationError, arguments: type[BaseModel]) -> str:
    sentences = []
    for problem in error.errors(include_url=False)[:_MOST_PROBLEMS]:
        name = _shortened(".".join(map(str, problem["loc"])))
        match problem["type"]:
            case "missing":
                sentences.append(f"The argument {name} is missing.")
            case "extra_forbidden":
                sentences.append(f"There is no argument {name}.")
            case _:
                sentences.append(f"The argument {name} is not right: {wrong_with(problem, arguments)}")
    if error.error_count() > _MOST_PROBLEMS:
        sentences.append(f"And {error.error_count() - _MOST_PROBLEMS:,} more of the kind.")
    return " ".join(sentences)


def _shortened(name: str) -> str:
    return repr(name) if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]!r}…"
