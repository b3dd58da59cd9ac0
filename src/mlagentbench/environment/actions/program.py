"""A program that is the agent: started once, and let go on from one settled state of its files to the next."""

from __future__ import annotations

from pydantic import Field, field_validator

from mlagentbench.environment.actions.command_line import check_command_line
from mlagentbench.environment.actions.registry import Arguments, action
from mlagentbench.environment.outcome import Outcome, refused
from mlagentbench.environment.program import Rhythm
from mlagentbench.environment.workbench import Workbench

RUN = "Run Program"
CONTINUE = "Let Program Run"


class RunProgram(Arguments):
    command: str = Field(description="a shell command; it runs in the workspace folder, inside the sandbox")
    settle: float = Field(2.0, gt=0, description="seconds without a change after which files have settled")
    longest: float = Field(
        600.0, gt=0, description="seconds after which changed files are kept though they have not settled"
    )

    @field_validator("command")
    @classmethod
    def _fits(cls, value: str) -> str:
        check_command_line([value])
        return value


@action(RUN, RunProgram, needs_showing=True)
def run_program(bench: Workbench, args: RunProgram) -> Outcome:
    """Start a program that does the whole work, and see what it printed until its files settled or it ended."""
    return bench.program.start(bench, args.command, Rhythm(args.settle, args.longest))


class LetProgramRun(Arguments):
    pass


@action(CONTINUE, LetProgramRun, needs_showing=True)
def let_program_run(bench: Workbench, args: LetProgramRun) -> Outcome:
    """Let the program go on, and see what it printed until its files settled again or it ended."""
    if not bench.program.alive:
        return refused(f"No program is running. Start one with {RUN}.")
    return bench.program.go_on(bench)
