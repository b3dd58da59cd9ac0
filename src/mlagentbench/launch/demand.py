"""What each run of an experiment needs of the machine, by its plan, its task and its model."""

from __future__ import annotations

from pathlib import Path

from mlagentbench.launch.board import Line
from mlagentbench.launch.machine import Machine, Needs
from mlagentbench.launch.plan import Plan, TaskEntry

_ON_THIS_MACHINE = ("local", "huggingface")
"""Providers whose models compute here, on all cores."""


def needs_of(line: Line, plan: Plan, machine: Machine) -> Needs:
    entry = entry_of(line, plan)
    model = line.cell.model
    computes = model is not None and model.model.partition("/")[0] in _ON_THIS_MACHINE
    cores = machine.cores if computes else entry.cores or plan.resources.cores
    gpus = plan.resources.gpus if entry.gpus is None else entry.gpus
    program = line.wanted.task.definition.program
    timed = program is not None and program.timing is not None
    memory = memory_of(line) or machine.usual_memory(cores)
    return Needs(cores, memory, gpus, alone=timed or computes)


def entry_of(line: Line, plan: Plan) -> TaskEntry:
    """Of the plan: by the folder before the name, which a copy of a task may have as well."""
    task, entries = line.wanted.task, plan.tasks
    folder = task.folder.absolute()
    at = [each for each in entries if Path(each.task).expanduser().absolute() == folder]
    called = [each for each in entries if each.task in (task.name, task.id, line.cell.task)]
    return (at or called)[0]


def memory_of(line: Line) -> int | None:
    """What was said that one execution of it may use."""
    said = line.cell.limits.get("memory") or line.wanted.task.definition.limits.memory
    return int(said) if said else None
