"""SMAPE of submitted ratings plus one, in percent, matched by id, over the ratings that exist."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from mlagentbench.grading.table import number, read_submission

# No part of the scale goes beyond 132.
HIGHEST = 200


def grade(submission: Path, private: Path) -> float:
    with (private / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = {row["prediction_id"]: row["rating"] for row in csv.DictReader(file)}
    submitted = read_submission(submission, "prediction_id", {"rating": number(0, HIGHEST)}, answers)
    errors = [
        smape(float(rating) + 1, submitted[prediction]["rating"] + 1)
        for prediction, rating in answers.items()
        if rating
    ]
    return 100 * math.fsum(errors) / len(errors)


def smape(true: float, predicted: float) -> float:
    """Both are at least 1, so that the sum is never zero."""
    return 2 * abs(true - predicted) / (true + predicted)
