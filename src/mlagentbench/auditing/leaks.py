"""Can anything private be reached from where the agent works?"""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from mlagentbench.auditing.shallow import Told, best_of, column_features, id_features, order_features
from mlagentbench.grading.stages import Stage
from mlagentbench.grading.trial import run_in_workspace
from mlagentbench.task.layout import files_of

_MATCHES = 0.98
"""A public column that agrees with a private one on more than this share of rows gives the answers away."""
_LARGEST_TABLE = 200_000_000
_LEAST_ROWS = 20
_MOST_ROWS = 20_000
"""Answers that shallow models are fitted to."""

_PROBE = """
import hashlib, json, os, sys
wanted = json.loads(sys.stdin.read())
found = []
for path in wanted["paths"]:
    try:
        if os.path.isdir(path):
            if os.listdir(path): found.append(path)
        else:
            with open(path, "rb"): found.append(path)
    except OSError:
        pass
try:
    import mlagentbench
    found.append("the package mlagentbench, with every solution")
except ImportError:
    pass
sizes, hashes = set(wanted["sizes"]), set(wanted["hashes"])
for root in (os.getcwd(), "/workspace", "/tmp", "/home", "/root", "/mnt", "/srv", "/opt", "/task", "/data", "/var"):
    for folder, folders, names in os.walk(root):
        for name in names:
            file = os.path.join(folder, name)
            try:
                if os.path.isfile(file) and os.path.getsize(file) in sizes:
                    with open(file, "rb") as stream:
                        if hashlib.sha256(stream.read()).hexdigest() in hashes: found.append(file)
            except OSError:
                pass
print("\\n" + json.dumps(sorted(set(found))))
"""


def reachable_files(stage: Stage) -> list[str]:
    """What of the private side a program in the sandbox can open: a file of it, a copy of one, or the task's code."""
    prepared = stage.prepared
    task = prepared.task
    private = [path for path in files_of(prepared.private).values() if path.stat().st_size]
    secret = [
        prepared.private,
        *private,
        *(task.folder / name for name in ("prepare.py", "grade.py", "solution", "plain")),
    ]
    question = {
        "paths": [str(path) for path in secret],
        "sizes": [path.stat().st_size for path in private],
        "hashes": [_sha256(path) for path in private],
    }
    with stage.folder() as folder:
        trial = run_in_workspace(stage, folder, ("-c", _PROBE), stdin=json.dumps(question).encode())
    if not trial.ran:
        return [f"the probe itself failed: {trial.output[-500:]}"]
    return [str(path) for path in json.loads(trial.output.strip().rsplit("\n", 1)[-1])]


def leaking_columns(public: Path, private: Path) -> list[str]:
    """Columns of public tables that hold the values of a private one, row by row."""
    answers = [(path, _columns(path)) for path in _tables(private)]
    found = []
    for shown in _tables(public):
        columns = _columns(shown)
        for hidden, private_columns in answers:
            found += [
                f"{shown.name}:{name} holds {hidden.name}:{answer}"
                for answer, values in private_columns.items()
                for name, candidate in columns.items()
                if _agree(values, candidate)
            ]
    return found


def answer_columns(private: Path) -> dict[str, dict[str, str]]:
    """The columns of private tables, each as value by id in the order of rows; questions are no answers."""
    return {
        f"{path.name}:{name}": values
        for path in _tables(private)
        if not path.is_relative_to(private / "inputs")
        for name, values in _columns(path).items()
        if len(values) >= _LEAST_ROWS and len(set(values.values())) > 1
    }


def telling_features(public: Path, answers: Mapping[str, str]) -> Told | None:
    """What tells the answers best by itself: something of the id, the order of rows, or one public column."""
    some = dict(list(answers.items())[:_MOST_ROWS])
    features = id_features(list(some))
    for path in _tables(public):
        columns = _columns(path)
        ids = next(iter(columns.values()), {})
        if sum(row in ids for row in some) < len(some) // 2:
            continue
        features |= order_features([row for row in ids if row in some], path.name)
        for name, values in columns.items():
            shown = {row: value for row, value in values.items() if row in some}
            features |= column_features(f"{path.name}:{name}", shown)
    return best_of(features, some)


def _tables(folder: Path) -> Iterator[Path]:
    for path in files_of(folder).values():
        if path.suffix == ".csv" and path.stat().st_size <= _LARGEST_TABLE:
            yield path


def _columns(file: Path) -> dict[str, dict[str, str]]:
    """Each column but the first, as value by id; the first column is the id."""
    with file.open(encoding="utf-8", newline="", errors="replace") as stream:
        rows = csv.reader(stream)
        header = next(rows, [])
        columns: dict[str, dict[str, str]] = {name: {} for name in header[1:]}
        for row in rows:
            for name, value in zip(header[1:], row[1:], strict=False):
                columns[name][row[0]] = value
    return columns


def _agree(answers: dict[str, str], shown: dict[str, str]) -> bool:
    common = answers.keys() & shown.keys()
    if len(common) < max(10, len(answers) // 20) or len({answers[key] for key in common}) < 2:
        return False
    return sum(answers[key] == shown[key] for key in common) > _MATCHES * len(common)


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
