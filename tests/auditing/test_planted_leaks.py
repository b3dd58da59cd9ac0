"""Tasks whose answers can be had without learning anything: an audit says which feature or file gives them away."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlagentbench import audit
from mlagentbench.auditing.report import AuditReport
from mlagentbench.auditing.searching import answers_in_files
from mlagentbench.auditing.shallow import best_of, column_features, id_features, order_features

TASK = """
name = "coin"
title = "Heads or tails"
modality = "table"
submission = "submission.csv"
entry = "train.py"
requirements = []
metric = { name = "accuracy", goal = "maximize", ceiling = 1.0 }
variants = { mini = { description = "Coins." } }
"""
PREPARE = """
import bz2, csv, gzip, json, lzma, pickle, random, struct, zipfile

def prepare(variant, public, private, seed):
    draw = random.Random(seed)
    rows = []
    for number in range(800):
        weight, spin, luck = (draw.gauss(0, 1) for _ in range(3))
        label = int(weight + spin + luck > 0)
        rows.append({"id": number, "weight": f"{weight:.3f}", "spin": f"{spin:.3f}", "label": label})
    train, test = rows[:400], rows[400:]
    names = ["id", "weight", "spin"]
    # LEAK
    for number, row in enumerate(rows):
        row.setdefault("row", number)
    write(public / "train.csv", [*names, "label"], train)
    write(public / "test.csv", names, test)
    write(private / "answers.csv", ["id", "label"], test)

def write(file, names, rows):
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, names, extrasaction="ignore", lineterminator="\\n")
        writer.writeheader()
        writer.writerows(rows)
"""
GRADE = """
import csv
from mlagentbench.grading.table import choice, read_submission

def grade(submission, private):
    with (private / "answers.csv").open(newline="") as stream:
        truth = {row["id"]: row["label"] for row in csv.DictReader(stream)}
    given = read_submission(submission, "id", {"label": choice({"0": "0", "1": "1"})}, truth)
    return sum(given[row]["label"] == label for row, label in truth.items()) / len(truth)
"""
MODEL = """
import csv
rows = list(csv.DictReader(open("test.csv")))
with open("submission.csv", "w") as out:
    print("id,label", file=out)
    for row in rows:
        print(row["id"], int(RULE), sep=",", file=out)
print("validation accuracy: 0.5")
"""
RULES = {
    "starter": "float(row['weight']) > 1.2",
    "plain": "float(row['weight']) > 0",
    "solution": "float(row['weight']) + float(row['spin']) > 0",
}
CLEAN = "pass"
COLUMN = """names.append("tails")
    for row in rows:
        row["tails"] = 1 - row["label"]"""
PARITY = """for number, row in enumerate(rows):
        row["id"] = 2 * draw.randrange(10**5) * 800 + 2 * number + row["label"]"""
ORDER = """test.sort(key=lambda row: row["label"])
    for number, row in enumerate(test):
        row["id"] = f"x{draw.randrange(10**9):09d}-{row['id']}\""""
PACKED = """labels = [row["label"] for row in test]
    (public / "notes.bin").write_bytes(PACK)"""


@pytest.fixture
def coin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "coin"
    for part, rule in RULES.items():
        (folder / part).mkdir(parents=True)
        (folder / part / "train.py").write_text(MODEL.replace("RULE", rule))
    (folder / "task.toml").write_text(TASK)
    (folder / "grade.py").write_text(GRADE)
    (folder / "problem.md").write_text("Write {submission}.")
    return folder


def audited(coin: Path, leak: str) -> AuditReport:
    (coin / "prepare.py").write_text(PREPARE.replace("# LEAK", leak))
    return audit(coin)


SHORTCUT = "no id, order or single column tells the answers"
COPY = "no public file holds the answers, packed or not"


def test_without_a_leak_every_item_holds(coin: Path) -> None:
    report = audited(coin, CLEAN)
    assert report.ok, [f"{item.name}: {item.detail}" for item in report.failures]
    assert not report.unmeasured, "nothing is said to hold that was not measured"


@pytest.mark.parametrize(
    ("leak", "item", "told"),
    [
        (COLUMN, SHORTCUT, "test.csv:tails"),
        (PARITY, SHORTCUT, "the id's parity"),
        (ORDER, SHORTCUT, "the order of rows in test.csv"),
        (
            PACKED.replace("PACK", "gzip.compress(json.dumps(labels).encode(), mtime=0)"),
            COPY,
            "notes.bin (unpacked)",
        ),
    ],
    ids=[
        "a column is 1 minus the label",
        "the id's parity",
        "rows sorted by label",
        "answers packed in a file",
    ],
)
def test_a_planted_leak_fails_the_audit_and_is_named(coin: Path, leak: str, item: str, told: str) -> None:
    (failure,) = audited(coin, leak).failures
    assert failure.name == item and told in failure.detail


def test_noise_that_was_not_measured_is_not_ticked(coin: Path) -> None:
    (coin / "grade.py").write_text(GRADE)
    report = audited(coin, CLEAN)
    by_name = {item.name: item for item in report.items}
    assert by_name["the starter's noise is below the threshold"].measured, "the baseline was run three times"
    assert "over 3 runs" in by_name["the starter's noise is below the threshold"].detail


LABELS = [str(number * 7919 % 13 % 2) for number in range(300)]
ANSWERS = {f"id-{number}": label for number, label in enumerate(LABELS)}
PACKINGS = {
    "json": "json.dumps([int(l) for l in labels]).encode()",
    "json of text": "json.dumps(labels).encode()",
    "json of pairs": "json.dumps(answers).encode()",
    "lines": "'\\n'.join(labels).encode()",
    "bytes": "bytes(map(int, labels))",
    "bits": "int(''.join(labels), 2).to_bytes((len(labels) + 7) // 8, 'big')",
    "other way round": "bytes(1 - int(l) for l in labels)",
    "int64": "struct.pack(f'<{len(labels)}q', *map(int, labels))",
    "float32": "struct.pack(f'<{len(labels)}f', *map(float, labels))",
    "pickle": "pickle.dumps([int(l) for l in labels])",
    "pickle of truths": "pickle.dumps([l == '1' for l in labels])",
    "gzip": "gzip.compress('\\n'.join(labels).encode())",
    "bz2": "bz2.compress('\\n'.join(labels).encode())",
    "xz": "lzma.compress('\\n'.join(labels).encode())",
    "zlib": "zlib.compress('\\n'.join(labels).encode())",
    "zip": "zipped('\\n'.join(labels).encode())",
    "zip of gzip": "zipped(gzip.compress(json.dumps(answers).encode()))",
    "tar of xz": "tarred(lzma.compress(bytes(map(int, labels))))",
}


@pytest.mark.parametrize("how", PACKINGS)
def test_answers_are_found_however_they_are_written(tmp_path: Path, how: str) -> None:
    import bz2
    import gzip
    import io
    import json
    import lzma
    import pickle
    import struct
    import tarfile
    import zipfile
    import zlib

    def zipped(data: bytes) -> bytes:
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inner.npy", b"header" + data if data[:2] != b"\x1f\x8b" else data)
        return stream.getvalue()

    def tarred(data: bytes) -> bytes:
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:
            info = tarfile.TarInfo("inner")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        return stream.getvalue()

    known = {each.__name__: each for each in (bz2, gzip, json, lzma, pickle, struct, zlib)}
    content = eval(
        PACKINGS[how], {**known, "zipped": zipped, "tarred": tarred, "labels": LABELS, "answers": ANSWERS}
    )
    (tmp_path / "notes.bin").write_bytes(content)
    found, cut = answers_in_files(tmp_path, "answers.csv:label", ANSWERS)
    assert len(found) >= 1 and "notes.bin" in found[0] and not cut


def test_files_without_the_answers_hold_none(tmp_path: Path) -> None:
    constant = "id,label\n" + "".join(f"{row},0\n" for row in ANSWERS)
    (tmp_path / "sample_submission.csv").write_text(constant)
    (tmp_path / "broken.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    (tmp_path / "broken.gz").write_bytes(b"\x1f\x8b" + bytes(100))
    (tmp_path / "zeros.bin").write_bytes(bytes(10_000))
    assert answers_in_files(tmp_path, "answers.csv:label", ANSWERS) == ([], [])


def test_a_feature_that_differs_in_every_row_tells_nothing() -> None:
    ids = list(ANSWERS)
    features = column_features("name", {row: f"{row}-{number * 31 % 97}" for number, row in enumerate(ids)})
    best = best_of({"name as a category": features["name as a category"]}, ANSWERS)
    assert best is not None and best.skill <= 0


def test_what_an_honest_column_tells_is_measured_and_is_not_all() -> None:
    values = {row: ANSWERS[row] if number % 4 else "1" for number, row in enumerate(ANSWERS)}
    best = best_of({**id_features(list(ANSWERS)), **column_features("hint", values)}, ANSWERS)
    assert best is not None and "hint" in best.feature and 0.3 < best.skill < 0.97


def test_numbers_in_the_order_of_rows_are_told_by_the_order() -> None:
    answers = {f"r{number * 37 % 400}": str(number * 1.5) for number in range(400)}
    best = best_of(order_features(list(answers), "test.csv"), answers)
    assert best is not None and best.skill > 0.99
