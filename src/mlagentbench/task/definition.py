"""What a task is: the typed content of `task.toml`, and the folder around it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from mlagentbench.errors import TaskError
from mlagentbench.sandbox.spec import Promise
from mlagentbench.units import parse_duration, parse_size
from mlagentbench.validation import as_value_error, problems_of

Goal = Literal["minimize", "maximize"]
Seconds = Annotated[float, BeforeValidator(as_value_error(parse_duration))]
Bytes = Annotated[int, BeforeValidator(as_value_error(parse_size))]
HUB = "https://huggingface.co"


def _inside(path: str) -> str:
    if path.startswith(("/", "~")) or "\\" in path or ".." in path.split("/"):
        raise ValueError("must be a path inside the folder, with / between its parts")
    return path


def _ordered(band: tuple[float, float]) -> tuple[float, float]:
    if band[0] > band[1]:
        raise ValueError("must be [low, high]")
    return band


Inside = Annotated[str, AfterValidator(_inside)]
"""A path that does not leave the folder that it is relative to."""
Band = Annotated[tuple[float, float], AfterValidator(_ordered)]


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


class Archived(_Strict):
    """One file that a web server has: an archive (.tar.gz, .tgz, .tar, .zip), or a file as it is."""

    name: str = Field(pattern=r"^[\w.+-]+$")
    """As the server calls the file; `--from` takes a file of this name, or a folder that holds it unpacked."""
    url: str = Field(pattern=r"^https?://")
    files: tuple[Inside, ...] = ()
    """What must be there after unpacking, at these places: names, globs, or folders that end in `/`. Nothing
    else is unpacked. Left out for a file that is no archive."""
    md5: str = Field("", pattern=r"^([0-9a-f]{32})?$")
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")


class _Place(_Strict):
    page: str
    """The page that a person visits to get an account, accept rules, or download by hand."""
    into: Inside = ""
    """The folder, below the one that `prepare.py` gets, that the files are put into."""


class Records(_Strict):
    """Many files that a JSON file among `files` lists: an array of objects, one a record."""

    list: Inside
    key: str
    """The field of an object that names its record."""
    files: tuple[Inside, ...]
    """Of one record; `{key}` stands for its name, as in `train/{key}/band_11.npy`."""


class KaggleSource(_Place):
    """Files of a Kaggle competition."""

    kind: Literal["kaggle-competition"]
    name: str = Field(pattern=r"^[\w-]+$")
    files: tuple[Inside, ...]
    """By the names that the competition's data page shows."""
    records: tuple[Records, ...] = ()
    """With `--limit N`, only the first N of each list, in the order of their names as text."""


class HttpSource(Archived, _Place):
    """A file on a web server that needs no account."""

    kind: Literal["http"]
    alternatives: tuple[Archived, ...] = ()
    """Other forms of the same data that `--from` takes as well; `prepare.py` looks which one it got."""


class HuggingFaceSource(_Place):
    """Files of a repository on the Hugging Face hub."""

    kind: Literal["huggingface"]
    name: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    """owner/repository"""
    repo_type: Literal["dataset", "model"]
    revision: str
    """A commit, so that the files stay the same; a branch where there is no other way."""
    files: tuple[Inside, ...]
    """Names, globs, or folders that end in `/`."""
    exchangeable: bool = False
    """Whether a user may name another repository in its place: `--variant full=OWNER/REPOSITORY@COMMIT`."""


class ListedSource(_Place):
    """Files, one URL each, that a JSON file of another source lists, as COCO lists images."""

    kind: Literal["listed"]
    name: str = Field(pattern=r"^[\w-]+$")
    lists: tuple[Inside, ...]
    """JSON files, at their places in the folder that `prepare.py` gets."""
    records: str = "images"
    """The field that holds the array; empty where the document is the array."""
    url: str = "coco_url"
    file: str = "file_name"
    """The fields of an object with the address and the name to keep the file by."""


Source = Annotated[KaggleSource | HttpSource | HuggingFaceSource | ListedSource, Field(discriminator="kind")]


class Bands(_Strict):
    """Between which scores the task's own code stays, whatever the data seed; tests hold it."""

    starter: Band | None = None
    plain: Band | None = None
    oracle: Band | None = None


class Variant(_Strict):
    description: str
    sources: tuple[Source, ...] = ()
    """Where raw files come from; `prepare.py` gets one folder that holds them all. Empty: it makes everything
    from the seed."""
    requirements: tuple[str, ...] = ()
    """What this variant needs beside the task's own requirements."""
    live: bool = False
    """Whether its services are on the network, so that runs of it need `--network on`."""
    bands: Bands = Bands()


class Timing(_Strict):
    """For tasks whose score is a ratio of CPU times, submission over starter."""

    rounds: int = Field(9, ge=3)
    """Alternations of starter and submission."""


class Program(_Strict):
    """For submissions that are programs or artefacts: `infer.py` runs in the sandbox on `private/inputs`."""

    time: Seconds = 300.0
    """For one run of `infer.py`."""
    timing: Timing | None = None
    control: Inside = ""
    """A file of the submission that `control` of `grade.py` changes for a second run, whose outputs `grade`
    gets as well: what comes out the same did not come from that file."""


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
    services: tuple[Literal["papers", "chat"], ...] = ()
    """What the harness offers to programs in the sandbox: a paper index, a chat endpoint."""
    limits: Limits = Limits()
    variants: dict[str, Variant]
    disclosure: str = ""
    """What its grader cannot rule out, in sentences; the page of tasks tells it."""
    published_baseline: float | None = None
    baseline: float | None = None
    """Instead of a measured one; only of a folder in the original's format, whose starter may write no submission."""
    data_date: str = ""
    """When the data of `full` became public, as YYYY-MM."""

    @model_validator(mode="after")
    def _timed_alone(self) -> Self:
        if self.services and self.program is not None and self.program.timing is not None:
            raise ValueError("a timed program is alone on its core and cannot have services")
        return self

    @property
    def promises(self) -> tuple[Promise, ...]:
        """What a sandbox must be able to promise for this task."""
        found: list[Promise] = ["services"] if self.services else []
        if self.program is not None and self.program.timing is not None:
            found.append("timing")
        return tuple(found)

    def variant(self, name: str) -> Variant:
        """A variant by its name; `full=OWNER/REPOSITORY@COMMIT` is `full` with that repository in place of its own.

        So the repository is part of the variant's name, and results with different ones are never taken together.
        """
        plain, _, exchange = name.partition("=")
        if name == plain:
            return self.variants[plain]
        repository, _, revision = exchange.partition("@")
        variant = self.variants[plain]
        return variant.model_copy(
            update={
                "description": f"{variant.description} Here with {exchange}.",
                "sources": tuple(
                    each.model_copy(
                        update={"name": repository, "revision": revision, "page": f"{HUB}/{repository}"}
                    )
                    if isinstance(each, HuggingFaceSource) and each.exchangeable
                    else each
                    for each in variant.sources
                ),
            }
        )

    def requirements_of(self, variant: str) -> tuple[str, ...]:
        """What the interpreter for a variant needs."""
        return self.requirements + self.variant(variant).requirements


@dataclass(frozen=True)
class Task:
    """A definition and the folder that holds the rest of the task."""

    definition: Definition
    folder: Path
    origin: Literal["native", "original", "own"] = "native"
    """`original`: a folder of the 2023 benchmark (`env/`, `scripts/`), as it is; its code is foreign. `own`: a person's
    own problem, of which nothing is prepared or graded."""

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
        raise TaskError(f"{file} is not valid TOML: {error}. Fix the file and try again.") from None
    try:
        return Definition.model_validate(content)
    except ValidationError as error:
        problems = "\n  ".join(problems_of(error, Definition))
        raise TaskError(
            f"{file} does not describe a task:\n  {problems}\ndocs/own-tasks.md has all keys."
        ) from None
