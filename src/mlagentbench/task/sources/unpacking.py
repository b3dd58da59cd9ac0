"""Archives, which are hostile until they are proved otherwise: no links, no paths that lead out, bounded sizes."""

from __future__ import annotations

import gzip
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

from mlagentbench.errors import PreparationError

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz")
_BLOCK = 2**20
_SLACK = 64 * 2**20
_LARGEST_RATIO = 200
"""Archives of data pack to a half or a twentieth; what unpacks to more than this is made to fill a disk."""
_BROKEN = (
    zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError,
    NotImplementedError, RuntimeError, UnicodeError, ValueError,
)  # fmt: skip


def is_archive(name: str) -> bool:
    return name.lower().endswith(ARCHIVES)


@dataclass(frozen=True)
class _Member:
    name: str
    size: int
    open: Callable[[], IO[bytes] | None]
    """Gives None for what is no plain file."""


def _nothing() -> None:
    return None


class Archive:
    """A zip or tar file. `otherwise` says what to do where it is not what it must be."""

    def __init__(self, file: Path, otherwise: str) -> None:
        self.file = file
        self._otherwise = otherwise
        with self._told():
            self._zipped = zipfile.is_zipfile(file)
            if not self._zipped and not tarfile.is_tarfile(file):
                raise PreparationError(self._complaint("is not a whole archive"))

    def names(self) -> list[str]:
        """Of everything in it but folders."""
        with self._told():
            return [member.name for member in self._members()]

    def put(self, chosen: dict[str, str], folder: Path) -> None:
        """Unpack what was chosen, member by place, below `folder`."""
        places = {name: place for place, name in chosen.items()}
        left = min(_SLACK + _LARGEST_RATIO * self.file.stat().st_size, shutil.disk_usage(folder).free)
        with self._told():
            for member in self._members():
                place = places.pop(member.name, None)
                if place is None:
                    continue
                left -= member.size
                if left < 0:
                    raise PreparationError(
                        self._complaint(
                            f"unpacks to more than {_LARGEST_RATIO} times its size, or than there is space for"
                        )
                    )
                target = folder / place
                target.parent.mkdir(parents=True, exist_ok=True)
                self._unpack(member, target)
        if places:
            raise PreparationError(self._complaint(f"no longer holds {next(iter(places))}"))

    def _unpack(self, member: _Member, target: Path) -> None:
        stream = member.open()
        if stream is None:
            raise PreparationError(self._complaint(f"holds a link or a device in place of {member.name}"))
        copied = 0
        with stream, target.open("xb") as out:
            while (block := stream.read(_BLOCK)) and copied <= member.size:
                copied += len(block)
                out.write(block)
        if copied != member.size:
            raise PreparationError(self._complaint(f"holds a {member.name} that is not as long as it says"))

    def _members(self) -> Iterator[_Member]:
        """In the archive's order."""
        if self._zipped:
            with zipfile.ZipFile(self.file) as zipped:
                for info in zipped.infolist():
                    plain = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG)
                    if not info.is_dir():
                        yield _Member(
                            info.filename, info.file_size, partial(zipped.open, info) if plain else _nothing
                        )
        else:
            with tarfile.open(self.file) as tarred:
                for each in tarred:
                    plain = each.isreg() and not each.issparse()
                    if not each.isdir():
                        yield _Member(
                            each.name.removeprefix("./"),
                            each.size,
                            partial(tarred.extractfile, each) if plain else _nothing,
                        )

    def _complaint(self, problem: str) -> str:
        return f"{self.file} {problem}; {self._otherwise}."

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except _BROKEN as error:
            reason = str(error).rstrip(".") or type(error).__name__
            raise PreparationError(self._complaint(f"cannot be unpacked ({reason})")) from None
        except OSError as error:
            raise PreparationError(
                self._complaint(f"cannot be read or unpacked ({error.strerror or error})")
            ) from None
