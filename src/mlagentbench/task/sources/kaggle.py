"""Files of Kaggle competitions, through Kaggle's own client."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mlagentbench.errors import PreparationError
from mlagentbench.sandbox.spec import Interpreter
from mlagentbench.task import worker
from mlagentbench.task.definition import KaggleSource
from mlagentbench.task.progress import Progress, silent
from mlagentbench.task.sources.kept import Kept
from mlagentbench.task.sources.naming import record_files

_LONGEST = 7 * 24 * 3600.0
_LONGEST_SILENCE = 180.0
_FEW = 20


def by_hand(source: KaggleSource) -> str:
    return f"download {source.name}.zip from {source.page}/data and give --from its path"


def fetch(
    source: KaggleSource, downloads: Path, limit: int | None, progress: Progress | None
) -> dict[str, Path]:
    """Where the client keeps each file; only what is not kept yet is asked for."""
    folder = downloads / "kaggle"
    place = folder / "competitions" / source.name
    _fetch(source, source.files, folder, place, progress)
    files = list(source.files)
    for records in source.records:
        more = record_files(records, place, limit, by_hand(source))
        _fetch(source, more, folder, place, progress)
        files += more
    return {file: place / file for file in files}


def _fetch(
    source: KaggleSource, files: Sequence[str], folder: Path, place: Path, progress: Progress | None
) -> None:
    journal = folder / f"{source.name}.jsonl"
    kept = Kept(place, journal)
    missing = [file for file in files if not kept.holds(file, progress or silent)]
    if not missing:
        return
    folder.mkdir(parents=True, exist_ok=True)
    environment = dict(os.environ) | {"KAGGLEHUB_CACHE": str(folder), "TQDM_MININTERVAL": "2"}
    if len(missing) > _FEW:
        environment |= {"TQDM_DISABLE": "1", "KAGGLEHUB_VERBOSITY": "error"}
    worker.call(
        Path(__file__).with_name("clients") / "_kaggle.py",
        "download",
        {"competition": source.name, "files": json.dumps(missing), "page": source.page, "journal": journal},
        Interpreter(Path(sys.executable), ()),
        seconds=_LONGEST,
        silence=_LONGEST_SILENCE,
        environment=environment,
        failure=PreparationError,
        progress=progress,
    )
    for file in missing:
        if not (place / file).is_file():
            raise PreparationError(f"Kaggle's client did not put {file} at {place}; {by_hand(source)}.")
