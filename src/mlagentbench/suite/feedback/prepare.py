"""Essays of language learners: the competition's for `full`, made-up ones for `mini`."""

from __future__ import annotations

import csv
import hashlib
import runpy
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
SCORES = ["cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions"]
COLUMNS = ["text_id", "full_text", *SCORES]
ALLOWED = {f"{half / 2:.1f}" for half in range(2, 11)}
FULL_ROWS = 3911
MINI_ROWS, MINI_TEST_ROWS = 2600, 1000
# The longest published essays have some six thousand characters; the csv module's own limit is meant for hostile files.
LONGEST_TEXT = 2**20

Row = dict[str, str]


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    if variant == "mini":
        rows, test_rows = made_up(seed), MINI_TEST_ROWS
        origin = "These essays are synthetic: a program made them up. No such writers exist, nor some of their words."
    elif source is None:
        raise PreparationError("feedback full is made from the competition's train.csv; give its folder.")
    else:
        rows = published(source / "train.csv")
        test_rows = len(rows) // 5
        origin = "Essays of school pupils from the eighth to the twelfth grade who learn English as a foreign language."

    # Ranked by a keyed hash: the same whatever the order of rows, and not to be guessed without the seed.
    ranked = sorted(rows, key=lambda row: _hash(seed, row["text_id"]))
    test = sorted(ranked[:test_rows], key=lambda row: row["text_id"])
    train = sorted(ranked[test_rows:], key=lambda row: row["text_id"])
    sample = [{"text_id": row["text_id"], **dict.fromkeys(SCORES, "3.0")} for row in test]

    _write(public / "train.csv", COLUMNS, train)
    _write(public / "test.csv", COLUMNS[:2], test)
    _write(public / "sample_submission.csv", ["text_id", *SCORES], sample)
    _write(private / "answers.csv", ["text_id", *SCORES], test)
    description = (HERE / "columns.txt").read_text(encoding="utf-8")
    (public / "data_description.txt").write_text(f"{origin}\n\n{description}", encoding="utf-8")


def made_up(seed: int) -> list[Row]:
    words = runpy.run_path(str(HERE / "words.py"))
    essays = runpy.run_path(str(HERE / "synthetic.py"))["essays"]
    rows = essays(int.from_bytes(_hash(seed, "essays"), "big"), MINI_ROWS, words)
    return [
        {"text_id": _hash(seed, f"essay {number}").hex()[:12].upper(), **row}
        for number, row in enumerate(rows)
    ]


def published(path: Path) -> list[Row]:
    """The rows of the competition's `train.csv`, or a sentence that says how the file differs from it."""
    advice = "take train.csv of feedback-prize-english-language-learning as it is"
    before = csv.field_size_limit(LONGEST_TEXT)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *cells = csv.reader(file, strict=True)
    except FileNotFoundError:
        raise PreparationError(f"{path} does not exist; {advice}.") from None
    except (ValueError, csv.Error) as error:
        raise PreparationError(f"{path} is not a CSV file ({error}); {advice}.") from None
    finally:
        csv.field_size_limit(before)
    if header != COLUMNS:
        missing = [column for column in COLUMNS if column not in header]
        extra = [column for column in header if column not in COLUMNS]
        difference = "; ".join(
            f"{what} {', '.join(map(repr, names))}"
            for what, names in (("it lacks", missing), ("it has in addition", extra))
            if names
        )
        raise PreparationError(f"{path} has other columns: {difference or 'their order differs'}; {advice}.")
    for place, row in enumerate(cells, start=1):
        if len(row) != len(COLUMNS):
            raise PreparationError(
                f"{path} has {len(row)} values in row {place}, not {len(COLUMNS)}; {advice}."
            )
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in cells]
    if len(rows) != FULL_ROWS:
        raise PreparationError(f"{path} has {len(rows)} rows, not {FULL_ROWS}; {advice}.")
    for row in rows:
        if not row["text_id"] or not row["full_text"].strip():
            raise PreparationError(
                f"{path} has a row without text_id or without text ({row['text_id']!r}); {advice}."
            )
        for score in SCORES:
            if row[score] not in ALLOWED:
                raise PreparationError(
                    f"{path} has the {score} {row[score]!r} for {row['text_id']}, not one of 1.0, 1.5, … 5.0; {advice}."
                )
    if len({row["text_id"] for row in rows}) != len(rows):
        raise PreparationError(f"{path} has a text_id more than once; {advice}.")
    return rows


def _hash(seed: int, what: str) -> bytes:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return hashlib.blake2b(what.encode(), key=key, digest_size=16).digest()


def _write(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
