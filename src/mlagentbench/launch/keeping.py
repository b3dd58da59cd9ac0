"""The plan of an experiment, kept beside its runs, and the lock that lets one process work on them."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlagentbench.errors import MLAgentBenchError, UsageError
from mlagentbench.launch.cells import Cell, differences, expand, in_groups
from mlagentbench.launch.plan import Plan
from mlagentbench.launch.reading import read_plan
from mlagentbench.record.files import write_atomically
from mlagentbench.task.definition import Task
from mlagentbench.task.registry import load_task

_PLAN = "experiment.yaml"
_LOCK = "experiment.lock"
_MOST_TOLD = 12
_HEAD = "# This experiment as it was last started. Its runs lie beside this file.\n"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Two processes that both did what is missing would do it twice."""
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"Another process is working on the experiment in {folder}. Wait for it, or stop it with Ctrl-C; or "
                "give this one a name of its own with -w."
            ) from None
        yield
    finally:
        os.close(descriptor)


def keep_plan(
    folder: Path, plan: Plan, cells: list[Cell], tasks: dict[str, Task], *, changed: bool
) -> list[str]:
    """Write the plan down. What differs from the one that is there is told; where runs that were wanted are not any
    more, it is refused unless the user says that it is meant."""
    told: list[str] = []
    file = folder / _PLAN
    if file.is_file():
        before = read_plan(file)
        dropped, added = differences(expand(before, tasks | _tasks_of(before, tasks)), cells)
        if dropped and not changed:
            words = "\n  ".join([*_in_words("not wanted any more", dropped), *_in_words("new", added)])
            raise UsageError(
                f"{folder} holds the experiment of another plan. What differs:\n  {words}\n"
                f"Give this one a name of its own (-w NAME, or `name:` in the file). To go on here, say --changed: "
                f"runs that are wanted still are kept, the others stay where they are and are not told of."
            )
        told = [*_in_words("not wanted any more", dropped), *_in_words("new in the plan", added)]
    write_atomically(file, (_HEAD + _written(plan, tasks)).encode())
    return told


def _tasks_of(plan: Plan, known: dict[str, Task]) -> dict[str, Task]:
    """The tasks of an earlier plan, as far as they can still be loaded."""
    found = {}
    for entry in plan.tasks:
        if entry.task not in known:
            try:
                found[entry.task] = load_task(entry.task)
            except MLAgentBenchError:
                continue  # its runs are not wanted any more, and stay where they are
    return found


def _from_anywhere(said: str, tasks: dict[str, Task]) -> str:
    """What a task is found by wherever the command is given: its name, or the whole path of its folder."""
    task = tasks.get(said)
    is_path = task is not None and Path(said).expanduser().absolute() == task.folder
    return str(task.folder) if task is not None and is_path else said


def _in_words(what: str, cells: list[Cell]) -> list[str]:
    lines = [
        f"{what}: {group}, {_seeds(each)}" + (f", settings {dict(each[0].settings)}" if each[0].settings else "")
        + (f", limits {dict(each[0].limits)}" if each[0].limits else "")
        for group, each in in_groups(sorted(cells, key=lambda cell: (cell.task, cell.who, cell.seed)))
    ]  # fmt: skip
    more = len(lines) - _MOST_TOLD
    return [*lines[:_MOST_TOLD], f"… and {more} more"] if more > 0 else lines


def _seeds(cells: list[Cell]) -> str:
    seeds = sorted(cell.seed for cell in cells)
    return f"seed {seeds[0]}" if len(seeds) == 1 else f"seeds {seeds[0]} to {seeds[-1]}"


def _written(plan: Plan, tasks: dict[str, Task]) -> str:
    import yaml

    content = plan.model_dump(mode="json", exclude_unset=True)
    for entry in content["tasks"]:
        entry["task"] = _from_anywhere(entry["task"], tasks)
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=110)
