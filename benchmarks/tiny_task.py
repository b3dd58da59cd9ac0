"""A task whose workspace has a given size: what the harness does with it is all harness."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

SCRIPT = "train.py"
_FOLDER_SIZE = 100

_DEFINITION = """\
name = "{name}"
title = "Nothing to be solved"
modality = "none"
submission = "submission.txt"
entry = "train.py"

[metric]
name = "none"
goal = "minimize"

[variants.mini]
description = "One answer."
"""
_PREPARE = """\
def prepare(variant, public, private, seed):
    (private / "answer.txt").write_text("1")
"""
_GRADE = """\
def grade(submission, private):
    return 1.0
"""


@dataclass(frozen=True)
class Shape:
    """So many bytes in so many files, one of which is the script."""

    name: str
    size: int
    files: int

    @property
    def inner(self) -> str:
        """A folder with many files in it, where there is one."""
        return "part-0/" if self.files > _FOLDER_SIZE else ""

    def told(self) -> str:
        return f"{self.size / 1e6:g} MB in {self.files:,} files"


def make_task(parent: Path, shape: Shape) -> Path:
    """A task folder whose starter has this shape. Every file holds other bytes."""
    folder = parent / shape.name
    starter = folder / "starter"
    starter.mkdir(parents=True)
    for name, content in (
        ("task.toml", _DEFINITION.format(name=shape.name)),
        ("problem.md", "There is nothing to do.\n"),
        ("prepare.py", _PREPARE),
        ("grade.py", _GRADE),
        (f"starter/{SCRIPT}", 'print("hello")\n'),
    ):
        (folder / name).write_text(content)
    chance = random.Random(shape.name)
    for number in range(shape.files - 1):
        place = f"part-{number // _FOLDER_SIZE}/{number:04d}.bin" if shape.inner else f"{number:04d}.bin"
        file = starter / place
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(chance.randbytes(shape.size // (shape.files - 1)))
    return folder
