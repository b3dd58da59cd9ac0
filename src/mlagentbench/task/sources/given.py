"""What a person downloaded by hand: an archive as the source calls it, or a folder. Neither is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from mlagentbench.errors import PreparationError
from mlagentbench.task.sources.naming import choose
from mlagentbench.task.sources.unpacking import Archive, is_archive

_DEEPEST = 6


class Folder:
    """A folder with files, some of them perhaps in zips of their own, as Kaggle's page gives single files."""

    def __init__(self, folder: Path, otherwise: str) -> None:
        self.file = folder
        self._otherwise = otherwise
        self._zipped: dict[str, str] = {}

    def names(self) -> list[str]:
        there = set(_files(self.file))
        self._zipped = {
            name.removesuffix(".zip"): name
            for name in there
            if name.endswith(".zip") and name.removesuffix(".zip") not in there
        }
        return [*there, *self._zipped]

    def put(self, chosen: dict[str, str], folder: Path) -> None:
        """Link to what lies there as it is; unpack what is zipped."""
        for place, name in chosen.items():
            target = folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if (zipped := self._zipped.get(name)) is None:
                target.symlink_to(self.file / name)
                continue
            archive = Archive(self.file / zipped, self._otherwise)
            inside = choose([name.rsplit("/", 1)[-1]], archive.names(), str(archive.file))
            if inside.missing:
                raise PreparationError(
                    f"{archive.file} does not hold {inside.missing[0]}; {self._otherwise}."
                )
            (member,) = inside.found.values()
            archive.put({place: member}, folder)


def shelves(given: Path, names: Sequence[str], otherwise: str) -> Iterator[Archive | Folder]:
    """Where the files of a source may lie: the archive that was given, or the folder, or an archive in it.

    `names` are those of its archives.
    """
    if not given.exists():
        raise PreparationError(f"There is no {given}; {otherwise}.")
    if not given.is_dir():
        yield Archive(given, otherwise)
        return
    yield Folder(given, otherwise)
    for name in names:
        if is_archive(name) and (given / name).is_file():
            yield Archive(given / name, otherwise)


def _files(folder: Path) -> Iterator[str]:
    """Every file below, by its path; folders are not followed out of it by links, nor for ever down."""
    for place, below, files in os.walk(folder):
        relative = Path(place).relative_to(folder)
        if len(relative.parts) >= _DEEPEST:
            below.clear()
        below[:] = [name for name in below if not name.startswith(".")]
        for file in files:
            yield (relative / file).as_posix()
