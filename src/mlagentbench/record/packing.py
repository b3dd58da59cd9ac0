"""One file of a run with all that it refers to, for sharing; and the way back."""

from __future__ import annotations

import os
import secrets
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mlagentbench.errors import RecordError, UsageError
from mlagentbench.record.events import ModelCalled, RunEnded, RunStarted, StepTaken
from mlagentbench.record.folder import STORE, RunFolder
from mlagentbench.workspace import Store, objects

SUFFIX = ".mlab.tar.gz"
_PARTS = ("run.json", "events.jsonl", "grades.json", "summary.json", "annotations.json")


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
            for part in _PARTS:
                if (folder.path / part).is_file():
                    archive.add(folder.path / part, f"{place}/{part}", filter=_anonymous)
            if folder.outputs.is_dir():
                for output in sorted(folder.outputs.iterdir()):
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


def unpack(file: str | Path, runs: str | Path = "runs") -> Path:
    """Put a packed run into a folder of runs, all of it or nothing. A pack is hostile input: only what a run consists
    of is taken."""
    root = Path(runs).absolute()
    aside = root / STORE / f"unpacking-{secrets.token_hex(6)}"
    aside.mkdir(parents=True)
    try:
        with Store(root / STORE) as store, tarfile.open(file, "r:gz") as archive:
            place = _extract(archive, root, aside, store)
        _demand_whole(RunFolder(aside))
        if place.exists():
            raise UsageError(f"{place} exists already; this run was unpacked before.")
        place.parent.mkdir(parents=True, exist_ok=True)
        aside.rename(place)
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise RecordError(f"{file} cannot be unpacked: {error}.") from None
    except RecordError as error:
        raise RecordError(f"{file} is no pack, or a damaged one: {error}") from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return place


def _extract(archive: tarfile.TarFile, root: Path, aside: Path, store: Store) -> Path:
    """Objects go to the store, everything else to `aside`; gives back where the run belongs."""
    place: Path | None = None
    for entry in archive:
        content = archive.extractfile(entry) if entry.isreg() else None
        if content is None:
            raise RecordError(f"it holds {entry.name!r}, which is not a plain file.")
        parts = PurePosixPath(entry.name).parts
        if parts[:2] == (STORE, "objects") and len(parts) == 3:
            if store.put(content.read()) != parts[2]:
                raise RecordError(f"the object {parts[2]} is not what its name says.")
            continue
        if not _belongs(parts):
            raise RecordError(f"it holds {entry.name!r}, which no run has.")
        place = place or root.joinpath(*parts[:4])
        if place != root.joinpath(*parts[:4]):
            raise RecordError("it holds parts of more than one run.")
        target = aside.joinpath(*parts[4:])
        target.parent.mkdir(exist_ok=True)
        with target.open("wb") as stream:
            shutil.copyfileobj(content, stream)
    if place is None:
        raise RecordError("it holds no run.")
    return place


def _demand_whole(folder: RunFolder) -> None:
    if not folder.request_file.is_file():
        raise RecordError("it has no run.json.")
    folder.request()
    store = folder.store()
    for name in objects_of(folder):
        if not store.has(name):
            raise RecordError(f"the object {name} is missing.")


def _belongs(parts: tuple[str, ...]) -> bool:
    if len(parts) < 5 or any(part in ("..", ".", "/", "", STORE) for part in parts):
        return False
    rest = parts[4:]
    return (len(rest) == 1 and rest[0] in _PARTS) or (len(rest) == 2 and rest[0] == "outputs")
