"""One file of a run with all that it refers to, for sharing."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

from mlagentbench.record.events import ModelCalled, RunEnded, RunStarted, StepTaken
from mlagentbench.record.folder import STORE, RunFolder
from mlagentbench.workspace import objects

SUFFIX = ".mlab.tar.gz"
PARTS = ("run.json", "events.jsonl", "grades.json", "summary.json", "annotations.json")
"""What of a run is packed, besides its outputs and objects. Its signature is not: it means nothing elsewhere."""


def snapshots_of(folder: RunFolder) -> list[str]:
    """Every snapshot that the run's record names, each once."""
    named = (
        event.snapshot
        for event in folder.history().events
        if isinstance(event, RunStarted | StepTaken | RunEnded) and event.snapshot
    )
    return list(dict.fromkeys(named))


def objects_of(folder: RunFolder) -> Iterator[str]:
    """Every object in the store that the run needs."""
    store = folder.store()
    seen = set(requests_of(folder))
    yield from seen
    for snapshot in snapshots_of(folder):
        for name in objects(store, snapshot) - seen:
            seen.add(name)
            yield name


def requests_of(folder: RunFolder) -> list[str]:
    """Every question to a model that the run's record names, each once."""
    asked = (event.request for event in folder.history().events if isinstance(event, ModelCalled))
    return list(dict.fromkeys(asked))


def pack(run: str | Path, file: str | Path | None = None) -> Path:
    """Put a run and its snapshots into one file, by default `<id>.mlab.tar.gz` in the current folder."""
    folder = RunFolder.open(run)
    target = Path(file) if file else Path(folder.request().id + SUFFIX)
    store = folder.store()
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with tarfile.open(aside, "w:gz", compresslevel=6) as archive:
            place = "/".join(folder.path.parts[-4:])
            for part in PARTS:
                if (folder.path / part).is_file():
                    archive.add(folder.path / part, f"{place}/{part}", filter=_anonymous)
            if folder.outputs.is_dir():
                for output in sorted(folder.outputs.iterdir()):
                    if output.is_file() and not output.is_symlink():
                        archive.add(output, f"{place}/outputs/{output.name}", filter=_anonymous)
            for name in sorted(objects_of(folder)):
                store.check(name)
                entry = tarfile.TarInfo(f"{STORE}/objects/{name}")
                entry.size = store.size(name)
                with store.open(name) as stream:
                    archive.addfile(entry, stream)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
    return target


def _anonymous(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
