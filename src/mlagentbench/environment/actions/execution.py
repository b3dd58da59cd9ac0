"""Running what the agent wrote, in the sandbox."""

from __future__ import annotations

import shlex

from pydantic import Field, field_validator

from mlagentbench.environment.actions.command_line import LONGEST_LINE, check_command_line
from mlagentbench.environment.actions.registry import Arguments, action
from mlagentbench.environment.outcome import Outcome
from mlagentbench.environment.workbench import Workbench

LARGEST_SCRIPT = 50_000_000


class ExecuteScript(Arguments):
    script_name: str = Field(description="a Python script in the workspace")
    arguments: tuple[str, ...] = Field((), description="optional command-line arguments, as a list")

    @field_validator("arguments", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        if len(value) > LONGEST_LINE:
            raise ValueError(f"{len(value):,} characters are more than a command line holds")
        return shlex.split(value)

    @field_validator("arguments")
    @classmethod
    def _fits(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        check_command_line(value)
        return value


@action("Execute Script", ExecuteScript, shown=True)
def execute_script(bench: Workbench, args: ExecuteScript) -> Outcome:
    """Run a Python script that exists in the workspace, from the workspace folder, and see what it printed."""
    bench.workspace.open(args.script_name, LARGEST_SCRIPT).close()
    name = bench.workspace.normalise(args.script_name)
    script = f"./{name}" if name.startswith("-") else name
    return bench.execute((str(bench.interpreter.python), script, *args.arguments))


class RunCommand(Arguments):
    command: str = Field(description="a shell command; it runs in the workspace folder, inside the sandbox")

    @field_validator("command")
    @classmethod
    def _fits(cls, value: str) -> str:
        check_command_line([value])
        return value


@action("Run Command", RunCommand, needs_showing=True)
def run_command(bench: Workbench, args: RunCommand) -> Outcome:
    """Run a shell command in the workspace, and see what it printed."""
    return bench.execute(("/bin/sh", "-c", args.command))
