"""Task folders of the benchmark of 2023: `env/` and `scripts/`, loaded as they are. Their code is foreign."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mlagentbench.errors import TaskError
from mlagentbench.task.definition import Definition, Task
from mlagentbench.task.known_originals import known_of
from mlagentbench.validation import problems_of

VARIANT = "original"
"""The only variant of such a task: its data as it lies there, or as its own script makes it."""

_ADDITIONS = "mlagentbench.toml"
_PINNED = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w., -]*\])?\s*==\s*[\w.!+*-]+(\s*;[^@/\\]*)?")
"""What is taken from wheels alone, so that nothing of it runs when it is installed."""
_REQUIREMENTS = ("numpy==2.2.6", "pandas==2.3.3", "scikit-learn==1.7.2", "scipy==1.15.3")
"""The format names none; these serve most of its tasks. Others are given in the additions, or with --python."""


def is_original(folder: Path) -> bool:
    """Links do not count: what they lead to is not part of the folder, and would be copied into the task's data."""
    parts = (folder / "env", folder / "scripts")
    return all(part.is_dir() and not part.is_symlink() for part in parts)


def load_original(folder: Path) -> Task:
    """The task in `folder`. What its format does not say (the metric's goal, requirements, a baseline) is known of the
    original's own tasks, and may be given in a `mlagentbench.toml` beside `env/`, with the keys of `task.toml`."""
    problem = folder / "scripts" / "research_problem.txt"
    if not problem.is_file():
        raise TaskError(
            f"{folder} has no scripts/research_problem.txt, so there is nothing to tell an agent."
        )
    content: dict[str, Any] = {
        "name": "original-" + re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-_"),
        "title": folder.name,
        "modality": "unknown",
        "metric": {"name": "score"},
        "submission": ".",
        "entry": _entry(folder / "env"),
        "requirements": _REQUIREMENTS,
        "read_only": _read_only(folder / "scripts" / "read_only_files.txt"),
        "variants": {VARIANT: {"description": "the data of the original task folder, as they are"}},
    }
    content |= known_of(folder)
    additions = folder / _ADDITIONS
    try:
        given = tomllib.loads(additions.read_text(encoding="utf-8")) if additions.is_file() else {}
        if isinstance(given.get("metric"), dict):
            given["metric"] = content["metric"] | given["metric"]
        definition = Definition.model_validate(content | given)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskError(f"{additions} is not valid TOML: {error}. Fix the file and try again.") from None
    except ValidationError as error:
        problems = "\n  ".join(problems_of(error, Definition))
        raise TaskError(
            f"{additions} does not fit a task:\n  {problems}\ndocs/own-tasks.md has all keys."
        ) from None
    if set(definition.variants) != {VARIANT}:
        raise TaskError(
            f"{additions} names variants, but a folder in the original's format has only {VARIANT!r}."
        )
    wanted = definition.requirements_of(VARIANT)
    if other := [each for each in wanted if not _PINNED.fullmatch(each)]:
        raise TaskError(
            f"{additions} asks for {', '.join(map(repr, other))}. The folder may come from anybody, and what is not "
            "name==version would be built on this machine. Pin it to a released version, or use --python."
        )
    return Task(definition, folder, origin="original")


def _entry(env: Path) -> str:
    """`train.py`, or where there is none the first script."""
    scripts = sorted(file.name for file in env.glob("*.py"))
    return "train.py" if "train.py" in scripts or not scripts else scripts[0]


def _read_only(file: Path) -> list[str]:
    """Its lines as globs: `./train.csv` is `train.csv`, a folder is all that it holds."""
    if not file.is_file():
        return []
    globs = []
    for line in file.read_text(encoding="utf-8").splitlines():
        parts = [part for part in line.strip().split("/") if part not in ("", ".")]
        if parts and ".." not in parts:
            name = "/".join(parts)
            globs += [name] if name.endswith("*") else [name, f"{name}/*"]
    return globs
