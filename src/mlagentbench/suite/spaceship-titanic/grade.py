"""Share of passengers whose fate was submitted rightly, matched by id."""

from __future__ import annotations

import csv
from pathlib import Path

from mlagentbench.grading.table import choice, read_submission

FATES = {"True": True, "False": False}


def grade(submission: Path, private: Path) -> float:
    with (private / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = {row["PassengerId"]: FATES[row["Transported"]] for row in csv.DictReader(file)}
    submitted = read_submission(submission, "PassengerId", {"Transported": choice(FATES)}, answers)
    right = sum(submitted[passenger]["Transported"] == fate for passenger, fate in answers.items())
    return right / len(answers)
