"""A stand-in for the library dm-clrs, with as much of its interface as the task's `full` uses, and with the algorithm
written out step by step. It lies beside a copy of the task's `prepare.py` as `clrs.py`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

SIZES = {"TRAIN_GRAPHS": {"full": 6}, "TEST_GRAPHS": {"full": 2}}
"""Less than the published numbers of graphs."""


class DataPoint(NamedTuple):
    name: str
    data: np.ndarray


class Features(NamedTuple):
    inputs: list[DataPoint]
    hints: list[DataPoint]
    lengths: np.ndarray


class Feedback(NamedTuple):
    features: Features
    outputs: list[DataPoint]


class Sampler:
    def __init__(self, runs: list[dict[str, np.ndarray]]) -> None:
        self._runs = runs

    def next(self) -> Feedback:
        """All of them: graphs on the first axis, but for hints, where steps are on the first, graphs on the second."""
        inputs, outputs = (
            [DataPoint(name, np.stack([run[name] for run in self._runs])) for name in names]
            for names in (("pos", "A", "adj"), ("Pi",))
        )
        hints = [
            DataPoint(name, np.stack([run[name] for run in self._runs], axis=1))
            for name in ("Pi_h", "D", "msk", "k")
        ]
        lengths = np.array([len(run["D"]) for run in self._runs], float)
        return Feedback(Features(inputs, hints, lengths), outputs)


def build_sampler(
    name: str, num_samples: int, length: int, *, seed: int, p: tuple[float, ...]
) -> tuple[Sampler, dict[str, tuple[str, str, str]]]:
    assert name == "floyd_warshall"
    rng = np.random.RandomState(seed)
    runs = []
    for _ in range(num_samples):
        density = rng.choice(p)
        weights = np.zeros((length, length))
        for one in range(length):
            for other in range(one, length):
                if rng.uniform() < density**2:
                    weights[one, other] = weights[other, one] = rng.uniform(0.05, 1)
        runs.append(floyd_warshall(weights))
    return Sampler(runs), {}


def floyd_warshall(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Pair by pair, with floats for all numbers, as the library has them."""
    nodes = len(weights)
    lengths = [[float(weights[i, j]) for j in range(nodes)] for i in range(nodes)]
    known = [[i == j or weights[i, j] > 0 for j in range(nodes)] for i in range(nodes)]
    adjacent = np.array(known, float)
    before = [[i] * nodes for i in range(nodes)]
    hints: dict[str, list[np.ndarray]] = {"Pi_h": [], "D": [], "msk": [], "k": []}
    for middle in range(nodes):
        hints["Pi_h"].append(np.array(before, float))
        hints["D"].append(np.array(lengths))
        hints["msk"].append(np.array(known, float))
        hints["k"].append((np.arange(nodes) == middle).astype(float))
        old, had = [list(row) for row in lengths], [list(row) for row in known]
        for i in range(nodes):
            for j in range(nodes):
                if not (had[i][middle] and had[middle][j]):
                    continue
                through = old[i][middle] + old[middle][j]
                if not had[i][j] or through < old[i][j]:
                    lengths[i][j], before[i][j] = through, before[middle][j]
                known[i][j] = True
    return {
        "pos": np.arange(nodes) / nodes,
        "A": weights,
        "adj": adjacent,
        "Pi": np.array(before, float),
        **{name: np.stack(states) for name, states in hints.items()},
    }


def library(folder: Path) -> None:
    """Lays this module where `import clrs` of the task in `folder` finds it."""
    (folder / "clrs.py").write_text(Path(__file__).read_text(encoding="utf-8"), encoding="utf-8")
