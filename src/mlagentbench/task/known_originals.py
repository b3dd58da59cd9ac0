"""What is known of the fifteen task folders of the original benchmark beyond what their format says."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from mlagentbench.task.definition import Definition, read_definition

_TABLE = Path(__file__).with_name("known_originals.toml")
_SUITE = Path(__file__).parents[1] / "suite"
_TAKEN = ("category", "modality", "data_date")
_LARGEST = 1_000_000


def known_of(folder: Path) -> dict[str, Any]:
    """Keys of `task.toml` for the folder, if it is one of the fifteen; else nothing."""
    known = _table().get(folder.name)
    if known is None or not _holds(folder / known["file"], known["word"]):
        return {}
    definition: Definition = read_definition(_SUITE / known["task"] / "task.toml")
    metric = definition.metric.model_dump() | known.get("metric", {})
    told = {name: getattr(definition, name) for name in _TAKEN} | {
        "metric": metric,
        "requirements": known["requirements"],
    }
    if "published_baseline" in known:
        told["published_baseline"] = known["published_baseline"]
    return told


def _holds(file: Path, word: str) -> bool:
    if file.is_symlink() or not file.is_file():
        return False
    with file.open("rb") as stream:
        return word in stream.read(_LARGEST).decode("utf-8", "replace").casefold()


@cache
def _table() -> dict[str, dict[str, Any]]:
    return tomllib.loads(_TABLE.read_text(encoding="utf-8"))
