"""Data of the suite's tasks, made by calling their `prepare.py` in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def preparing(prepare: Callable[..., Any]) -> Callable[..., Path]:
    """A function that makes the data of one task below a folder, and gives that folder."""

    def prepared(folder: Path, variant: str = "mini", seed: int = 0, source: Path | None = None) -> Path:
        for part in ("public", "private"):
            (folder / part).mkdir(parents=True)
        given = {} if source is None else {"source": source}
        prepare(variant, folder / "public", folder / "private", seed, **given)
        return folder

    return prepared


def contents(folder: Path) -> dict[str, bytes]:
    """Every file by its place."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
