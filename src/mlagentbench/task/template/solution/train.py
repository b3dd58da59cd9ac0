"""The oracle: shows that the task can be solved. Laid over the workspace and run."""

import csv
import math
import os
import random

Row = dict[str, float]


def read(file: str) -> list[Row]:
    with open(file, newline="") as stream:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(stream)]


def features(row: Row) -> list[float]:
    """The parts that physics says a distance is made of."""
    angle = math.radians(row["angle"])
    flight = row["speed"] * math.sin(angle)
    return [1.0, flight * row["speed"] * math.cos(angle), flight * row["wind"]]


class Model:
    """Least squares on physical features."""

    def fit(self, rows: list[Row]) -> "Model":
        inputs = [features(row) for row in rows]
        size = len(inputs[0])
        matrix = [
            [sum(each[i] * each[j] for each in inputs) for j in range(size)]
            + [sum(each[i] * row["distance"] for each, row in zip(inputs, rows, strict=True))]
            for i in range(size)
        ]
        for i in range(size):
            pivot = matrix[i][i]
            matrix[i] = [value / pivot for value in matrix[i]]
            for j in range(size):
                if j != i:
                    factor = matrix[j][i]
                    matrix[j] = [a - factor * b for a, b in zip(matrix[j], matrix[i], strict=True)]
        self.weights = [row[-1] for row in matrix]
        return self

    def predict(self, row: Row) -> float:
        return max(0.0, sum(w * x for w, x in zip(self.weights, features(row), strict=True)))


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
