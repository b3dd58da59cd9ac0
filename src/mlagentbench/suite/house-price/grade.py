"""Mean absolute error of submitted prices, matched by id."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from mlagentbench.grading.table import number, read_submission

# Far beyond any house, and far from where a sum of errors would overflow.
HIGHEST = 1e12


def grade(submission: Path, private: Path) -> float:
    with (private / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = {row["Id"]: float(row["SalePrice"]) for row in csv.DictReader(file)}
    submitted = read_submission(submission, "Id", {"SalePrice": number(-HIGHEST, HIGHEST)}, answers)
    errors = [abs(submitted[house]["SalePrice"] - price) for house, price in answers.items()]
    return math.fsum(errors) / len(errors)
