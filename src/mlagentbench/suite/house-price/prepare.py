"""House sales: the Ames data for `full`, made-up sales with the same columns for `mini`."""

from __future__ import annotations

import csv
import hashlib
import runpy
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
FULL_ROWS, FULL_TEST_ROWS = 1460, 292
MINI_ROWS, MINI_TEST_ROWS = 2660, 1200

Row = dict[str, str]


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    description = (HERE / "columns.txt").read_text(encoding="utf-8")
    columns = [line.split()[0] for line in description.partition("\n\n")[2].splitlines()]
    if variant == "mini":
        rows, test_rows = made_up(columns, seed), MINI_TEST_ROWS
        origin = "These sales are synthetic: a program made them up. No such houses exist."
    elif source is None:
        raise PreparationError("house-price full is made from the competition's train.csv; give its folder.")
    else:
        rows, test_rows = published(columns, source / "train.csv"), FULL_TEST_ROWS
        origin = "Sales of houses in Ames, Iowa, from 2006 to 2010."

    # Ranked by a keyed hash: the same whatever the order of rows, and not to be guessed without the seed.
    ranked = sorted(rows, key=lambda row: _hash(seed, row["Id"]))
    test = sorted(ranked[:test_rows], key=lambda row: int(row["Id"]))
    train = sorted(ranked[test_rows:], key=lambda row: int(row["Id"]))
    middle = sorted(int(row["SalePrice"]) for row in train)[len(train) // 2]
    sample = [{"Id": row["Id"], "SalePrice": str(middle)} for row in test]

    _write(public / "train.csv", columns, train)
    _write(public / "test.csv", columns[:-1], test)
    _write(public / "sample_submission.csv", ["Id", "SalePrice"], sample)
    _write(private / "answers.csv", ["Id", "SalePrice"], test)
    (public / "data_description.txt").write_text(f"{origin}\n\n{description}", encoding="utf-8")


def made_up(columns: Sequence[str], seed: int) -> list[Row]:
    houses = runpy.run_path(str(HERE / "synthetic.py"))["houses"]
    table = houses(int.from_bytes(_hash(seed, "houses"), "big"), MINI_ROWS)
    return [
        dict(zip(columns, map(str, values), strict=True))
        for values in zip(*(table[column] for column in columns), strict=True)
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
    advice = "take train.csv of home-data-for-ml-course as it is"
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
    for house in rows:
        for column in ("Id", "SalePrice"):
            if not (house[column].isascii() and house[column].isdigit()):
                raise PreparationError(
                    f"{path} has the {column} {house[column]!r}, not a whole number; {advice}."
                )
    if len({row["Id"] for row in rows}) != FULL_ROWS:
        raise PreparationError(f"{path} has an Id more than once; {advice}.")
    return rows
