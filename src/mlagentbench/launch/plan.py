"""What an experiment is: tasks, agents, models and seeds, as a file or flags say them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from mlagentbench.errors import UsageError
from mlagentbench.record.folder import name_problem
from mlagentbench.record.naming import PROGRAM, called, checked_label
from mlagentbench.record.request import ChatBy
from mlagentbench.task.definition import Bytes, Limits, Seconds

Reference = Literal["starter", "plain", "oracle"]


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class GivenLimits(Limits):
    """Limits of runs, with units (`5h`, `4GB`); what is left out is as the task and the machine have it."""

    tokens: int | None = Field(None, ge=1)
    cost: float | None = Field(None, gt=0)

    def given(self) -> dict[str, Any]:
        """Only what was said; null says that there is no limit."""
        return self.model_dump(exclude_unset=True)


class GivenCalls(Strict):
    """How models are called. It does not tell one run from another."""

    timeout: Seconds | None = None
    retries: int | None = None
    patience: Seconds | None = None
    rpm: float | None = None
    tpm: float | None = None
    cache: bool | None = None


class TaskEntry(Strict):
    task: str
    """A name, or the path of a folder; a relative one is found from the file of the experiment."""
    variants: tuple[str, ...] = ()
    """Instead of those of the experiment."""
    data_seeds: tuple[int, ...] = ()
    limits: GivenLimits = GivenLimits()
    cores: int | None = Field(None, ge=1)
    """For each run of this task, instead of what `resources` says."""
    gpus: int | None = Field(None, ge=0)
    network: bool | None = None
    """For this task, instead of what the experiment says."""


class ModelEntry(Strict):
    model: str
    """The one that decides, as `provider/name`."""
    edit: str = ""
    fast: str = ""
    base_url: str = ""
    options: dict[str, Any] = {}
    """Passed on to the provider as they are."""
    price: tuple[float, ...] = ()
    """Dollars for a million tokens in, out, and cached."""
    runs: int | None = Field(None, ge=1)
    limits: GivenLimits = GivenLimits()
    """Of its runs. An agent's own come before them, and both before a task's and the experiment's."""

    @field_validator("price")
    @classmethod
    def _two_or_three(cls, price: tuple[float, ...]) -> tuple[float, ...]:
        if len(price) not in (0, 2, 3) or any(each < 0 for each in price):
            raise ValueError("a price is dollars for a million tokens in, out, and where it is known cached")
        return price


def _named(field: str) -> BeforeValidator:
    """Lets a bare name stand for an entry that says nothing else."""
    return BeforeValidator(lambda value: {field: value} if isinstance(value, str) else value)


def _label(label: str) -> str:
    try:
        return checked_label(label)
    except UsageError as error:
        raise ValueError(str(error).rstrip(".")) from None


class AgentEntry(Strict):
    agent: str
    label: Annotated[str, AfterValidator(_label)] = ""
    """What reports call this agent with these settings; needed where one agent stands here several times."""
    settings: dict[str, Any] = {}
    env: tuple[str, ...] = ()
    """Names of variables that the program of the agent `command` gets; their values are never written down."""
    models: tuple[Annotated[ModelEntry, _named("model")], ...] | None = None
    """Instead of those of the experiment; a bare name means its entry there, if it has one. An empty list: none."""
    limits: GivenLimits = GivenLimits()
    runs: int | None = Field(None, ge=1)

    @property
    def name(self) -> str:
        return called(self.agent, self.label, self.settings)

    @property
    def chosen(self) -> dict[str, Any]:
        """All of its settings."""
        return {**self.settings, **({"env": list(self.env)} if self.env else {})}

    @model_validator(mode="after")
    def _env_is_for_programs(self) -> Self:
        if self.env and self.agent != PROGRAM:
            raise ValueError(
                f"only the agent {PROGRAM!r} has a program that variables can be passed to with env"
            )
        return self


class Exclusion(Strict):
    """Leaves out every run that fits all that is said."""

    task: str | None = None
    variant: str | None = None
    data_seed: int | None = None
    agent: str | None = None
    """By its label, where it has one."""
    model: str | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.model_dump(exclude_none=True):
            raise ValueError("an exclusion says what to leave out: a task, a variant, an agent, a model")
        return self


class Resources(Strict):
    """What of the machine is handed out. It does not tell one run from another."""

    cores: int = Field(1, ge=1)
    """For each run."""
    gpus: int = Field(0, ge=0)
    """For each run."""
    sharing: int = Field(1, ge=1)
    """Runs that share a core: more than one where they mostly wait for a hosted model."""
    parallel: int | None = Field(None, ge=1)
    """Runs at the same time, at most; None: as many as cores, memory and GPUs allow."""
    memory: Bytes | None = None
    """Of the machine, for all runs together; None: nine tenths of it."""
    keep_free: Bytes = Field(2 * 10**9, ge=0)
    """Bytes of disk. With less than this no run goes on."""


class Plan(Strict):
    """An experiment: every task, variant and data seed with every agent, model and seed, but for what is excluded."""

    name: str = ""
    """Of the folder that the runs lie in; empty: that of the file."""
    description: str = ""
    tasks: tuple[Annotated[TaskEntry, _named("task")], ...] = Field(min_length=1)
    variants: tuple[str, ...] = ("mini",)
    data_seeds: tuple[int, ...] = (0,)
    agents: tuple[Annotated[AgentEntry, _named("agent")], ...] = Field(min_length=1)
    models: tuple[Annotated[ModelEntry, _named("model")], ...] = ()
    runs: int = Field(1, ge=1)
    """Of each cell, with seeds one apart. An agent's own number comes before a model's, and both before this."""
    seed: int = 0
    """Of the first run."""
    limits: GivenLimits = GivenLimits()
    exclude: tuple[Exclusion, ...] = ()
    network: bool = False
    chat: ChatBy = ""
    sandbox: str = "auto"
    python: str | None = None
    show_actions: tuple[str, ...] = ()
    hide_actions: tuple[str, ...] = ()
    calls: GivenCalls = GivenCalls()
    references: tuple[Reference, ...] = ("starter", "plain", "oracle")
    """What is measured of each task before its runs, where it was not yet on this machine."""
    resumes: int = Field(2, ge=0)
    """How often a run whose process died is taken up again before it is recorded as died."""
    resources: Resources = Resources()

    @field_validator("name")
    @classmethod
    def _is_plain(cls, name: str) -> str:
        if name and (problem := name_problem(name)):
            raise ValueError(problem)
        return name

    @model_validator(mode="after")
    def _labels_differ(self) -> Self:
        names = [agent.name for agent in self.agents]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(
                f"{', '.join(twice)} stands among the agents more than once; give each a label of its own"
            )
        return self
