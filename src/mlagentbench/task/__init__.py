"""Tasks: what one is, where it is found, and how its data and its interpreter are made ready."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlagentbench._lazy import attach

if TYPE_CHECKING:
    from mlagentbench.task.definition import Definition, Limits, Metric, Task
    from mlagentbench.task.interpreter import interpreter_for
    from mlagentbench.task.new import new_task
    from mlagentbench.task.preparation import (
        Prepared,
        choose_variant,
        find_prepared,
        prepare,
        verify_prepared,
    )
    from mlagentbench.task.problem import problem_text
    from mlagentbench.task.registry import list_tasks, load_task

__all__ = [
    "Definition",
    "Limits",
    "Metric",
    "Prepared",
    "Task",
    "choose_variant",
    "find_prepared",
    "interpreter_for",
    "list_tasks",
    "load_task",
    "new_task",
    "prepare",
    "problem_text",
    "verify_prepared",
]

__getattr__, __dir__ = attach(
    __name__,
    {
        "Definition": "mlagentbench.task.definition",
        "Limits": "mlagentbench.task.definition",
        "Metric": "mlagentbench.task.definition",
        "Prepared": "mlagentbench.task.preparation",
        "Task": "mlagentbench.task.definition",
        "choose_variant": "mlagentbench.task.preparation",
        "find_prepared": "mlagentbench.task.preparation",
        "interpreter_for": "mlagentbench.task.interpreter",
        "list_tasks": "mlagentbench.task.registry",
        "load_task": "mlagentbench.task.registry",
        "new_task": "mlagentbench.task.new",
        "prepare": "mlagentbench.task.preparation",
        "problem_text": "mlagentbench.task.problem",
        "verify_prepared": "mlagentbench.task.preparation",
    },
)
