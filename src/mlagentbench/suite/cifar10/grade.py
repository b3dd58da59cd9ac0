"""Share of pictures whose most probable class, as submitted, is the true one; matched by id."""

from __future__ import annotations

import csv
from pathlib import Path

from mlagentbench.grading.table import number, read_submission

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def grade(submission: Path, private: Path) -> float:
    with (private / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = {row["id"]: row["label"] for row in csv.DictReader(file)}
    probability = number(0, 1)
    submitted = read_submission(submission, "id", dict.fromkeys(CLASSES, probability), answers)
    # Of classes that are equally probable, max takes the first.
    chosen = {picture: max(CLASSES, key=row.__getitem__) for picture, row in submitted.items()}
    return sum(chosen[picture] == label for picture, label in answers.items()) / len(answers)
