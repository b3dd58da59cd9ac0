"""Random graphs and the run of Floyd-Warshall over them, after the specification of `floyd_warshall` in dm-clrs.

Written afresh. It draws from another stream of random numbers than the library and takes the steps of the
algorithm over whole matrices.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def weighted_graph(rng: np.random.Generator, nodes: int, density: float) -> np.ndarray:
    """Weights of an undirected graph, 0 where there is no edge.

    An edge needs both of its directions, each drawn with the probability `density`; its weight is the geometric
    mean of two uniform numbers, kept off 0. A node may have an edge to itself.
    """
    drawn = rng.random((nodes, nodes)) < density
    weights = rng.random((nodes, nodes))
    return np.where(drawn & drawn.T, np.sqrt(weights * weights.T + 1e-3), 0.0)


def floyd_warshall(weights: np.ndarray) -> dict[str, np.ndarray]:
    """Inputs, hints and output of one run. Hints have one more axis, the first: the state before each step."""
    nodes = len(weights)
    adjacent = (weights + np.eye(nodes)) != 0
    distance, reached = weights.copy(), adjacent.copy()
    before = np.repeat(np.arange(nodes)[:, None], nodes, axis=1)
    hints: dict[str, list[np.ndarray]] = {"Pi_h": [], "D": [], "msk": []}
    for middle in range(nodes):
        for name, state in (("Pi_h", before), ("D", distance), ("msk", reached)):
            hints[name].append(state.copy())
        through = distance[:, middle, None] + distance[middle]
        possible = reached[:, middle, None] & reached[middle]
        better = possible & (~reached | (through < distance))
        # The row of `middle` itself never changes in its own step, as all weights are positive.
        before = np.where(better, before[middle], before)
        distance = np.where(better, through, distance)
        reached = reached | possible
    return {
        "pos": np.arange(nodes) / nodes,
        "A": weights,
        "adj": adjacent,
        "Pi": before,
        **{name: np.stack(states) for name, states in hints.items()},
        "k": np.eye(nodes, dtype=bool),
    }


def runs(
    rng: np.random.Generator, count: int, nodes: int, densities: Sequence[float]
) -> dict[str, np.ndarray]:
    """That many runs on graphs of one size, stacked; each graph has one of the densities."""
    made = [floyd_warshall(weighted_graph(rng, nodes, rng.choice(densities))) for _ in range(count)]
    return {name: np.stack([run[name] for run in made]) for name in made[0]}
