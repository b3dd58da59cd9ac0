"""Code in an interpreter that stays."""

from __future__ import annotations

from pydantic import Field

from mlagentbench.environment.actions.registry import Arguments, action
from mlagentbench.environment.outcome import Outcome
from mlagentbench.environment.workbench import Workbench


class PythonREPL(Arguments):
    command: str = Field(description="Python code; names stay defined from one call to the next")


@action("Python REPL", PythonREPL)
def python_repl(bench: Workbench, args: PythonREPL) -> Outcome:
    """Run Python code in an interpreter that stays, in the workspace folder. A last expression's value is shown."""
    return bench.repl.call(bench, args.command)
