"""Share of test papers whose submitted area is the true one, matched by node."""

from __future__ import annotations

import csv
from pathlib import Path

from mlagentbench.grading.table import choice, read_submission

AREAS = {str(area): area for area in range(40)}


def grade(submission: Path, private: Path) -> float:
    with (private / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = {row["node"]: int(row["label"]) for row in csv.DictReader(file)}
    submitted = read_submission(submission, "node", {"label": choice(AREAS)}, answers)
    return sum(submitted[node]["label"] == label for node, label in answers.items()) / len(answers)
