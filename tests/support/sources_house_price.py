"""Made-up sales in the competition's train.csv."""

from __future__ import annotations

import csv
import random
from pathlib import Path

import mlagentbench

_COLUMNS = Path(mlagentbench.__file__).parent / "suite" / "house-price" / "columns.txt"
SIZES: dict[str, int] = {}
"""What prepare.py must take for the published sizes: nothing, because the content has them."""


def publish(folder: Path) -> Path:
    """`folder`, which afterwards holds what the competition has."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    described = _COLUMNS.read_text(encoding="utf-8").partition("\n\n")[2].splitlines()
    columns = [line.split()[0] for line in described]
    with (folder / "train.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        for number in range(1, 1461):
            values = [rng.choice(("NA", "Gd", "TA", str(rng.randrange(2000)))) for _ in columns[2:]]
            writer.writerow([number, *values, rng.randrange(35_000, 755_000)])
    return folder
