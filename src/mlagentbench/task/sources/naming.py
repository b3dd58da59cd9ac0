"""Names of raw files: what a source wants, matched with what an archive or a folder has."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mlagentbench.errors import PreparationError
from mlagentbench.task.definition import Records

_LOOKED_AT = 5
"""So many of the wanted names tell in which folder of an archive all of them lie."""


@dataclass(frozen=True)
class Choice:
    """What was found of the wanted names, by the places that they are to be put at."""

    found: dict[str, str]
    missing: list[str]


def is_pattern(wanted: str) -> bool:
    """Whether it stands for any number of files: a glob, or a folder that ends in `/`."""
    return wanted.endswith("/") or any(sign in wanted for sign in "*?[")


def matches(wanted: str, name: str) -> bool:
    """Whether `name` is the wanted file, one of the wanted glob, or in the wanted folder."""
    parts, own = wanted.rstrip("/").split("/"), name.split("/")
    if wanted.endswith("/"):
        if len(own) <= len(parts):
            return False
        own = own[: len(parts)]
    return len(own) == len(parts) and all(
        fnmatchcase(each, part) for each, part in zip(own, parts, strict=True)
    )


def is_safe(name: str) -> bool:
    """Whether it is a plain relative path that stays where it is put."""
    if not name or name.startswith("/") or "\\" in name or "\0" in name or ":" in name.split("/")[0]:
        return False
    return all(part not in ("", ".", "..") for part in name.split("/"))


def choose(wanted: Sequence[str], names: Iterable[str], where: str) -> Choice:
    """The wanted files among `names`: as they are called, or all of them in one folder deeper or higher up.

    Where more than one folder has all of them, it is not clear which is meant, and it is refused.
    """
    safe = {name for name in names if is_safe(name)}
    best = _choice(wanted, {name: name for name in safe})
    if not best.missing:
        return best
    whole: dict[str, Choice] = {}
    for prefix in _prefixes(wanted, safe):
        choice = _choice(
            wanted, {name.removeprefix(prefix): name for name in safe if name.startswith(prefix)}
        )
        if not choice.missing:
            whole[prefix] = choice
        best = min(best, choice, key=lambda each: len(each.missing))
    if len(whole) > 1:
        raise PreparationError(
            f"{where} has {wanted[0]} in several folders ({', '.join(sorted(whole))}); give --from one of them."
        )
    first = {name.split("/")[0] for name in wanted}
    if not whole and len(first) == 1 and all("/" in name for name in wanted):
        above = f"{first.pop()}/"
        best = min(
            best,
            _choice(wanted, {above + name: name for name in safe}),
            key=lambda each: len(each.missing),
        )
    return next(iter(whole.values()), best)


def _choice(wanted: Sequence[str], places: dict[str, str]) -> Choice:
    found: dict[str, str] = {}
    missing = []
    for each in wanted:
        if not is_pattern(each):
            hits: Collection[str] = [each] if each in places else []
        else:
            hits = [place for place in places if matches(each, place)]
        found |= {place: places[place] for place in hits}
        if not hits:
            missing.append(each)
    return Choice(found, missing)


def _prefixes(wanted: Sequence[str], names: Collection[str]) -> Iterator[str]:
    """Folders that hold one of the first wanted files, at its place below them."""
    told = set()
    for each in wanted[:_LOOKED_AT]:
        depth = len(each.rstrip("/").split("/"))
        for name in names:
            parts = name.split("/")
            for start in range(1, len(parts) - depth + 1):
                prefix = "/".join(parts[:start]) + "/"
                if prefix not in told and matches(each, "/".join(parts[start:])):
                    told.add(prefix)
                    yield prefix


def record_files(records: Records, folder: Path, limit: int | None, by_hand: str) -> list[str]:
    """The files of the first `limit` records of a list, which lies in `folder` already."""
    names = read_records(folder / records.list, "", (records.key,), by_hand)
    chosen = sorted({str(name) for (name,) in names})[:limit]
    for name in chosen:
        if not is_safe(name) or "/" in name:
            raise PreparationError(
                f"{records.list} has the {records.key} {name!r}, which names no record; {by_hand}."
            )
    return [file.replace("{key}", name) for name in chosen for file in records.files]


def read_records(file: Path, field: str, keys: Sequence[str], by_hand: str) -> list[tuple[object, ...]]:
    """The values of these fields, for every object in the array of a JSON document."""
    try:
        content = json.loads(file.read_bytes())
        array = content[field] if field else content
        return [tuple(each[key] for key in keys) for each in array]
    except FileNotFoundError:
        raise PreparationError(f"There is no {file.name}, which lists the other files; {by_hand}.") from None
    except (ValueError, RecursionError) as error:
        raise PreparationError(f"{file.name} is not valid JSON ({error}); {by_hand}.") from None
    except (KeyError, TypeError, IndexError):
        what = f"array {field!r}" if field else "array"
        raise PreparationError(
            f"{file.name} has no {what} of objects with {' and '.join(map(repr, keys))}; {by_hand}."
        ) from None
