"""Global Dice coefficient of submitted masks: over all pixels of all records at once, matched by record."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Callable
from pathlib import Path

from mlagentbench.grading.table import read_submission

# A mask of noise for every record of the published test set is about as large.
MOST_BYTES = 48 * 2**20
RUNS = re.compile(r"[0-9]{1,7}(?: [0-9]{1,7})*")


def grade(submission: Path, private: Path) -> float:
    csv.field_size_limit(MOST_BYTES)
    with (private / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    pixels = int(rows[0]["pixels"])
    answers = {row["record_id"]: runs(int(row["pixels"]))(row["encoded_pixels"]) for row in rows}
    submitted = read_submission(
        submission, "record_id", {"encoded_pixels": runs(pixels)}, answers, most_bytes=MOST_BYTES
    )
    common = total = 0
    for record, true in answers.items():
        marked = submitted[record]["encoded_pixels"]
        common += overlap(true, marked)
        total += covered(true) + covered(marked)
    return 2 * common / total


def runs(pixels: int) -> Callable[[str], array[int]]:
    """A column of run lengths within so many pixels, read as first and last but one of each run, in their order."""

    def parse(text: str) -> array[int]:
        content = text.strip(" \t")
        if content == "-":
            return array("i")
        if not content:
            raise ValueError("is empty; write - for a record without contrails")
        if len(content) > 8 * (pixels + 1):
            raise ValueError(f"has {len(content)} characters, more than {pixels} pixels can need")
        if not RUNS.fullmatch(content):
            shown = repr(content) if len(content) <= 40 else f"{content[:40]!r}…"
            raise ValueError(f"is {shown}; write starts and lengths with a blank between, as 1 3 10 5, or -")
        numbers = array("i", map(int, content.split(" ")))
        if len(numbers) % 2:
            raise ValueError(f"has {len(numbers)} numbers; write a length after each start")
        free = 1
        for place in range(0, len(numbers), 2):
            start, length = numbers[place : place + 2]
            if length < 1:
                raise ValueError(f"has a run of length {length} at {start}; leave out empty runs")
            if start < 1 or start + length - 1 > pixels:
                raise ValueError(f"has the run {start} {length}; pixels count from 1 to {pixels}")
            if start < free:
                raise ValueError(
                    f"has the run {start} {length} after one that ends at {free - 1}; write runs in their order "
                    "and each pixel once"
                )
            free = start + length
            numbers[place + 1] = free
        return numbers

    return parse


def covered(mask: array[int]) -> int:
    return sum(mask[1::2]) - sum(mask[0::2])


def overlap(one: array[int], other: array[int]) -> int:
    """How many pixels are in both."""
    common = first = second = 0
    while first < len(one) and second < len(other):
        common += max(0, min(one[first + 1], other[second + 1]) - max(one[first], other[second]))
        if one[first + 1] <= other[second + 1]:
            first += 2
        else:
            second += 2
    return common
