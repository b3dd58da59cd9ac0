"""Passengers of the Spaceship Titanic: the competition's for `full`, made-up ones with the same columns for `mini`."""

from __future__ import annotations

import csv
import hashlib
import re
import runpy
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
FULL_ROWS, FULL_TEST_ROWS = 8693, 1739
MINI_ROWS, MINI_TEST_ROWS = 7500, 3000

Row = dict[str, str]


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    description = (HERE / "columns.txt").read_text(encoding="utf-8")
    columns = [line.split()[0] for line in description.partition("\n\n")[2].splitlines()]
    if variant == "mini":
        rows, test_rows = made_up(columns, seed), MINI_TEST_ROWS
        origin = "These passengers are synthetic: a program made them up, and what happened to them."
    elif source is None:
        raise PreparationError(
            "spaceship-titanic full is made from the competition's train.csv; give its folder."
        )
    else:
        rows, test_rows = published(columns, source / "train.csv"), FULL_TEST_ROWS
        origin = "Passengers of the Spaceship Titanic, as the competition tells of them."

    train, test = split(rows, test_rows, seed)
    sample = [{"PassengerId": row["PassengerId"], "Transported": "False"} for row in test]
    _write(public / "train.csv", columns, train)
    _write(public / "test.csv", columns[:-1], test)
    _write(public / "sample_submission.csv", ["PassengerId", "Transported"], sample)
    _write(private / "answers.csv", ["PassengerId", "Transported"], test)
    (public / "data_description.txt").write_text(f"{origin}\n\n{description}", encoding="utf-8")


def split(rows: Iterable[Row], test_rows: int, seed: int) -> tuple[list[Row], list[Row]]:
    """Train and test. Whoever travels together stays together: groups go to the test part, in the order of a keyed
    hash, until it has `test_rows`. That is the same whatever the order of rows, and not to be guessed without the seed.
    """
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: row["PassengerId"]):
        groups.setdefault(row["PassengerId"].partition("_")[0], []).append(row)
    train: list[Row] = []
    test: list[Row] = []
    for group in sorted(groups, key=lambda group: _hash(seed, group)):
        (test if len(test) < test_rows else train).extend(groups[group])
    return tuple(sorted(part, key=lambda row: row["PassengerId"]) for part in (train, test))


def made_up(columns: Sequence[str], seed: int) -> list[Row]:
    passengers = runpy.run_path(str(HERE / "synthetic.py"))["passengers"]
    table = passengers(int.from_bytes(_hash(seed, "passengers"), "big"), MINI_ROWS)
    return [
        dict(zip(columns, values, strict=True))
        for values in zip(*(table[column].tolist() for column in columns), strict=True)
    ]


def _hash(seed: int, what: str) -> bytes:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return hashlib.blake2b(what.encode(), key=key, digest_size=16).digest()


def _write(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def published(columns: Sequence[str], path: Path) -> list[Row]:
    """The rows of the competition's `train.csv`, or a sentence that says how the file differs from it."""
    advice = "take train.csv of spaceship-titanic as it is"
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *cells = csv.reader(file, strict=True)
    except FileNotFoundError:
        raise PreparationError(f"{path} does not exist; {advice}.") from None
    except (ValueError, csv.Error) as error:
        raise PreparationError(f"{path} is not a CSV file ({error}); {advice}.") from None
    if header != columns:
        missing = [column for column in columns if column not in header]
        extra = [column for column in header if column not in columns]
        difference = "; ".join(
            f"{what} {', '.join(map(repr, names))}"
            for what, names in (("it lacks", missing), ("it has in addition", extra))
            if names
        )
        raise PreparationError(f"{path} has other columns: {difference or 'their order differs'}; {advice}.")
    for line, row in enumerate(cells, start=2):
        if len(row) != len(columns):
            raise PreparationError(
                f"{path} has {len(row)} values on line {line}, not {len(columns)}; {advice}."
            )
    rows = [dict(zip(columns, row, strict=True)) for row in cells]
    if len(rows) != FULL_ROWS:
        raise PreparationError(f"{path} has {len(rows)} rows, not {FULL_ROWS}; {advice}.")
    for passenger in rows:
        if not re.fullmatch(r"[0-9]{4}_[0-9]{2}", passenger["PassengerId"]):
            raise PreparationError(
                f"{path} has the PassengerId {passenger['PassengerId']!r}, not one such as 0001_01; {advice}."
            )
        if passenger["Transported"] not in ("True", "False"):
            raise PreparationError(
                f"{path} has the Transported {passenger['Transported']!r}, not True or False; {advice}."
            )
    if len({row["PassengerId"] for row in rows}) != FULL_ROWS:
        raise PreparationError(f"{path} has a PassengerId more than once; {advice}.")
    return rows
