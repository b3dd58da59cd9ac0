"""What the agent is told: the task's `problem.md` with its blanks filled in."""

from __future__ import annotations

from string import Formatter

from mlagentbench.errors import TaskError
from mlagentbench.task.definition import Limits, Task
from mlagentbench.units import format_duration


def problem_text(task: Task, variant: str, limits: Limits) -> str:
    """The problem in words, for this variant and these limits, with the packages that there are. Original tasks say
    theirs as it is."""
    if not task.trusted:
        return (task.folder / "scripts" / "research_problem.txt").read_text(encoding="utf-8")
    definition = task.definition
    values = {
        "variant": variant,
        "metric": definition.metric.name,
        "goal": definition.metric.goal or "unknown",
        "submission": definition.submission,
        "steps": "unlimited" if limits.steps is None else str(limits.steps),
        "time": _duration(limits.time),
        "execution_time": _duration(limits.execution_time),
        "data": definition.variant(variant).description,
    }
    file = task.folder / "problem.md"
    template = file.read_text(encoding="utf-8")
    try:
        asked = {field for _, field, _, _ in Formatter().parse(template) if field is not None}
    except ValueError as error:
        raise TaskError(
            f"{file} is not a template: {error}. Write {{{{ and }}}} for braces that are text."
        ) from None
    if unknown := sorted(asked - values.keys()):
        raise TaskError(
            f"{file} has the unknown placeholder {{{unknown[0]}}}; known are {', '.join(sorted(values))}. "
            "Write {{ and }} for braces that are text."
        )
    return f"{template.format(**values).rstrip()}\n\n{_packages(definition.requirements_of(variant))}\n"


def _packages(requirements: tuple[str, ...]) -> str:
    if not requirements:
        return "Python has its standard library alone; nothing can be installed."
    installed = ", ".join(each.replace("==", " ") for each in requirements)
    return f"Python has {installed}; nothing else can be installed."


def _duration(seconds: float | None) -> str:
    return "unlimited time" if seconds is None else format_duration(seconds)
