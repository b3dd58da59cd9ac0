"""Makes the data. Trusted: it runs outside of the sandbox, and the agent never sees it."""

import csv
import math
import random
from pathlib import Path

ROWS = {"mini": 400, "full": 1200}
FEATURES = ("speed", "angle", "wind")


def prepare(variant: str, public: Path, private: Path, seed: int) -> None:
    """Write what the agent may see into `public`, and the answers into `private`.

    The same seed must give the same bytes. It may have 63 bits, and stays secret where a key was given, so
    take every random choice from it, the order of rows and the ids too.
    """
    chance = random.Random(seed)
    rows = ROWS[variant]
    ids = chance.sample(range(100_000, 1_000_000), 2 * rows)
    throws = {row_id: throw(chance) for row_id in ids}
    train, test = ids[:rows], ids[rows:]
    write(public / "train.csv", ("id", *FEATURES, "distance"), [(i, *throws[i]) for i in train])
    write(public / "test.csv", ("id", *FEATURES), [(i, *throws[i][:-1]) for i in test])
    write(private / "answers.csv", ("id", "distance"), [(i, throws[i][-1]) for i in test])


def throw(chance: random.Random) -> tuple[float, float, float, float]:
    """One throw: a parabola, pushed by the wind, measured with some noise."""
    speed, angle, wind = chance.uniform(5, 40), chance.uniform(5, 85), chance.gauss(0, 3)
    flight = 2 * speed * math.sin(math.radians(angle)) / 9.81
    distance = speed * math.cos(math.radians(angle)) * flight + wind * flight + chance.gauss(0, 2)
    return round(speed, 2), round(angle, 2), round(wind, 2), round(max(0.0, distance), 2)


def write(file: Path, header: tuple[str, ...], rows: list[tuple[float, ...]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
