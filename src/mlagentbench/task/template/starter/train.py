"""Predicts how far balls fly: fits a straight line to the speed, and writes submission.csv."""

import csv
import os
import random

Row = dict[str, float]


def read(file: str) -> list[Row]:
    with open(file, newline="") as stream:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]


class Model:
    """Replace this by something better. It knows the speed only."""

    def fit(self, rows: list[Row]) -> "Model":
        mean_x = sum(row["speed"] for row in rows) / len(rows)
        mean_y = sum(row["distance"] for row in rows) / len(rows)
        above = sum((row["speed"] - mean_x) * (row["distance"] - mean_y) for row in rows)
        self.slope = above / sum((row["speed"] - mean_x) ** 2 for row in rows)
        self.intercept = mean_y - self.slope * mean_x
        return self

    def predict(self, row: Row) -> float:
        return self.intercept + self.slope * row["speed"]


def mean_absolute_error(model: Model, rows: list[Row]) -> float:
    return sum(abs(model.predict(row) - row["distance"]) for row in rows) / len(rows)


def main() -> None:
    seed = int(os.environ.get("SEED", "0"))
    rows = read("train.csv")
    random.Random(seed).shuffle(rows)
    held_out = len(rows) // 5
    model = Model().fit(rows[held_out:])
    print(f"validation MAE: {mean_absolute_error(model, rows[:held_out]):.4f}")
    with open("submission.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "distance"])
        for row in read("test.csv"):
            writer.writerow([int(row["id"]), model.predict(row)])


if __name__ == "__main__":
    main()
