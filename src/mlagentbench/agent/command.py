"""Any program as the agent: it works in the sandbox as it is, and what it leaves is graded."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, field_validator, model_validator

from mlagentbench.agent import spec
from mlagentbench.environment import Environment
from mlagentbench.environment.actions.program import CONTINUE, RUN
from mlagentbench.environment.secrets import NAME
from mlagentbench.environment.sharing import checked_folder, is_shown
from mlagentbench.errors import UsageError
from mlagentbench.record import Action
from mlagentbench.record.events import Resumed

_STARTED_AGAIN = (
    "The program starts again, in the workspace as the record has it. What it had in memory and in temporary files is "
    "lost, and so is what it did to files after the last step."
)


def _variable(name: str) -> str:
    if not NAME.fullmatch(name):
        raise UsageError(
            f"--env takes the name of a variable, like OPENAI_API_KEY, and not {name.partition('=')[0]!r} with a value "
            "or other characters. Set the variable in the environment or in .env."
        )
    return name


class CommandAgent:
    """Starts the program, lets it go on from one settled state of its files to the next, and is done when it ends."""

    class Settings(spec.Settings):
        command: str = Field(
            min_length=1, description="a line for the shell; it runs in the workspace, in the sandbox"
        )
        mounts: tuple[Annotated[Path, AfterValidator(checked_folder)], ...] = Field(
            (),
            description="folders and files of this machine that the program may read, each at its own path: its "
            "installation, for one",
        )
        env: tuple[Annotated[str, AfterValidator(_variable)], ...] = Field(
            (),
            description="names of variables that the program gets from your environment or `.env`; their values are "
            "kept out of the record",
        )
        settle: float = Field(
            2.0,
            gt=0,
            description="seconds without a change after which files have settled, and a step is kept",
        )
        longest: float = Field(
            600.0, gt=0, description="seconds after which changed files are kept though they have not settled"
        )

        @field_validator("mounts", "env", mode="before")
        @classmethod
        def _one(cls, value: object) -> object:
            return (value,) if isinstance(value, str | Path) else value

        @model_validator(mode="after")
        def _is_visible(self) -> CommandAgent.Settings:
            """A program that is named by its full path must be there, and must be seen from inside."""
            program = _program_of(self.command)
            if program is not None and not is_shown(program, self.mounts):
                if not program.exists():
                    raise UsageError(
                        f"There is no program {program} on this machine. Install it, or correct its path."
                    )
                raise UsageError(
                    f"{program} is not visible in the sandbox. Show the folder of its installation with --mount."
                )
            return self

    def __init__(self, settings: Settings) -> None:
        assert isinstance(settings, CommandAgent.Settings)
        self._settings = settings
        self.needs = spec.Needs(
            (RUN, CONTINUE), chat=True, folders=settings.mounts, variables=settings.env, counts_steps=False
        )

    def run(self, env: Environment) -> None:
        while not env.done and env.upcoming is not None:
            env.step(env.upcoming)
        if env.done:
            return
        if any(isinstance(event, Resumed) for event in env.folder.history().events):
            env.note(_STARTED_AGAIN)
        said = self._settings
        told = env.step(
            Action(RUN, {"command": said.command, "settle": said.settle, "longest": said.longest})
        )
        while not env.done and told.execution is None:
            told = env.step(Action(CONTINUE))
        if not env.done and told.execution is not None:
            why = told.text.rsplit("\n", 1)[-1].strip("[].")
            env.finish("error", f"The program did not end well: {why}.")


def _program_of(command: str) -> Path | None:
    """What a simple command starts, if it is named by its full path and lies outside of the workspace."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    name = next((word for word in words if "=" not in word), "")
    return Path(name) if name.startswith("/") and not name.startswith("/workspace/") else None
