"""What an action works with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from mlagentbench.environment.desk import Desk
from mlagentbench.environment.limits import resource_limits
from mlagentbench.environment.offering import Offering
from mlagentbench.environment.outcome import Outcome, PastEdit
from mlagentbench.environment.output import OutputCollector
from mlagentbench.environment.program import Program
from mlagentbench.environment.repl import Repl
from mlagentbench.model.redaction import Redaction
from mlagentbench.record.request import RunLimits
from mlagentbench.record.steps import Execution, Observation
from mlagentbench.sandbox import Interpreter, Job, Mount, ResourceLimits, Result, Sandbox, Service
from mlagentbench.service.offering import Offered
from mlagentbench.units import format_duration, format_size
from mlagentbench.workspace import Workspace

OUTPUT_HEAD = 8_000
OUTPUT_TAIL = 12_000
"""Characters of a program's output that an observation shows."""


@dataclass
class Workbench:
    """One run's workspace, sandbox and limits, as its actions see them."""

    workspace: Workspace
    sandbox: Sandbox
    interpreter: Interpreter
    limits: RunLimits
    outputs: Path
    scratch: Path
    """For what only the harness needs while the run is open."""
    environment: Mapping[str, str]
    hidden: tuple[Path, ...] = ()
    network: bool = False
    services: tuple[Service, ...] = ()
    mounts: tuple[Mount, ...] = ()
    """What programs may see of the host besides."""
    offering: Offering | None = None
    """What the task itself offers to programs."""
    devices: tuple[str, ...] = ()
    ask: Callable[[str], str] | None = None
    """Reaches a person, in interactive mode."""
    on_output: Callable[[str], None] = lambda text: None
    stopping: Callable[[], bool] = lambda: False
    """Whether the run is to stop soon."""
    """Gets a program's output while it runs."""
    deadline: float | None = None
    """On the monotonic clock, when the run's own time is up."""
    step: int = 0
    past_edits: list[PastEdit] = field(default_factory=list)
    repl: Repl = field(default_factory=Repl)
    program: Program = field(default_factory=Program)
    starts: int = 1
    """Which start of the program the next one is, over all resumptions."""
    about: Mapping[str, str] = field(default_factory=dict)
    """What a program that is the agent finds in its environment about the run."""
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What it finds there besides, because the user passes it on."""
    redaction: Redaction = field(default_factory=Redaction)
    """Takes the values of these out of everything that is written."""
    problem: str = ""
    """What the agent was told to do."""
    desk: Desk | None = None
    """The run's models, for actions that think."""

    def execution_limits(self) -> ResourceLimits:
        left = None if self.deadline is None else self.deadline - time.monotonic()
        return resource_limits(self.limits, left)

    @contextmanager
    def acting(self) -> Iterator[None]:
        """While an action is performed: calls of models are part of it, programs' own among them."""
        if self.desk is not None:
            self.desk.inside = True
            self.desk.turn = self.step
        if self.offering is not None:
            self.offering.begin()
        try:
            yield
        finally:
            if self.offering is not None and not self.program.alive:
                self.offering.end()
            if self.desk is not None:
                self.desk.inside = False

    def close(self) -> None:
        """End what still runs or stands still; when this returns, nothing of the agent's is left."""
        self.repl.close()
        if self.program.alive:
            self.program.close()
            if self.offering is not None:
                self.offering.end()

    def job(self, argv: Iterable[str]) -> Job:
        offered = self.offering.get() if self.offering is not None else Offered()
        return Job(
            argv=tuple(argv),
            workspace=self.workspace.folder,
            limits=self.execution_limits(),
            interpreter=self.interpreter,
            read_only=self.workspace.read_only,
            hidden=self.hidden,
            environment={**self.environment, **offered.environment},
            network=self.network,
            services=self.services + offered.services,
            mounts=self.mounts,
            devices=self.devices,
        )

    def output_file(self) -> Path:
        self.outputs.mkdir(exist_ok=True)
        return self.outputs / f"step-{self.step:04d}.txt"

    def execute(self, argv: Iterable[str]) -> Outcome:
        """Run a program to its end; its output and its end are the observation."""
        file = self.output_file()
        with file.open("wb") as keep:
            collector = self.collector(keep)
            result = self.sandbox.run(self.job(argv), collector.feed)
        return self.outcome(collector, result, file)

    def collector(self, keep: IO[bytes]) -> OutputCollector:
        return OutputCollector(keep, OUTPUT_HEAD, OUTPUT_TAIL, live=self.on_output)

    def outcome(self, collector: OutputCollector, result: Result, file: Path) -> Outcome:
        text = collector.text()
        if not collector.cut:
            file.unlink()
        execution = execution_of(result)
        parts = [text.rstrip("\n")] if text.strip() else ["[no output]"]
        parts.append(f"[{how_it_ended(execution)}]")
        observation = Observation(
            text="\n".join(parts),
            ok=result.exit_status == 0 and result.limit is None,
            output=file.name if collector.cut else "",
            execution=execution,
        )
        return Outcome(observation, executed=True)


def execution_of(result: Result) -> Execution:
    return Execution(
        exit_status=result.exit_status,
        signal=result.signal,
        limit=result.limit.sentence() if result.limit else "",
        wall_seconds=result.wall_seconds,
        cpu_seconds=result.cpu_seconds,
        peak_memory=result.peak_memory,
    )


def how_it_ended(execution: Execution) -> str:
    if execution.limit:
        end = execution.limit.rstrip(".")
    elif execution.signal is not None:
        end = f"killed by signal {execution.signal}"
    else:
        end = f"exit status {execution.exit_status}"
    return (
        f"{end}; {format_duration(execution.wall_seconds)} wall, {format_duration(execution.cpu_seconds)} CPU, "
        f"{format_size(execution.peak_memory)} peak memory"
    )
