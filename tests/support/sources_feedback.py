"""A few made-up essays in the competition's train.csv."""

from __future__ import annotations

import csv
import random
from pathlib import Path

SCORES = ("cohesion", "syntax", "vocabulary", "phraseology", "grammar", "conventions")
ROWS = 60
SIZES = {"FULL_ROWS": ROWS}
"""What prepare.py must take for the size of the published table."""


def publish(folder: Path) -> Path:
    """`folder`, which afterwards holds the competition's file: quoted texts with line breaks, commas and quotes."""
    rng = random.Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    words = ("school", '"my', 'friends"', "think,", "don't", "because", "I\u2019m", "tired")
    rows = []
    for number in range(ROWS):
        paragraphs = [" ".join(rng.choices(words, k=12)) for _ in range(rng.randint(1, 4))]
        scores = [f"{rng.randint(2, 10) / 2:.1f}" for _ in SCORES]
        rows.append([f"{rng.getrandbits(48):012X}", f"{number}: " + "\r\n\r\n".join(paragraphs), *scores])
    with (folder / "train.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["text_id", "full_text", *SCORES])
        writer.writerows(rows)
    return folder
