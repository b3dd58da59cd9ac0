"""Fetching for a task; where that fails and a person could give the files, the command that takes them is named."""

from __future__ import annotations

import shlex
from pathlib import Path

from mlagentbench.errors import PreparationError
from mlagentbench.task.definition import Task
from mlagentbench.task.progress import Progress
from mlagentbench.task.registry import in_suite
from mlagentbench.task.sources.fetching import fetch_all


def fetch_for(
    task: Task, variant: str, folder: Path, given: Path | None, progress: Progress | None, limit: int | None
) -> None:
    """The sources of this variant, in `folder`."""
    try:
        fetch_all(task.definition.variant(variant).sources, folder, given, progress, limit)
    except PreparationError as error:
        if given is not None or "--from" not in str(error):
            raise
        raise PreparationError(f"{error} {_command(task, variant)}") from None


def _command(task: Task, variant: str) -> str:
    """The one that has `--from`; the one that was given may be another."""
    what = task.name if in_suite(task) else str(task.folder)
    command = f"mlagentbench prepare {shlex.quote(what)} --variant {shlex.quote(variant)} --from FOLDER"
    return f"The command for what you downloaded is: {command}."
