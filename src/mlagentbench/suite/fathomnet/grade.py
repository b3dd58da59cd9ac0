"""Mean of MAP@20 over the in-sample pictures and 2 AUC - 1 of `osd` over all; matched by id."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mlagentbench.grading.table import number, read_submission

DEEPEST = 20
LONGEST = 4000


def grade(submission: Path, private: Path) -> float:
    codes = (private / "categories.txt").read_text(encoding="utf-8").split()
    with (private / "answers.csv").open(encoding="utf-8", newline="") as file:
        answers = {row["id"]: row for row in csv.DictReader(file)}
    columns: dict[str, Callable[[str], Any]] = {"categories": ranking(codes), "osd": number(0, 1)}
    submitted = read_submission(submission, "id", columns, answers)

    unknown = [answer["osd"] == "1" for answer in answers.values()]
    precisions = [
        average_precision(submitted[picture]["categories"], answer["categories"].split())
        for picture, answer in answers.items()
        if answer["osd"] == "0"
    ]
    scaled = 2 * area_under_curve([submitted[picture]["osd"] for picture in answers], unknown) - 1
    return (math.fsum(precisions) / len(precisions) + scaled) / 2


def ranking(codes: Sequence[str]) -> Callable[[str], list[str]]:
    """A column of category numbers with blanks between, the most probable first."""
    known = set(codes)

    def parse(text: str) -> list[str]:
        if len(text) > LONGEST:
            raise ValueError(f"has {len(text)} characters; {LONGEST} are the most that are read")
        ranked = text.split()
        if not ranked:
            raise ValueError("is empty; write at least one category")
        for code in ranked:
            if code not in known:
                raise ValueError(
                    f"has {code[:40]!r}; write numbers of category_key.csv with blanks between, such as 1 9 88"
                )
        if len(set(ranked)) < len(ranked):
            twice = next(code for code in ranked if ranked.count(code) > 1)
            raise ValueError(f"has {twice} more than once; write each category once")
        return ranked

    return parse


def average_precision(ranked: Sequence[str], true: Sequence[str]) -> float:
    """Precision at the rank of each true category among the first 20, summed, over what a perfect ranking gets."""
    hits, total = 0, 0.0
    for rank, code in enumerate(ranked[:DEEPEST], start=1):
        if code in true:
            hits += 1
            total += hits / rank
    return total / min(len(true), DEEPEST)


def area_under_curve(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """Area under the ROC curve; equal scores get their average rank, so that a constant gets one half."""
    positives = sum(positive)
    negatives = len(positive) - positives
    below, wins = 0, 0
    groups: dict[float, list[int]] = {}
    for score, is_positive in zip(scores, positive, strict=True):
        groups.setdefault(score, [0, 0])[is_positive] += 1
    for score in sorted(groups):
        negative_here, positive_here = groups[score]
        wins += positive_here * (2 * below + negative_here)
        below += negative_here
    return wins / (2 * positives * negatives)
