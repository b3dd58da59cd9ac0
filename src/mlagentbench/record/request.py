"""What was asked of a run: the content of `run.json`. Written once, before anything happens, and never changed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from mlagentbench.model.options import CallOptions
from mlagentbench.record.naming import called

ChatBy = Literal["", "stand-in", "model"]
"""What answers programs that chat: rules that stand in for a model, or the run's own model."""


class Origin(BaseModel):
    """The run and step that a fork goes on from."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    run: str
    step: int
    begins_after: int = 0
    """The run's own agent began after this step: those up to it are another agent's, and it is not replayed on them."""


class Host(BaseModel):
    """The machine, as far as results depend on it."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    system: str
    machine: str
    cores: int
    memory: int
    python: str


class RunLimits(BaseModel):
    """What the whole run may use. None is: no limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    steps: int | None = Field(50, ge=1)
    time: float | None = Field(5 * 3600.0, gt=0)
    tokens: int | None = Field(None, ge=1)
    cost: float | None = Field(None, gt=0)
    execution_time: float = Field(gt=0)
    """Seconds for one execution."""
    memory: int = Field(ge=1)
    processes: int = Field(ge=1)
    disk: int = Field(ge=1)
    files: int = Field(ge=1)
    output: int = Field(ge=1)


class OwnProblem(BaseModel):
    """A person's own folder and what they want done with it, instead of a task."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    folder: str
    """The original, which the run works on a copy of."""
    wish: str
    asks: bool = True
    """Whether the person is asked before something is changed or run."""
    shown: tuple[str, ...] = ()
    """What is shown read-only, from where it lies, instead of being copied; paths in the folder."""
    left_out: tuple[str, ...] = ()
    """What is neither copied nor shown."""
    modules: tuple[str, ...] = ()
    """Folders of it in which Python looks for modules, before the installed ones."""


class Imported(BaseModel):
    """Where a run comes from that another program made."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    source: str
    """The folder that it was read from."""
    time: float
    """When that was. Its record is chained since then, and not before."""
    task: str = ""
    """What its task was called there; empty where nothing told."""
    missing: tuple[str, ...] = ()
    """What the folder does not tell, a sentence each."""
    damaged: tuple[str, ...] = ()
    """What could not be read, or only in part, a sentence each."""
    unknown: tuple[Literal["time", "tokens", "cost", "execution"], ...] = ()
    """What is 0 or empty in the record because nobody knows it."""
    flags: dict[str, Any] = Field(default_factory=dict)
    """What its command line was told, by the names that it had there."""


class RunRequest(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)
    format: int = 1
    id: str
    created: float
    version: str
    """Of this package."""
    task: str
    """`name@version`."""
    task_folder: str = ""
    """Where the task lies, for tasks given by path; empty for tasks found by name."""
    variant: str
    data_seed: int
    data_digest: str
    """Hash over all prepared files."""
    data_key: str = ""
    """First digits of the hash of the key that the data were made with; empty without one."""
    python: str = ""
    """The interpreter that the user chose for the sandbox; empty for the task's own."""
    agent: str
    label: str = ""
    """What the user calls this agent with these settings; empty: its own name."""
    settings: dict[str, Any] = Field(default_factory=dict)
    model: str = ""
    """The one that decides; empty for agents that need none."""
    edit_model: str = ""
    """The one that edits, where it is another."""
    fast_model: str = ""
    """The one that reads and sums up, where it is another."""
    base_url: str = ""
    model_options: dict[str, Any] = Field(default_factory=dict)
    """What the models' own providers were told besides: a context length, threads, a reasoning effort."""
    model_calls: CallOptions = Field(default_factory=CallOptions)
    """How long, how often and how fast models are asked."""
    prices: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    """What the user said that models cost, by name."""
    seed: int
    sandbox: str
    network: bool
    chat: ChatBy = ""
    """What answered programs that chat; empty where the task offers no chat."""
    actions: tuple[str, ...]
    """The actions shown to the agent."""
    limits: RunLimits
    host: Host
    own: OwnProblem | None = None
    """Where a person's own problem is worked on: what it is. The rest of what is said of a task is then empty."""
    origin: Origin | None = None
    imported: Imported | None = None
    """Where the run was not made by this package. What is said of its machine, its limits and its data is then what is
    known of them, and what it is graded with."""

    @property
    def called(self) -> str:
        """What the agent is called in tables and folders."""
        return called(self.agent, self.label, self.settings)
