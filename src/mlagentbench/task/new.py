"""Starts a task: a folder that is whole, small, and passes the audit as it is."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from mlagentbench.errors import UsageError

_TEMPLATE = Path(__file__).parent / "template"


def new_task(name: str, folder: Path) -> Path:
    """Make the folder `folder/name`, and give it back."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise UsageError(f"{name!r} is no name for a task; use letters, digits, - and _, as in my-task.")
    made = folder / name
    if made.exists():
        raise UsageError(f"{made} is there already; choose another name, or remove it first.")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copytree(_TEMPLATE, made, ignore=shutil.ignore_patterns("__pycache__"))
    definition = made / "task.toml"
    definition.write_text(definition.read_text(encoding="utf-8").replace("@NAME@", name), encoding="utf-8")
    return made
