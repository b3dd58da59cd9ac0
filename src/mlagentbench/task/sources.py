"""Raw files of variants that are not made from a seed: fetched once and kept, or given by a person."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from mlagentbench.errors import PreparationError
from mlagentbench.folders import cache_folder
from mlagentbench.sandbox.spec import Interpreter
from mlagentbench.task import worker
from mlagentbench.task.cache import locked, write_durably
from mlagentbench.task.definition import KaggleSource, Source
from mlagentbench.task.progress import Progress, silent

_LONGEST = 24 * 3600.0
_LONGEST_SILENCE = 180.0


def fetch_all(sources: Sequence[Source], given: Path | None, progress: Progress | None = None) -> Path:
    """One folder with the files of all `sources`."""
    if len(sources) != 1 or not isinstance(sources[0], KaggleSource):
        raise PreparationError("Only one source, of the kind kaggle-competition, can be fetched yet.")
    return fetch(sources[0], given, progress)


def fetch(source: KaggleSource, given: Path | None, progress: Progress | None = None) -> Path:
    """A folder that holds `source.files`. `given` is the archive as Kaggle names it, or it unpacked."""
    downloads = cache_folder() / "downloads"
    with locked(downloads / f"{source.name}.lock", f"the download of {source.name}", progress):
        if given is not None:
            folder = _from_given(source, given.expanduser().absolute(), downloads / "given" / source.name)
        else:
            folder = _from_kaggle(source, downloads / "kaggle", progress)
    for file in source.files:
        _look_at(folder / file, source)
    return folder


def _from_kaggle(source: KaggleSource, folder: Path, progress: Progress | None) -> Path:
    """Kaggle's client keeps files below `folder`; what arrived whole is noted, and not asked for again."""
    kept_at = folder / f"{source.name}.json"
    kept: dict[str, str] = json.loads(kept_at.read_bytes()) if kept_at.is_file() else {}
    place = folder / "competitions" / source.name
    folder.mkdir(parents=True, exist_ok=True)
    for file in source.files:
        if file in kept and (place / file).is_file():
            if _sha256(place / file) == kept[file]:
                continue
            (progress or silent)(f"{place / file} has changed on disk; downloading it again.")
            (place / file).unlink()
        environment = dict(os.environ) | {"KAGGLEHUB_CACHE": str(folder), "TQDM_MININTERVAL": "2"}
        worker.call(
            Path(__file__).with_name("_kaggle.py"),
            "download",
            {"competition": source.name, "file": file, "page": source.page},
            Interpreter(Path(sys.executable), ()),
            seconds=_LONGEST,
            silence=_LONGEST_SILENCE,
            environment=environment,
            failure=PreparationError,
            progress=progress,
        )
        if not (place / file).is_file():
            raise PreparationError(f"Kaggle's client did not put {file} at {place}; {_by_hand(source)}.")
        _look_at(place / file, source)
        kept[file] = _sha256(place / file)
        write_durably(kept_at, json.dumps(kept, indent=1).encode())
    return place


def _from_given(source: KaggleSource, given: Path, unpacked: Path) -> Path:
    """The files out of an archive or a folder, without changing either."""
    if not given.exists():
        raise PreparationError(f"There is no {given} to take {source.name} from; {_by_hand(source)}.")
    if given.is_dir():
        if all((given / file).is_file() for file in source.files):
            return given
        archive = given / f"{source.name}.zip"
        return (
            _from_given(source, archive, unpacked) if archive.is_file() else _gather(source, given, unpacked)
        )
    if not zipfile.is_zipfile(given):
        raise PreparationError(f"{given} is not a whole zip archive; {_by_hand(source)}.")
    shutil.rmtree(unpacked, ignore_errors=True)
    with zipfile.ZipFile(given) as archive_file:
        for file in source.files:
            _extract(
                archive_file, file, unpacked / file, f"{given} is not {source.name}.zip; {_by_hand(source)}"
            )
    return unpacked


def _gather(source: KaggleSource, given: Path, unpacked: Path) -> Path:
    """Files that lie one folder deeper, or in zips of their own, as Kaggle's page gives them."""
    shutil.rmtree(unpacked, ignore_errors=True)
    for file in source.files:
        target = unpacked / file
        target.parent.mkdir(parents=True, exist_ok=True)
        deeper = [folder / file for folder in sorted(given.iterdir()) if (folder / file).is_file()]
        zipped = [
            path for path in (given / f"{file}.zip", given / f"{Path(file).name}.zip") if path.is_file()
        ]
        if (given / file).is_file():
            target.symlink_to(given / file)
        elif zipped and zipfile.is_zipfile(zipped[0]):
            with zipfile.ZipFile(zipped[0]) as archive:
                _extract(archive, Path(file).name, target, f"{zipped[0]} is not {file}; {_by_hand(source)}")
        elif len(deeper) == 1:
            target.symlink_to(deeper[0])
        else:
            raise PreparationError(f"{given} has no {file}; {_by_hand(source)}.")
    return unpacked


def _extract(archive: zipfile.ZipFile, file: str, target: Path, otherwise: str) -> None:
    """One member, by its name or by the only one that ends with it; never to where the archive says."""
    names = [name for name in archive.namelist() if name == file or name.endswith(f"/{file}")]
    chosen = file if file in names else names[0] if len(names) == 1 else None
    if chosen is None:
        raise PreparationError(f"There is no {file} in it: {otherwise}.")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with archive.open(chosen) as member, target.open("wb") as stream:
            shutil.copyfileobj(member, stream, 2**20)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError) as error:
        raise PreparationError(f"{file} cannot be unpacked ({error}): {otherwise}.") from None


def _look_at(file: Path, source: KaggleSource) -> None:
    """Refuse what is no data at all: nothing, or the web page that a lost session is answered with."""
    with file.open("rb") as stream:
        start = stream.read(512).lstrip().lower()
    if not start:
        problem = "is empty"
    elif start.startswith((b"<!doctype html", b"<html")):
        problem = "is a web page, not data"
    else:
        return
    raise PreparationError(f"{file} {problem}; remove it, and {_by_hand(source)}.")


def _by_hand(source: KaggleSource) -> str:
    return f"download {source.name}.zip from {source.page}/data and give --from its path"


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
