"""Share of reviews whose more probable class, as submitted, is the true one; matched by id."""

from __future__ import annotations

import csv
from pathlib import Path

from mlagentbench.grading.table import number, read_submission

CLASSES = ("negative", "positive")


def grade(submission: Path, private: Path) -> float:
    with (private / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = {row["id"]: CLASSES[int(row["label"])] for row in csv.DictReader(file)}
    # The most that a submission for all reviews of `full` needs is some two megabytes.
    submitted = read_submission(submission, "id", dict.fromkeys(CLASSES, number(0, 1)), answers)
    # Of classes that are equally probable, max takes the first.
    chosen = {review: max(CLASSES, key=row.__getitem__) for review, row in submitted.items()}
    return sum(chosen[review] == label for review, label in answers.items()) / len(answers)
