"""A person types actions at a prompt: full names or short ones, arguments as in a shell, the missing ones asked for."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TextIO, get_origin

from pydantic.fields import FieldInfo

from mlagentbench.environment import Environment, plain_text
from mlagentbench.environment.actions.registry import ActionType, all_actions
from mlagentbench.record import Action
from mlagentbench.record.events import RunStarted
from mlagentbench.workspace import entries

ALIASES = {
    "ls": "List Files",
    "read": "Read File",
    "write": "Write File",
    "append": "Append File",
    "copy": "Copy File",
    "lines": "Inspect Script Lines",
    "undo": "Undo Edit Script",
    "run": "Execute Script",
    "py": "Python REPL",
    "sh": "Run Command",
    "ask": "Request Help",
    "submit": "Final Answer",
    "explain": "Understand File",
    "edit": "Edit Script (AI)",
    "editlines": "Edit Script Segment (AI)",
    "reflect": "Reflection",
    "log": "Append Summary to Research Log",
    "recall": "Retrieval from Research Log",
}
_OTHER = ("help", "quit")
_TAKEN_AS_IT_IS = ("command", "request", "final_answer")
"""Arguments that are code or prose: all of the line that follows, quotes and spaces included."""
_PATHS = ("file_name", "script_name", "source", "destination", "dir_path")

_WELCOME = (
    "You are the agent. `help` lists what you can do, Tab completes, `quit` leaves the run to be resumed."
)


class HumanAgent:
    """Reads from `source` and writes to `target`: the terminal, unless told otherwise."""

    def __init__(self, source: TextIO | None = None, target: TextIO | None = None) -> None:
        self._source = source or sys.stdin
        self._target = target or sys.stdout
        self._on_terminal = source is None and sys.stdin.isatty() and sys.stdout.isatty()

    def run(self, env: Environment) -> None:
        """Take over what is recorded, then ask for actions until the run is over."""
        while not env.done and env.upcoming is not None:
            env.step(env.upcoming)
        if env.done:
            return
        self._say(f"{_problem(env)}\n\n{_WELCOME}")
        if self._on_terminal:
            _set_up_completion(env)
        while not env.done:
            action = self._next_action(env.actions)
            if action is not None:
                self._say(env.step(action).text)

    def _next_action(self, shown: Iterable[str]) -> Action | None:
        """The action that the next line asks for; None where it asked for something else."""
        line = self._read("> ").strip()
        word, _, rest = line.partition(" ")
        if not line:
            return None
        if word.lower() in ("quit", "exit"):
            raise KeyboardInterrupt
        try:
            if word.lower() == "help":
                self._say(describe(rest.strip(), shown))
                return None
            return self._filled(parse(line))
        except TypingError as error:
            self._say(str(error))
            return None

    def _filled(self, typed: Typed) -> Action:
        arguments: dict[str, Any] = dict(typed.arguments)
        for name, field in typed.kind.arguments.model_fields.items():
            if name not in arguments and field.is_required():
                arguments[name] = self._ask_for(typed.kind, name)
        return Action(typed.kind.name, arguments)

    def _ask_for(self, kind: ActionType[Any], name: str) -> Any:
        field = kind.arguments.model_fields[name]
        if not multiline(kind, name):
            return value_of(field, self._read(f"{name} ({field.description}): "))
        self._say(f"{name} ({field.description}); end with a line that is a single dot:")
        lines = []
        while (line := self._read("")) != ".":
            lines.append(line + "\n")
        return "".join(lines)

    def _read(self, prompt: str) -> str:
        """One line. The end of input is the wish to leave."""
        if self._on_terminal:
            try:
                return input(prompt)
            except EOFError:
                raise KeyboardInterrupt from None
        self._target.write(prompt)
        self._target.flush()
        line = self._source.readline()
        if not line:
            raise KeyboardInterrupt
        return line.removesuffix("\n")

    def _say(self, text: str) -> None:
        self._target.write(plain_text(text).rstrip("\n") + "\n")
        self._target.flush()


def _problem(env: Environment) -> str:
    return next(event.problem for event in env.folder.history().events if isinstance(event, RunStarted))


def _files(env: Environment) -> list[str]:
    """Of the last snapshot, so that completing a name never looks into the live folder."""
    started = next(event for event in env.folder.history().events if isinstance(event, RunStarted))
    snapshot = env.history[-1].snapshot if env.history else started.snapshot
    return [entry.path for entry in entries(env.folder.store(), snapshot) if entry.kind == "file"]


def _set_up_completion(env: Environment) -> None:
    import readline

    found: list[str] = []

    def completer(text: str, state: int) -> str | None:
        if state == 0:
            line = readline.get_line_buffer()[: readline.get_endidx()]
            found[:] = complete(line, len(line) - len(text), _files(env))
        return found[state] if state < len(found) else None

    readline.set_completer(completer)
    readline.set_completer_delims(" \t\n")
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")


class TypingError(Exception):
    """A line that is no action; the message says what would be."""


@dataclass(frozen=True)
class Typed:
    """An action, with those of its arguments that were on the line."""

    kind: ActionType[Any]
    arguments: dict[str, Any]


def parse(line: str) -> Typed:
    """`read train.py`, `Read File "my file.py"`, `py print("a b")`, `run train.py --epochs 3`."""
    kind, rest = _action_of(line.strip())
    fields = kind.arguments.model_fields
    first = next(iter(fields), "")
    if not rest:
        return Typed(kind, {})
    if first in _TAKEN_AS_IT_IS:
        return Typed(kind, {first: rest})
    try:
        words = shlex.split(rest)
    except ValueError as error:
        raise TypingError(f"The arguments cannot be read: {error}. Close the quote, or escape it.") from None
    arguments: dict[str, Any] = {}
    for name, field in fields.items():
        if words and get_origin(field.annotation) is tuple:
            arguments[name], words = words, []
        elif words:
            arguments[name] = value_of(field, words.pop(0))
    if words:
        raise TypingError(f"{kind.name} takes no more arguments after {', '.join(fields)}: {' '.join(words)}")
    return Typed(kind, arguments)


def _action_of(line: str) -> tuple[ActionType[Any], str]:
    actions = all_actions()
    for name, kind in sorted(actions.items(), key=lambda item: -len(item[0])):
        if line.lower() == name.lower() or line.lower().startswith(name.lower() + " "):
            return kind, line[len(name) :].strip()
    word, _, rest = line.partition(" ")
    if (alias := ALIASES.get(word.lower())) is not None:
        return actions[alias], rest.strip()
    near = get_close_matches(word.lower(), [*ALIASES, *_OTHER], 1)
    hint = f"Did you mean {near[0]!r}?" if near else "`help` lists what you can do."
    raise TypingError(f"There is no action {word!r}. {hint}")


def value_of(field: FieldInfo, text: str) -> Any:
    """Numbers as numbers; what is none stays text, and the action says what is wrong with it."""
    return int(text) if field.annotation is int and text.strip().lstrip("-").isdecimal() else text


def multiline(kind: ActionType[Any], name: str) -> bool:
    return name == "content" or (kind.name, name) == ("Python REPL", "command")


def describe(wanted: str, shown: Iterable[str]) -> str:
    """Help on one action, or a list of all that can be used."""
    short = {name: alias for alias, name in ALIASES.items()}
    if not wanted:
        lines = [
            f"  {short.get(name, ''):<7} {name:<22} {kind.description.splitlines()[0]}"
            for name, kind in all_actions().items()
            if name in shown or not kind.needs_showing
        ]
        closing = (
            "`help ACTION` tells its arguments. What is missing on the line is asked for. `quit` leaves."
        )
        return "\n".join([*lines, closing])
    kind, _ = _action_of(wanted)
    arguments = json.loads(kind.usage())
    words = [
        f"{kind.name}, short {short[kind.name]}" if kind.name in short else kind.name,
        f"  {kind.description}",
    ]
    return "\n".join([*words, *(f"  {name}: {text.strip('[]')}" for name, text in arguments.items())])


def complete(line: str, start: int, files: Iterable[str]) -> list[str]:
    """What the word that begins at `start` of `line` could become: names of actions, or files after one."""
    phrases = [*ALIASES, *_OTHER, *all_actions()] if line.strip() else [*ALIASES, *_OTHER]
    begun = [phrase for phrase in phrases if phrase.startswith(line)] or [
        phrase for phrase in phrases if phrase.lower().startswith(line.lower())
    ]
    if begun:
        return sorted(phrase[start:] + " " for phrase in begun)
    head = line[:start].strip()
    if head.lower() == "help":
        return sorted(name for name in all_actions() if name.lower().startswith(line[start:].lower()))
    try:
        kind, _ = _action_of(head)
    except TypingError:
        return []
    if not any(name in _PATHS for name in kind.arguments.model_fields):
        return []
    return sorted(
        path for path in files if path.startswith(line[start:]) and path.isprintable() and " " not in path
    )
