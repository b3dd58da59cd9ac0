"""Mean of the six columns' root mean squared errors, matched by id."""

from __future__ import annotations

import csv
import math
from pathlib import Path

from mlagentbench.grading.table import number, read_submission

SCORES = ("cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions")
# Far beyond the scale from 1 to 5: a model may miss it a little, and no sum of errors can overflow.
LOWEST, HIGHEST = -100.0, 100.0


def grade(submission: Path, private: Path) -> float:
    with (private / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = {row["text_id"]: row for row in csv.DictReader(file)}
    columns = dict.fromkeys(SCORES, number(LOWEST, HIGHEST))
    submitted = read_submission(submission, "text_id", columns, answers)
    errors = [
        math.sqrt(
            math.fsum((submitted[essay][score] - float(row[score])) ** 2 for essay, row in answers.items())
            / len(answers)
        )
        for score in SCORES
    ]
    return math.fsum(errors) / len(errors)
