"""Where a measurement works: a folder of its own, with the tasks, the cache and the runs in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tiny_task import Shape, make_task

from mlagentbench import Environment, load_task, make
from mlagentbench.sandbox import Interpreter, Job, Sandbox, choose, default_limits
from mlagentbench.task.layout import hidden_folders
from mlagentbench.task.preparation import prepare

_NO_END = {"steps": 1_000_000, "time": 30 * 24 * 3600.0}


@dataclass(frozen=True)
class Ready:
    """A prepared task of one shape."""

    shape: Shape
    task: Path
    interpreter: Interpreter
    sandbox: Sandbox
    folder: Path
    """For whatever the measurement writes."""

    def start(self, runs: str) -> Environment:
        """A new run, past its first snapshot, in a folder of runs of that name."""
        env = make(self.task, runs=self.folder / runs, limits=_NO_END)
        env.reset()
        return env

    def starting_true(self, workspace: Path) -> None:
        """Start `true` as the environment starts a script."""
        job = Job(("true",), workspace, default_limits(), self.interpreter, hidden=hidden_folders())
        self.sandbox.run(job, lambda chunk: None)


def make_ready(folder: Path, shape: Shape) -> Ready:
    task = make_task(folder / "tasks", shape)
    return Ready(shape, task, prepare(load_task(task)).interpreter, choose(), folder)
