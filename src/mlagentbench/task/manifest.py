"""What lies in prepared folders, file by file, so that a change on disk is noticed."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from mlagentbench.errors import PreparationError


class FileRecord(BaseModel):
    model_config = ConfigDict(frozen=True)
    path: str
    """Relative to the prepared folder, with `/`: `public/train.csv`."""
    size: int
    mtime_ns: int
    sha256: str


class Manifest(BaseModel):
    """The content of `prepared.json`."""

    model_config = ConfigDict(frozen=True)
    format: int = 1
    task: str
    variant: str
    seed: int
    keyed: bool
    limit: int | None = None
    """So many records at most were taken from each list of a source."""
    given: str = ""
    """The path that `--from` named, so that the same data can be made again."""
    fingerprint: str
    """Of what the data were made from: the script, its requirements, where raw files come from."""
    digest: str
    """Of the content of all files."""
    files: tuple[FileRecord, ...]


def walk(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every file below, in the order of names, with its path relative to `folder`. Follows nothing."""
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if entry.is_dir(follow_symlinks=False):
            for path, status in walk(Path(entry.path)):
                yield f"{entry.name}/{path}", status
        else:
            yield entry.name, entry.stat(follow_symlinks=False)


def record(folder: Path, parts: Iterable[str]) -> tuple[FileRecord, ...]:
    """Hash every file of these sub-folders, and see to it that it is on the disk."""
    records = []
    for part in parts:
        for path, status in walk(folder / part):
            if not stat.S_ISREG(status.st_mode):
                raise PreparationError(
                    f"{part}/{path} is not a plain file; data may hold files and folders only."
                )
            with open(folder / part / path, "rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
                os.fsync(stream.fileno())
            records.append(
                FileRecord(
                    path=f"{part}/{path}", size=status.st_size, mtime_ns=status.st_mtime_ns, sha256=digest
                )
            )
    return tuple(records)


def digest_of(records: Iterable[FileRecord]) -> str:
    lines = "".join(f"{record.sha256} {record.path}\n" for record in records)
    return hashlib.sha256(lines.encode(errors="surrogateescape")).hexdigest()


def differences(folder: Path, manifest: Manifest, parts: Iterable[str], *, rehash: bool) -> list[str]:
    """What is not as recorded, one phrase each; by size and time only, or by content too."""
    found = {f"{part}/{path}": status for part in parts for path, status in _walk_if_there(folder / part)}
    told = []
    for each in manifest.files:
        status = found.pop(each.path, None)
        if status is None:
            told.append(f"{each.path} is missing")
        elif not stat.S_ISREG(status.st_mode):
            told.append(f"{each.path} is no longer a plain file")
        elif rehash:
            with open(folder / each.path, "rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != each.sha256:
                    told.append(f"{each.path} has other content")
        elif (status.st_size, status.st_mtime_ns) != (each.size, each.mtime_ns):
            told.append(f"{each.path} has changed")
    return told + [f"{path} was added" for path in found]


def _walk_if_there(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    if folder.is_dir():
        yield from walk(folder)
