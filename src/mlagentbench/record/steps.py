"""The words of a run that are both spoken and kept: actions, observations, and what an execution used."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)


class Action(_Kept):
    """What an agent asks for: the name of an action and its arguments.

    >>> Action("Read File", {"file_name": "train.py"}).name
    'Read File'
    """

    name: str
    args: dict[str, Any] = Field(default_factory=dict)

    def __init__(self, name: str, args: dict[str, Any] | None = None) -> None:
        super().__init__(name=name, args=args or {})


class Execution(_Kept):
    """How a program ended and what it used."""

    exit_status: int | None = None
    signal: int | None = None
    limit: str = ""
    """The limit that stopped it, in a sentence with its value; empty if none did."""
    wall_seconds: float
    cpu_seconds: float
    peak_memory: int

    @property
    def known(self) -> bool:
        """Whether it is known how the program ended; of imported runs it is not."""
        return self.exit_status is not None or self.signal is not None or bool(self.limit)


class Observation(_Kept):
    """What the agent is told. `ok` is false where the action could not be carried out or its program failed."""

    text: str
    ok: bool = True
    output: str = ""
    """Name of the file in the run's `outputs/` that holds the whole output, where the text was cut."""
    execution: Execution | None = None

    def __str__(self) -> str:
        return self.text

    @property
    def output_lines(self) -> list[str]:
        """The lines of the text, without the last one where that is ours and says how a program ended."""
        lines = self.text.splitlines()
        return lines[:-1] if self.execution is not None and self.execution.known else lines


class Primitive(_Kept):
    """A step inside a step: what an action that is made of others did. Failed ones are kept too."""

    action: Action
    observation: Observation
