"""Plays a file of actions. The workhorse of tests, and of anybody who wants the same steps again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, ValidationError

from mlagentbench.agent import spec
from mlagentbench.environment import Environment
from mlagentbench.errors import UsageError
from mlagentbench.record import Action


class ScriptedAgent:
    """One action a line, as JSON: `{"name": "Read File", "args": {"file_name": "train.py"}}`. Empty lines and lines
    that start with `#` are passed over."""

    class Settings(spec.Settings):
        file: Annotated[Path, AfterValidator(Path.absolute)] = Field(description="the file of actions")

    def __init__(self, settings: Settings) -> None:
        assert isinstance(settings, ScriptedAgent.Settings)
        self._actions = read_actions(settings.file)

    def run(self, env: Environment) -> None:
        for action in self._actions:
            if env.done:
                return
            env.step(action)


def read_actions(file: Path) -> list[Action]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"The file of actions {file} cannot be read: {error}.") from None
    actions = []
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                content = json.loads(line)
                actions.append(Action(content["name"], content.get("args")))
            except (json.JSONDecodeError, ValidationError, TypeError, KeyError, AttributeError):
                raise UsageError(
                    f'{file}, line {number}, is not an action; write {{"name": "…", "args": {{…}}}} on one line.'
                ) from None
    return actions
