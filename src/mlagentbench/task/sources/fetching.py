"""From what a variant says about its sources to one folder with all of their files, at their places."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from mlagentbench.errors import PreparationError, UsageError
from mlagentbench.folders import cache_folder
from mlagentbench.task.cache import locked
from mlagentbench.task.definition import (
    Archived,
    HttpSource,
    HuggingFaceSource,
    KaggleSource,
    ListedSource,
    Source,
)
from mlagentbench.task.progress import Progress, silent
from mlagentbench.task.sources import hub, kaggle, listed
from mlagentbench.task.sources.given import Folder, shelves
from mlagentbench.task.sources.naming import Choice, choose, record_files
from mlagentbench.task.sources.unpacking import Archive, is_archive
from mlagentbench.task.sources.web import Wanted, digest_of, download


def fetch_all(
    sources: Sequence[Source],
    folder: Path,
    given: Path | None = None,
    progress: Progress | None = None,
    limit: int | None = None,
) -> None:
    """Put the files of all sources into `folder`, which is empty: unpacked, or as links to where they are kept.

    `given` is what a person downloaded. Of records and listed files, only the first `limit` are taken.
    """
    given = given.expanduser().absolute() if given is not None else None
    if given is not None and given.is_file():
        own = [source for source in sources if not isinstance(source, ListedSource)]
        if len(own) > 1:
            raise UsageError(
                f"{given} is one file, and {len(own)} sources are needed: {' and '.join(s.name for s in own)}. "
                "Give --from a folder that holds all of them."
            )
    for source in sources:
        place = folder / source.into
        place.mkdir(parents=True, exist_ok=True)
        name = f"{source.kind}-{source.name.replace('/', '--')}"
        with locked(
            cache_folder() / "downloads" / f"{name}.lock", f"the download of {source.name}", progress
        ):
            if isinstance(source, ListedSource):
                _lay_listed(source, folder, place, given, progress, limit)
            elif given is not None:
                _lay_given(source, place, given, limit)
            else:
                _lay_fetched(source, place, progress, limit)
        for file in sorted(place.rglob("*")):
            if file.is_file():
                _look_at(file, _by_hand(source))


def _lay_fetched(
    source: KaggleSource | HttpSource | HuggingFaceSource,
    place: Path,
    progress: Progress | None,
    limit: int | None,
) -> None:
    downloads = cache_folder() / "downloads"
    if isinstance(source, KaggleSource):
        _link(kaggle.fetch(source, downloads, limit, progress), place)
    elif isinstance(source, HuggingFaceSource):
        _link(hub.fetch(source, downloads, progress), place)
    else:
        address = hashlib.sha256(source.url.encode()).hexdigest()[:16]
        file = downloads / "http" / address / source.name
        wanted = Wanted(source.name, source.url, source.page, _by_hand(source), *_checksum(source))
        if file.is_file() and wanted.algorithm and digest_of(file, wanted.algorithm) != wanted.digest:
            (progress or silent)(f"{file} has changed on disk; downloading it again.")
            file.unlink()
        if not file.is_file():
            download(wanted, file, progress)
        _lay_archived(source, file, place, _by_hand(source))


def _lay_archived(form: Archived, file: Path, place: Path, otherwise: str) -> None:
    """One downloaded file: unpacked where it is an archive, as it is where it is not."""
    if not is_archive(form.name):
        return _link({form.name: file}, place)
    _look_at(file, otherwise)
    if not _take(Archive(file, otherwise), form.files, place):
        raise PreparationError(f"{file} {_lack(Archive(file, otherwise), form.files)}; {otherwise}.")
    return None


def _lay_given(
    source: KaggleSource | HttpSource | HuggingFaceSource, place: Path, given: Path, limit: int | None
) -> None:
    """The files of one source out of what was given, which may hold other sources too."""
    otherwise = _by_hand(source)
    if not given.exists():
        raise PreparationError(f"There is no {given} to take {source.name} from; {otherwise}.")
    if isinstance(source, HttpSource):
        return _lay_given_http(source, place, given)
    for root in _roots(source, given):
        for shelf in shelves(root, [f"{source.name}.zip"], otherwise):
            if _take(shelf, source.files, place):
                if isinstance(source, KaggleSource):
                    for records in source.records:
                        more = record_files(records, place, limit, otherwise)
                        if not _take(shelf, more, place):
                            raise PreparationError(f"{shelf.file} {_lack(shelf, more)}; {otherwise}.")
                return None
    raise PreparationError(
        f"{given} {_lack(next(shelves(given, [], otherwise)), source.files)}; {otherwise}."
    )


def _lay_given_http(source: HttpSource, place: Path, given: Path) -> None:
    forms: list[Archived] = [source, *source.alternatives]
    otherwise = _by_hand(source)
    if given.is_file():
        named = [form for form in forms if form.name == given.name]
        form = named[0] if named else next((form for form in forms if _is_as_published(form, given)), source)
        _check_given(form, given, otherwise)
        return _lay_archived(form, given, place, otherwise)
    for root in _roots(source, given):
        for form in forms:
            if (root / form.name).is_file():
                _check_given(form, root / form.name, otherwise)
                return _lay_archived(form, root / form.name, place, otherwise)
            if form.files and _take(Folder(root, otherwise), form.files, place):
                return None
    raise PreparationError(
        f"{given} {_lack(Folder(given, otherwise), source.files or (source.name,))}; {otherwise}."
    )


def _lay_listed(
    source: ListedSource,
    folder: Path,
    place: Path,
    given: Path | None,
    progress: Progress | None,
    limit: int | None,
) -> None:
    """Those that were given are taken from there; the others need no account, and are fetched."""
    addresses = listed.listed_files(source, folder, limit)
    for root in _roots(source, given) if given is not None and given.is_dir() else ():
        found = {name: root / name for name in addresses if (root / name).is_file()}
        _link(found, place)
        addresses = {name: url for name, url in addresses.items() if name not in found}
    _link(listed.fetch(source, addresses, cache_folder() / "downloads", progress), place)


def _roots(source: Source, given: Path) -> Iterator[Path]:
    """Folders that a source's files may lie in, where a person put several sources into one."""
    if given.is_dir():
        names = dict.fromkeys((source.into, source.name, source.name.rsplit("/", 1)[-1]))
        yield from (given / name for name in names if name and (given / name).is_dir())
    yield given


def _take(shelf: Archive | Folder, wanted: Sequence[str], place: Path) -> bool:
    choice = _choice(shelf, wanted)
    if choice.missing:
        return False
    shelf.put(choice.found, place)
    return True


def _choice(shelf: Archive | Folder, wanted: Sequence[str]) -> Choice:
    return choose(wanted, shelf.names(), str(shelf.file))


def _lack(shelf: Archive | Folder, wanted: Sequence[str]) -> str:
    missing = _choice(shelf, wanted).missing
    more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
    return f"has no {missing[0]}{more} in it" if missing else "cannot be read"


def _link(files: dict[str, Path], place: Path) -> None:
    for name, file in files.items():
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(file)


def _checksum(form: Archived) -> tuple[str, str]:
    return ("sha256", form.sha256) if form.sha256 else ("md5", form.md5) if form.md5 else ("", "")


def _is_as_published(form: Archived, file: Path) -> bool:
    algorithm, digest = _checksum(form)
    return bool(algorithm) and digest_of(file, algorithm) == digest


def _check_given(form: Archived, file: Path, otherwise: str) -> None:
    algorithm, digest = _checksum(form)
    if algorithm and not _is_as_published(form, file):
        raise PreparationError(
            f"{file} is not {form.name} as it is published: its {algorithm.upper()} is "
            f"{digest_of(file, algorithm)}, not {digest}; {otherwise}."
        )


def _by_hand(source: Source) -> str:
    if isinstance(source, KaggleSource):
        return kaggle.by_hand(source)
    if isinstance(source, HuggingFaceSource):
        return hub.by_hand(source)
    if isinstance(source, ListedSource):
        return listed.by_hand(source)
    return f"download {source.name} from {source.page} and give --from its path"


def _look_at(file: Path, otherwise: str) -> None:
    """Refuse what is no data at all: nothing, or the web page that a lost session is answered with."""
    with file.open("rb") as stream:
        start = stream.read(512).lstrip().lower()
    if not start:
        problem = "is empty"
    elif start.startswith((b"<!doctype html", b"<html")):
        problem = "is a web page, not data"
    else:
        return
    kept = file.resolve()
    if kept.is_relative_to((cache_folder() / "downloads").resolve()):
        kept.unlink()
    raise PreparationError(f"{file.name} {problem}; try again, or {otherwise}.")
