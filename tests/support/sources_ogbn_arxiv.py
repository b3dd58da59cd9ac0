"""A tiny graph in the files that OGB's arxiv.zip holds."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

NODES, EDGES = 300, 900
SIZES = {"FULL_NODES": NODES, "FULL_EDGES": EDGES, "FULL_PARTS": {"train": 160, "valid": 50, "test": 90}}
"""What prepare.py must take for the size of the published graph."""


def publish(folder: Path) -> Path:
    """`folder`, which afterwards holds what the unpacked archive holds."""
    rng = np.random.default_rng(0)
    raw, split = folder / "arxiv" / "raw", folder / "arxiv" / "split" / "time"
    mapping = folder / "arxiv" / "mapping"
    for part in (raw, split, mapping):
        part.mkdir(parents=True)
    pack(raw / "edge.csv.gz", rng.integers(0, NODES, (EDGES, 2)))
    pack(raw / "node-feat.csv.gz", rng.normal(0, 0.1, (NODES, 128)), "%.6f")
    pack(raw / "node-label.csv.gz", rng.integers(0, 40, (NODES, 1)))
    pack(raw / "node_year.csv.gz", np.repeat([2016, 2018, 2019], [160, 50, 90])[:, None])
    pack(raw / "num-node-list.csv.gz", np.array([[NODES]]))
    pack(raw / "num-edge-list.csv.gz", np.array([[EDGES]]))
    for part, first, last in (("train", 0, 160), ("valid", 160, 210), ("test", 210, 300)):
        pack(split / f"{part}.csv.gz", np.arange(first, last)[:, None])
    (mapping / "README.md").write_text("# ogbn-arxiv\n")
    return folder


def pack(file: Path, table: np.ndarray, form: str = "%d") -> None:
    with gzip.open(file, "wt") as stream:
        np.savetxt(stream, table, fmt=form, delimiter=",")


def unpack(file: Path) -> np.ndarray:
    with gzip.open(file, "rt") as stream:
        return np.loadtxt(stream, delimiter=",", ndmin=2)
