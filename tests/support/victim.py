"""The process that is killed. It makes or resumes a run of the scripted agent, says on standard output what was
acknowledged to the agent, and kills its own process group at the point that `VICTIM_DIES` names."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mlagentbench
from mlagentbench import Action
from mlagentbench.environment.watch import Silence
from mlagentbench.record import folder as folders
from mlagentbench.record import log
from mlagentbench.record.events import StepTaken
from mlagentbench.workspace import store as stores


def say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


def die() -> None:
    os.killpg(0, signal.SIGKILL)


class Telling(Silence):
    """Says what happens, as it happens."""

    def action(self, index: int, action: Action) -> None:
        say(f"begun {index}")

    def step(self, step: StepTaken, replayed: bool) -> None:
        say(f"{'replayed' if replayed else 'step'} {step.index} {step.snapshot}")


def countdown(count: int, then: Callable[[], None]) -> Callable[[], None]:
    """Calls `then` the `count`-th time."""
    left = [count]

    def tick() -> None:
        left[0] -= 1
        if left[0] == 0:
            then()

    return tick


def arm(point: str) -> None:
    """Make the process die inside one of the harness's own functions, at the `n`-th time that it gets there."""
    name, _, number = point.partition(":")
    tick = countdown(int(number or 1), die)
    if name == "append":  # half of a line is on disk
        whole = log._write_all
        left = [int(number)]

        def half(descriptor: int, data: bytes) -> None:
            left[0] -= 1
            if left[0] == 0:
                whole(descriptor, data[: random.randrange(1, len(data))])
                die()
            whole(descriptor, data)

        log._write_all = half
    elif name == "appended":  # the line is on disk, nobody was told
        wrap_after(log.EventLog, "append", tick)
    elif name == "put":
        wrap_after(stores.Store, "put", tick)
    elif name == "absorb":
        wrap_before(stores.Store, "absorb", tick)
    elif name == "flush":
        wrap_before(stores.Store, "flush", tick)
    elif name == "flushed":
        wrap_after(stores.Store, "flush", tick)
    elif name == "close-store":
        wrap_before(stores.Store, "close", tick)
    elif name == "create":
        wrap_before(folders, "write_atomically", tick)
    elif name == "rename":
        wrap_before(Path, "rename", tick)
    elif name == "aside":  # a file of the record is written beside its place and not yet there
        whole_rename = Path.rename

        def rename(self: Path, target: Path) -> Path:
            if ".json." in self.name:
                tick()
            return whole_rename(self, target)

        Path.rename = rename  # type: ignore[assignment,method-assign]
    elif name == "grade":
        from mlagentbench.grading.grader import Grader

        wrap_before(Grader, "grade", tick)
    elif name == "graded":
        from mlagentbench.grading.grader import Grader

        wrap_after(Grader, "grade", tick)
    elif name == "summary":
        from mlagentbench.environment.setup import OpenRun

        wrap_before(OpenRun, "conclude", tick)
    elif name == "restore":
        from mlagentbench.workspace import Workspace

        wrap_before(Workspace, "lay_placeholders", tick)
    elif name:
        raise SystemExit(f"no such point: {point}")


def wrap_before(owner: Any, name: str, tick: Callable[[], None]) -> None:
    whole = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        tick()
        return whole(*args, **kwargs)

    setattr(owner, name, wrapped)


def wrap_after(owner: Any, name: str, tick: Callable[[], None]) -> None:
    whole = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = whole(*args, **kwargs)
        tick()
        return result

    setattr(owner, name, wrapped)


def main() -> None:
    verb, where, *rest = sys.argv[1:]
    arm(os.environ["VICTIM_DIES"])
    say("alive")
    if verb == "run":
        runs, actions = rest
        made = mlagentbench.run(where, "scripted", settings={"file": actions}, runs=runs, watch=Telling())
    else:
        made = mlagentbench.resume(where, watch=Telling())
    say(f"grade {made.grade.score if made.grade else None}")


main()
