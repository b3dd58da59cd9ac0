"""The read-only places of a workspace: what is shown there, and the placeholders that keep them free on
disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mlagentbench.errors import PathRefusedError, UsageError
from mlagentbench.workspace.paths import shown, split
from mlagentbench.workspace.removal import folder_at, remove_at, root_folder


@dataclass
class Place:
    """A name on the way to read-only data, or, with a `source`, such data itself."""

    source: Path | None = None
    is_file: bool = False
    inner: dict[str, Place] = field(default_factory=dict)


class Places:
    """All read-only places of one workspace."""

    def __init__(self, read_only: Mapping[str, Path], *, link: bool) -> None:
        self.root = Place()
        self._link = link
        for path, source in read_only.items():
            self._add(split(path), path, source)

    def _add(self, names: tuple[str, ...], path: str, source: Path) -> None:
        place = self.root
        for name in names:
            if place.source:
                break
            place = place.inner.setdefault(name, Place())
        if not names or place.source or place.inner:
            raise UsageError(
                f"Read-only place {shown(path)} lies inside another one, or another one inside it."
            )
        place.source = source.resolve()
        if not place.source.exists():
            raise UsageError(f"Read-only data {source} does not exist; prepare the task first.")
        place.is_file = not place.source.is_dir()

    def shown(self, names: tuple[str, ...]) -> tuple[Path, tuple[str, ...]] | None:
        """The read-only data in which `names` lie, if they do, and the names inside of the data."""
        place = self.root
        for depth, name in enumerate(names):
            if name not in place.inner:
                return None
            place = place.inner[name]
            if place.source:
                return place.source, names[depth + 1 :]
        return None

    def at(self, names: tuple[str, ...]) -> Place | None:
        """The place at `names`, if read-only data are there or beneath."""
        place = self.root
        for name in names:
            if name not in place.inner:
                return None
            place = place.inner[name]
        return place

    def refuse_change(self, names: tuple[str, ...]) -> None:
        """Refuse to change what is read-only, or holds something that is."""
        path = shown("/".join(names))
        if self.shown(names):
            raise PathRefusedError(f"{path} is read-only; write to another path, or copy it to one first.")
        if self.at(names):
            raise PathRefusedError(
                f"{path} holds read-only data, so it cannot be replaced, moved or removed."
            )

    def parents(self) -> list[tuple[str, ...]]:
        """Every folder on the way to read-only data, outer ones first."""
        found: list[tuple[str, ...]] = []
        rest: list[tuple[tuple[str, ...], Place]] = [((), self.root)]
        while rest:
            names, place = rest.pop()
            inner = [((*names, name), below) for name, below in place.inner.items() if not below.source]
            found += [names for names, _ in inner]
            rest += inner
        return found

    def mend(self, folder: int) -> list[str]:
        """Set every placeholder right beneath the open `folder`; a sentence for each that was not."""
        return self._mend(self.root, "", folder)

    def _mend(self, place: Place, path: str, folder: int) -> list[str]:
        notes = []
        for name, inner in place.inner.items():
            here = f"{path}{name}"
            if not self._is_intact(inner, name, folder):
                notes.append(
                    f"{shown(here)} is a read-only place and was removed or replaced; it was put back."
                )
                remove_at(folder, name)
                self._lay(inner, name, folder)
            if not inner.source:
                with folder_at(folder, name, 0o700) as below:
                    notes += self._mend(inner, f"{here}/", below)
        return notes

    def _is_intact(self, place: Place, name: str, folder: int) -> bool:
        try:
            status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if place.source is None:
            return stat.S_ISDIR(status.st_mode)
        if self._link:
            return stat.S_ISLNK(status.st_mode) and os.readlink(name, dir_fd=folder) == str(place.source)
        if place.is_file:
            return stat.S_ISREG(status.st_mode) and status.st_size == 0
        if not stat.S_ISDIR(status.st_mode):
            return False
        with folder_at(folder, name, 0o700) as below, os.scandir(below) as listing:
            return next(listing, None) is None

    def _lay(self, place: Place, name: str, folder: int) -> None:
        if place.source and self._link:
            os.symlink(place.source, name, dir_fd=folder)
        elif place.is_file:
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=folder))
        else:
            os.mkdir(name, dir_fd=folder)
            os.chmod(name, 0o755, dir_fd=folder)


def lay_read_only(folder: Path, read_only: Mapping[str, Path], *, link: bool) -> None:
    """Put links, or else mount points, at the read-only places of a folder, whatever is there instead."""
    with root_folder(folder, 0o700) as opened:
        Places(read_only, link=link).mend(opened)
