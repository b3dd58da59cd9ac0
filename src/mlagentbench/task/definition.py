"""What a task is: the typed content of `task.toml`, and the folder around it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from mlagentbench.errors import TaskError
from mlagentbench.units import parse_duration, parse_size

Goal = Literal["minimize", "maximize"]
Seconds = Annotated[float, BeforeValidator(parse_duration)]
Bytes = Annotated[int, BeforeValidator(parse_size)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Metric(_Strict):
    """The number that a grade is about."""

    name: str
    goal: Goal | None = None
    """None only for foreign tasks that do not say; then there is a score and no improvement."""
    floor: float = 0.0
    """The value from which a baseline's distance is measured, so that improvement is relative."""
    ceiling: float | None = None
    """The best possible value, where there is one."""
    unit: str = ""


class Limits(_Strict):
    """What a run of this task may use, unless the user says otherwise. None means: the harness's default."""

    steps: int | None = Field(None, ge=1)
    time: Seconds | None = None
    execution_time: Seconds | None = None
    memory: Bytes | None = None
    processes: int | None = Field(None, ge=1)
    disk: Bytes | None = None
    files: int | None = Field(None, ge=1)
    output: Bytes | None = None


class Source(_Strict):
    """Where a variant's raw files come from; `prepare.py` gets the folder that they were put in."""

    kind: Literal["kaggle-competition"]
    name: str
    files: tuple[str, ...]
    page: str
    """The page that a person visits to get an account, accept rules, or download by hand."""


class Variant(_Strict):
    description: str
    source: Source | None = None
    """None: made by `prepare.py` from the seed alone."""


class Timing(_Strict):
    """For tasks whose score is a ratio of CPU times, submission over starter."""

    rounds: int = Field(9, ge=3)
    """Alternations of starter and submission."""


class Program(_Strict):
    """For submissions that are programs or artefacts: `infer.py` runs in the sandbox on `private/inputs`."""

    time: Seconds = 300.0
    """For one run of `infer.py`."""
    timing: Timing | None = None


class Definition(_Strict):
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$")
    version: int = Field(1, ge=1)
    title: str
    category: Literal[
        "canonical",
        "classic-kaggle",
        "kaggle-challenge",
        "recent-research",
        "code-improvement",
        "llm-tools",
        "own",
    ] = "own"
    modality: str
    metric: Metric
    submission: str
    """The file, or for programs the script, that is graded; a path in the workspace."""
    entry: str
    """The script that the starter is run by; a path in the workspace."""
    read_only: tuple[str, ...] = ()
    """Globs over starter files that the agent may not change. All prepared data is read-only anyway."""
    requirements: tuple[str, ...] = ()
    """What the sandbox's interpreter needs, as pip writes it, pinned."""
    program: Program | None = None
    limits: Limits = Limits()
    variants: dict[str, Variant]
    published_baseline: float | None = None
    data_date: str = ""
    """When the data of `full` became public, as YYYY-MM."""


@dataclass(frozen=True)
class Task:
    """A definition and the folder that holds the rest of the task."""

    definition: Definition
    folder: Path
    origin: Literal["native", "original"] = "native"
    """`original`: a folder of the 2023 benchmark (`env/`, `scripts/`), as it is; its code is foreign."""

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def id(self) -> str:
        """`house-price@1`: what results say that they are of."""
        return f"{self.definition.name}@{self.definition.version}"

    @property
    def starter(self) -> Path:
        return self.folder / ("env" if self.origin == "original" else "starter")

    @property
    def trusted(self) -> bool:
        """Whether its `prepare.py` and `grade.py` may run outside of the sandbox."""
        return self.origin == "native"


def read_definition(file: Path) -> Definition:
    """The definition in a `task.toml`, or a sentence that says which field is wrong."""
    try:
        content: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TaskError(
            f"{file.parent} has no task.toml; `mlagentbench new-task NAME` makes a folder that has."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError(f"{file} is not valid TOML: {error}. Mend the file and try again.") from None
    try:
        return Definition.model_validate(content)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors()
        )
        raise TaskError(f"{file} does not describe a task: {problems}.") from None
