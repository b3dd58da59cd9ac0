"""A packed run back into a folder of runs. A pack is taken for hostile: everything in it is bounded and checked aside.
Of a pack that is refused, nothing stays."""

from __future__ import annotations

import gzip
import hashlib
import secrets
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from mlagentbench import bounds
from mlagentbench.errors import RecordError, UsageError
from mlagentbench.record.folder import STORE, RunFolder
from mlagentbench.record.packing import PARTS, objects_of, snapshots_of
from mlagentbench.workspace import Store, measure

_CHUNK = 2**19
_OBJECTS = "objects"


def unpack(file: str | Path, runs: str | Path = "runs") -> Path:
    """Put a packed run into a folder of runs, all of it or nothing."""
    root = Path(runs).absolute()
    try:
        with _aside(root) as aside, gzip.open(file, "rb") as stream:
            with tarfile.open(fileobj=_Bounded(stream), mode="r:") as archive:  # type: ignore[call-overload]
                place = _extract(archive, root, aside)
            _demand_whole(RunFolder(aside / "run"))
            if place.exists():
                raise UsageError(f"{place} exists already; this run was unpacked before.")
            with Store(root / STORE) as store:
                for staged in sorted((aside / STORE / _OBJECTS).iterdir()):
                    store.adopt(staged, staged.name)
            place.parent.mkdir(parents=True, exist_ok=True)
            (aside / "run").rename(place)
    except (tarfile.TarError, zlib.error, EOFError, OSError, ValueError) as error:
        raise RecordError(f"{file} cannot be unpacked: {error}.") from None
    except RecordError as error:
        raise RecordError(f"{file} is no pack, or a damaged one: {error}") from None
    return place


@contextmanager
def _aside(root: Path) -> Iterator[Path]:
    """A place on the same disk where nobody looks for runs. Folders that were made for it go with it, if they are still
    empty."""
    new = [folder for folder in (root / STORE, root, *root.parents) if not folder.exists()]
    aside = root / STORE / f"unpacking-{secrets.token_hex(6)}"
    (aside / STORE / _OBJECTS).mkdir(parents=True)
    (aside / "run").mkdir()
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        for folder in new:
            if not any(folder.iterdir()):
                folder.rmdir()


class _Bounded:
    """The stream inside of a pack. Neither all of it nor one header of it can be larger than the bounds allow."""

    def __init__(self, stream: gzip.GzipFile) -> None:
        self._stream = stream
        self._most, self._longest = bounds.PACK.value(), bounds.PACK_HEADER.value()

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= self._longest:
            bounds.PACK_HEADER.check(2**62, "it")
        data = self._stream.read(size)
        self._check(self._stream.tell())
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        self._check(offset)
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()

    def _check(self, offset: int) -> None:
        if offset > self._most:
            bounds.PACK.check(offset, "it")


def _extract(archive: tarfile.TarFile, root: Path, aside: Path) -> Path:
    """Objects go to the store in `aside`, everything else to the run in it; gives back where the run belongs."""
    place: Path | None = None
    count = 0
    while (entry := archive.next()) is not None:
        archive.members.clear()  # type: ignore[attr-defined]  # which would keep every header in memory
        count += 1
        bounds.PACK_ENTRIES.check(count, "it")
        if not entry.isreg() or entry.issparse():
            raise RecordError(f"it holds {entry.name!r}, which is not a plain file.")
        bounds.PACK.check(entry.size, f"{entry.name!r}")
        content = archive.extractfile(entry)
        assert content is not None
        parts = PurePosixPath(entry.name).parts
        if parts[:2] == (STORE, _OBJECTS) and len(parts) == 3:
            if _write(content, aside / STORE / _OBJECTS / f".{count}") != parts[2]:
                raise RecordError(f"the object {parts[2]!r} is not what its name says.")
            (aside / STORE / _OBJECTS / f".{count}").rename(aside / STORE / _OBJECTS / parts[2])
            continue
        if not _belongs(parts):
            raise RecordError(f"it holds {entry.name!r}, which no run has.")
        place = place or root.joinpath(*parts[:4])
        if place != root.joinpath(*parts[:4]):
            raise RecordError("it holds parts of more than one run.")
        target = (aside / "run").joinpath(*parts[4:])
        target.parent.mkdir(exist_ok=True)
        _write(content, target)
    if place is None:
        raise RecordError("it holds no run.")
    return place


def _write(content: IO[bytes], target: Path) -> str:
    """Write it piece by piece; the hash of what was written."""
    digest = hashlib.sha256()
    with target.open("wb") as stream:
        while piece := content.read(_CHUNK):
            digest.update(piece)
            stream.write(piece)
    return digest.hexdigest()


def _demand_whole(folder: RunFolder) -> None:
    if not folder.request_file.is_file():
        raise RecordError("it has no run.json.")
    folder.request()
    with folder.store() as store:
        known: dict[str, tuple[int, int, int]] = {}
        for snapshot in snapshots_of(folder):
            measure(store, snapshot, known)
        for name in objects_of(folder):
            if not store.has(name):
                raise RecordError(f"the object {name} is missing.")


def _belongs(parts: tuple[str, ...]) -> bool:
    if len(parts) < 5 or any(part in ("..", ".", "/", "", STORE) for part in parts):
        return False
    rest = parts[4:]
    return (len(rest) == 1 and rest[0] in PARTS) or (len(rest) == 2 and rest[0] == "outputs")
