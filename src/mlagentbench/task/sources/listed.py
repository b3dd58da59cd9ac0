"""Files, one URL each, that a JSON file lists: many small ones, fetched side by side."""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from mlagentbench.errors import PreparationError
from mlagentbench.task.definition import ListedSource
from mlagentbench.task.progress import Progress, silent
from mlagentbench.task.sources.naming import is_safe, read_records
from mlagentbench.task.sources.web import Wanted, download

_AT_ONCE = 16
_TRIES = 3
_BETWEEN_LINES = 2.0


def by_hand(source: ListedSource) -> str:
    return (
        f"put the files that you can get into the folder {source.into or source.name} of what you give --from"
    )


def listed_files(source: ListedSource, folder: Path, limit: int | None) -> dict[str, str]:
    """The address of every file, by name; the lists lie in `folder` already."""
    addresses: dict[str, str] = {}
    for each in source.lists:
        what = f"see {source.page}"
        for url, name in read_records(folder / each, source.records, (source.url, source.file), what):
            if not isinstance(name, str) or not is_safe(name):
                raise PreparationError(
                    f"{each} lists {name!r}, which is no name of a file; see {source.page}."
                )
            if not isinstance(url, str) or not url.startswith(("http://", "https://")):
                raise PreparationError(f"{each} lists {name} at {url!r}, which is no web address; {what}.")
            if addresses.setdefault(name, url) != url:
                raise PreparationError(f"{each} lists {name} at two addresses; see {source.page}.")
    return {name: addresses[name] for name in sorted(addresses)[:limit]}


def fetch(
    source: ListedSource, addresses: dict[str, str], downloads: Path, progress: Progress | None
) -> dict[str, Path]:
    """Where each file is kept, by the hash of its address."""
    folder = downloads / "listed" / source.name
    places = {name: folder / hashlib.sha256(url.encode()).hexdigest() for name, url in addresses.items()}
    missing = [name for name, place in places.items() if not place.is_file()]
    if not missing:
        return places
    tell = progress or silent
    tell(f"{source.name}: {len(missing):,} of {len(places):,} files are to be fetched.")
    refusals: list[str] = []

    def fetch_one(name: str) -> None:
        wanted = Wanted(name, addresses[name], source.page, by_hand(source))
        for tries_left in reversed(range(_TRIES)):
            try:
                return download(wanted, places[name])
            except PreparationError as error:
                if "was cut" not in str(error) or not tries_left:
                    refusals.append(str(error))
                    return None

    told = time.monotonic()
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        running = [pool.submit(fetch_one, name) for name in missing]
        for done, each in enumerate(as_completed(running), start=1):
            each.result()
            if time.monotonic() - told >= _BETWEEN_LINES or done == len(missing):
                told = time.monotonic()
                tell(f"{source.name}: {done:,} of {len(missing):,} files, {done / len(missing):.0%}")
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
    if refusals:
        raise PreparationError(
            f"{len(refusals):,} of {len(places):,} files of {source.name} cannot be had; the others are kept, and the "
            f"same command asks for these again. The first of them: {sorted(refusals)[0]}"
        )
    return places
