"""Graphs with the run of Floyd-Warshall over them: made here for `mini`, by dm-clrs for `full`."""

from __future__ import annotations

import hashlib
import runpy
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
TRAIN_SIZES = (4, 7, 11, 13, 16)
TRAIN_GRAPHS = {"mini": 100, "full": 1000}
TEST_SIZES = {"mini": (16, 20, 24), "full": (64,)}
TEST_GRAPHS = {"mini": 32, "full": 64}
# As in the library's own training script: of all densities to learn from, of the middle one to be tested on.
TRAIN_DENSITIES = tuple(tenths / 10 for tenths in range(1, 10))
TEST_DENSITIES = (0.5,)

INPUTS = {"pos": np.float64, "A": np.float64, "adj": np.uint8}
HINTS = {"Pi_h": np.int16, "D": np.float32, "msk": np.uint8, "k": np.uint8}
OUTPUTS = {"Pi": np.int16}

Runs = dict[str, np.ndarray]
Sample = Callable[[str, int, int, Sequence[float]], Runs]

DESCRIPTION = """\
Runs of the Floyd-Warshall algorithm (shortest paths between all pairs of nodes) over random graphs, with the names
of the CLRS Algorithmic Reasoning Benchmark. {origin}

train-N.npz  {train} runs over graphs of N nodes, for N = {sizes}; np.load reads it without pickles

Each array has one entry a graph on its first axis (G), and for hints one a step of the algorithm on its second (T = N).

pos   G x N          input: the place of a node in the order of nodes, divided by N
A     G x N x N      input: the weight of the edge between two nodes, 0 where there is none
adj   G x N x N      input: 1 where there is an edge, and between a node and itself
Pi    G x N x N      output: Pi[i, j] is the node before j on the shortest path from i to j; i where there is no path
Pi_h  G x T x N x N  hint: Pi before step t
D     G x T x N x N  hint: the lengths of the paths found before step t, 0 where none was found
msk   G x T x N x N  hint: 1 where a path was found before step t
k     G x T x N      hint: 1 at the node through which step t looks for shorter paths

The graphs are undirected. An edge is there with the probability p * p, where p is drawn for each graph from 0.1, 0.2,
..., 0.9; its weight is the square root of 0.001 plus the product of two uniform random numbers. A node may have an
edge to itself, of any weight; one that has none is at the distance 0 from itself.

The hidden graphs have {test} nodes. They are drawn in the same way, with p = 0.5 for all of them.
"""


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    sample = _made_here(seed) if variant == "mini" else _from_library(seed)
    for nodes in TRAIN_SIZES:
        runs = sample("train", TRAIN_GRAPHS[variant], nodes, TRAIN_DENSITIES)
        _write(public / f"train-{nodes}.npz", runs, INPUTS | HINTS | OUTPUTS)
        print(f"{TRAIN_GRAPHS[variant]} graphs of {nodes} nodes to learn from")
    for part in ("inputs", "answers"):
        (private / part).mkdir()
    for nodes in TEST_SIZES[variant]:
        runs = sample("test", TEST_GRAPHS[variant], nodes, TEST_DENSITIES)
        _write(private / "inputs" / f"test-{nodes}.npz", runs, INPUTS)
        _write(private / "answers" / f"test-{nodes}.npz", runs, OUTPUTS)
        print(f"{TEST_GRAPHS[variant]} graphs of {nodes} nodes to be tested on")
    origin = (
        "These are synthetic:\nthey were drawn and computed after its specification by a program of this task."
        if variant == "mini"
        else "They were made by the\nsamplers of its library, dm-clrs."
    )
    (public / "data_description.txt").write_text(
        DESCRIPTION.format(
            origin=origin,
            train=TRAIN_GRAPHS[variant],
            sizes=", ".join(map(str, TRAIN_SIZES)),
            test=" or ".join(map(str, TEST_SIZES[variant])),
        ),
        encoding="utf-8",
    )


def _made_here(seed: int) -> Sample:
    runs = runpy.run_path(str(HERE / "graphs.py"))["runs"]

    def sample(part: str, count: int, nodes: int, densities: Sequence[float]) -> Runs:
        made: Runs = runs(np.random.default_rng(_number(seed, part, nodes)), count, nodes, densities)
        return made

    return sample


def _from_library(seed: int) -> Sample:
    try:
        import clrs  # type: ignore[import-not-found]
    except ImportError as error:
        raise PreparationError(
            f"CLRS full is made by the library dm-clrs, which cannot be imported ({error}); prepare it with an "
            "interpreter that has dm-clrs, or leave out --python."
        ) from None

    def sample(part: str, count: int, nodes: int, densities: Sequence[float]) -> Runs:
        # The library's generator takes 32 bits.
        sampler, _ = clrs.build_sampler(
            "floyd_warshall",
            seed=_number(seed, part, nodes) % 2**32,
            num_samples=count,
            length=nodes,
            p=densities,
        )
        made = sampler.next()
        points = [*made.features.inputs, *made.features.hints, *made.outputs]
        # The library puts the steps before the graphs in hints.
        runs = {
            point.name: np.swapaxes(point.data, 0, 1) if point.name in HINTS else np.asarray(point.data)
            for point in points
        }
        _check(runs, count, nodes)
        return runs

    return sample


def _check(runs: Runs, count: int, nodes: int) -> None:
    """That the library's specification is the one that this task is written for."""
    pairs, steps = (nodes, nodes), (count, nodes)
    shapes = {
        "pos": (count, nodes), "A": (count, *pairs), "adj": (count, *pairs), "Pi": (count, *pairs),
        "Pi_h": (*steps, *pairs), "D": (*steps, *pairs), "msk": (*steps, *pairs), "k": (*steps, nodes),
    }  # fmt: skip
    found = {name: tuple(data.shape) for name, data in runs.items()}
    for name in sorted(shapes.keys() | found.keys()):
        if shapes.get(name) != found.get(name):
            raise PreparationError(
                f"The installed dm-clrs gives {name!r} the shape {found.get(name)}, not {shapes.get(name)}; "
                "install the version that task.toml names."
            )
    for name in ("Pi", "Pi_h"):
        if not np.isin(runs[name], np.arange(nodes)).all():
            raise PreparationError(
                f"The installed dm-clrs gives {name!r} values that are not nodes; "
                "install the version that task.toml names."
            )


def _number(seed: int, part: str, nodes: int) -> int:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return int.from_bytes(
        hashlib.blake2b(f"{part} {nodes}".encode(), key=key, digest_size=16).digest(), "big"
    )


def _write(path: Path, runs: Runs, kinds: dict[str, type[np.generic]]) -> None:
    arrays = {name: np.ascontiguousarray(runs[name].astype(kind)) for name, kind in kinds.items()}
    np.savez_compressed(path, allow_pickle=False, **arrays)
