"""Runs as a stranger would hand them over: whatever their maker wrote, in an unbroken chain, and signed by nobody."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mlagentbench.record.events import Event
from mlagentbench.record.folder import STORE, RunFolder

Changes = Callable[[dict[str, Any]], None]


def nothing(content: dict[str, Any]) -> None:
    """Leave it as it is."""


def foreign_copy(
    run: Path,
    runs: Path,
    *,
    request: Changes = nothing,
    grades: Changes = nothing,
    events: Callable[[Sequence[Event]], Sequence[Event]] = lambda events: events,
) -> Path:
    """A copy of `run` below `runs` that carries no signature, with what its maker changed before the chain was made."""
    source = RunFolder.open(run)
    folder = RunFolder(runs.joinpath(*run.parts[-4:]))
    folder.path.mkdir(parents=True)
    shutil.copytree(source.store().folder, runs / STORE, dirs_exist_ok=True)
    asked = json.loads(source.request_file.read_bytes())
    request(asked)
    folder.request_file.write_text(json.dumps(asked))
    if source.outputs.is_dir():
        shutil.copytree(source.outputs, folder.outputs)
    log = folder.log()
    for event in events(source.history().events):
        log.append(event)
    log.close()
    if source.grades_file.exists():
        kept = json.loads(source.grades_file.read_bytes())
        del kept["signatures"]
        grades(kept)
        folder.grades_file.write_text(json.dumps(kept))
    return folder.path
