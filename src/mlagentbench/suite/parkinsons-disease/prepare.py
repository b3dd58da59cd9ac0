"""Ratings of Parkinson's disease: the competition's study for `full`, a made-up one of the same form for `mini`."""

from __future__ import annotations

import csv
import hashlib
import math
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
PARTS = ("updrs_1", "updrs_2", "updrs_3", "updrs_4")
AHEAD = (0, 6, 12, 24)
CLINICAL = ("visit_id", "patient_id", "visit_month", *PARTS, "upd23b_clinical_state_on_medication")
COLUMNS = {
    "train_clinical_data.csv": CLINICAL,
    "supplemental_clinical_data.csv": CLINICAL,
    "train_proteins.csv": ("visit_id", "visit_month", "patient_id", "UniProt", "NPX"),
    "train_peptides.csv": ("visit_id", "visit_month", "patient_id", "UniProt", "Peptide", "PeptideAbundance"),
}
FULL_ROWS = {
    "train_clinical_data.csv": 2615,
    "supplemental_clinical_data.csv": 2223,
    "train_proteins.csv": 232741,
    "train_peptides.csv": 981834,
}
FULL_PATIENTS = 248
HIDDEN = 0.2
"""Share of patients whose ratings are hidden."""
MINI_PATIENTS, MINI_OTHERS = 400, 150

Row = tuple[str, ...]


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    if variant == "mini":
        study = runpy.run_path(str(HERE / "synthetic.py"))["study"]
        tables = study(int.from_bytes(_hash(seed, "study"), "big"), MINI_PATIENTS, MINI_OTHERS)
        origin = "This study is synthetic: a program made it up, its patients, proteins and peptides too."
    elif source is None:
        raise PreparationError(
            "parkinsons-disease full is made from four files of the competition; give their folder."
        )
    else:
        tables = {name: published(source / name) for name in COLUMNS}
        origin = "The study of the competition: patients, their visits, ratings and samples."

    clinical, supplemental = (
        sorted(tables[name], key=lambda row: (int(row[1]), int(row[2])))
        for name in ("train_clinical_data.csv", "supplemental_clinical_data.csv")
    )
    patients = {row[1] for row in clinical}
    if variant != "mini" and len(patients) != FULL_PATIENTS:
        raise PreparationError(
            f"{source / 'train_clinical_data.csv'} is of {len(patients)} patients, not {FULL_PATIENTS}; {ADVICE}."
        )
    # Ranked by a keyed hash: the same whatever the order of rows, and not to be guessed without the seed.
    ranked = sorted(patients, key=lambda patient: _hash(seed, patient))
    hidden = set(ranked[: round(HIDDEN * len(ranked))])

    questions = [row for row in clinical if row[1] in hidden]
    _write(public / "train_clinical_data.csv", CLINICAL, (row for row in clinical if row[1] not in hidden))
    others = (row for row in supplemental if row[1] not in hidden)
    _write(public / "supplemental_clinical_data.csv", CLINICAL, others)
    for name in ("train_proteins.csv", "train_peptides.csv"):
        _share_out(tables[name], COLUMNS[name], hidden, public / name, public / name.replace("train", "test"))
    _write(
        public / "test.csv",
        ("visit_id", "visit_month", "patient_id", "updrs_test", "row_id", "group_key"),
        ((row[0], row[2], row[1], part, f"{row[0]}_{part}", row[2]) for row in questions for part in PARTS),
    )
    answers = list(ratings_ahead(questions))
    _write(private / "answers.csv", ("prediction_id", "rating"), answers)
    _write(public / "sample_submission.csv", ("prediction_id", "rating"), ((row[0], "0") for row in answers))
    description = (HERE / "columns.txt").read_text(encoding="utf-8")
    (public / "data_description.txt").write_text(f"{origin}\n\n{description}", encoding="utf-8")


def ratings_ahead(visits: Sequence[Row]) -> Iterator[Row]:
    """Each prediction id with its rating; with nothing where nobody rated the patient in that month."""
    rated = {(row[1], int(row[2])): row[3:7] for row in visits}
    for visit, patient, month, *_ in visits:
        for index, part in enumerate(PARTS):
            for ahead in AHEAD:
                ratings = rated.get((patient, int(month) + ahead))
                yield f"{visit}_{part}_plus_{ahead}_months", ratings[index] if ratings else ""


def _share_out(rows: Iterable[Row], columns: Row, hidden: set[str], train: Path, test: Path) -> None:
    """Rows of hidden patients go to the test file, where the month is repeated as the competition's group key."""
    with (
        train.open("w", encoding="utf-8", newline="") as train_file,
        test.open("w", encoding="utf-8", newline="") as test_file,
    ):
        known = csv.writer(train_file, lineterminator="\n")
        asked = csv.writer(test_file, lineterminator="\n")
        known.writerow(columns)
        asked.writerow((*columns, "group_key"))
        for row in sorted(rows, key=lambda row: (int(row[2]), int(row[1]), *row[3:])):
            if row[2] in hidden:
                asked.writerow((*row, row[1]))
            else:
                known.writerow(row)


def _hash(seed: int, what: str) -> bytes:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return hashlib.blake2b(what.encode(), key=key, digest_size=16).digest()


def _write(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


ADVICE = "take the files of amp-parkinsons-disease-progression-prediction as they are"


def published(path: Path) -> list[Row]:
    """The rows of one of the competition's files, or a sentence that says how the file differs from it."""
    columns = COLUMNS[path.name]
    print(f"reading {path.name}")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            header = tuple(next(reader, ()))
            if not header:
                raise PreparationError(f"{path} is empty; {ADVICE}.")
            _check_header(path, header, columns)
            rows = [_checked(path, reader.line_num, row, columns) for row in reader]
    except FileNotFoundError:
        raise PreparationError(f"{path} does not exist; {ADVICE}.") from None
    except (ValueError, csv.Error) as error:
        raise PreparationError(f"{path} is not a CSV file ({error}); {ADVICE}.") from None
    if len(rows) != FULL_ROWS[path.name]:
        raise PreparationError(f"{path} has {len(rows)} rows, not {FULL_ROWS[path.name]}; {ADVICE}.")
    keys = len({(row[0], *row[3:-1]) if columns is not CLINICAL else row[0] for row in rows})
    if keys != len(rows):
        raise PreparationError(f"{path} has {len(rows) - keys} rows that are there more than once; {ADVICE}.")
    return rows


def _check_header(path: Path, header: Row, columns: Row) -> None:
    if header == columns:
        return
    missing = [column for column in columns if column not in header]
    extra = [column for column in header if column not in columns]
    difference = "; ".join(
        f"{what} {', '.join(map(repr, names))}"
        for what, names in (("it lacks", missing), ("it has in addition", extra))
        if names
    )
    raise PreparationError(f"{path} has other columns: {difference or 'their order differs'}; {ADVICE}.")


def _checked(path: Path, line: int, row: Sequence[str], columns: Row) -> Row:
    if len(row) != len(columns):
        raise PreparationError(f"{path} has {len(row)} values on line {line}, not {len(columns)}; {ADVICE}.")
    named = dict(zip(columns, row, strict=True))
    checks: dict[str, Callable[[str], bool]] = {"patient_id": _whole, "visit_month": _whole}
    if columns is CLINICAL:
        checks |= dict.fromkeys(PARTS, lambda text: not text or _measured(text))
    else:
        checks[columns[-1]] = _measured
    for column, good in checks.items():
        if not good(named[column]):
            raise PreparationError(
                f"{path} has the {column} {named[column]!r} on line {line}, not a number; {ADVICE}."
            )
    if named["visit_id"] != f"{named['patient_id']}_{named['visit_month']}":
        raise PreparationError(
            f"{path} has the visit_id {named['visit_id']!r} on line {line}, not patient_month; {ADVICE}."
        )
    # Most texts are there thousands of times; each is kept once.
    return (*map(sys.intern, row[:-1]), row[-1])


def _whole(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _measured(text: str) -> bool:
    try:
        return math.isfinite(float(text)) and float(text) >= 0
    except ValueError:
        return False
