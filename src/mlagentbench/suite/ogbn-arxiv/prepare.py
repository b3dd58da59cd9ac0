"""A citation graph with the areas of its papers: OGB's for `full`, a made-up one in the same files for `mini`."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import runpy
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
MINI_NODES = 6000
AREAS, DIMENSIONS = 40, 128
LAST_TRAIN_YEAR, LAST_VALID_YEAR = 2017, 2018
PARTS = ("train", "valid", "test")
HIDDEN = -1

# Of the published graph.
FULL_NODES, FULL_EDGES = 169343, 1166243
FULL_PARTS = {"train": 90941, "valid": 29799, "test": 48603}
ADVICE = "take arxiv.zip of http://snap.stanford.edu/ogb/data/nodeproppred as it is"


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    raw, split = public / "arxiv" / "raw", public / "arxiv" / "split" / "time"
    raw.mkdir(parents=True)
    split.mkdir(parents=True)
    if variant == "mini":
        labels, parts = made_up(seed, raw)
        origin = "This graph is synthetic: a program made it up. No such papers exist."
    elif source is None:
        raise PreparationError("ogbn-arxiv full is made from OGB's arxiv.zip; give it or its folder.")
    else:
        labels, parts = published(source / "arxiv", raw)
        origin = "Papers on arXiv in computer science, with their citations of each other."

    test = parts["test"]
    shown = labels.copy()
    shown[test] = HIDDEN
    _pack(raw / "node-label.csv.gz", shown[:, None], "%d")
    for part in PARTS:
        _pack(split / f"{part}.csv.gz", parts[part][:, None], "%d")
    common = int(np.bincount(labels[parts["train"]], minlength=AREAS).argmax())
    _write(public / "sample_submission.csv", ((node, common) for node in test))
    _write(private / "answers.csv", zip(test, labels[test], strict=True))
    description = (HERE / "description.txt").read_text(encoding="utf-8")
    (public / "data_description.txt").write_text(f"{origin}\n\n{description}", encoding="utf-8")


def made_up(seed: int, raw: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    citations = runpy.run_path(str(HERE / "synthetic.py"))["citations"]
    key = hashlib.blake2b(str(seed).encode()).digest()
    entropy = int.from_bytes(hashlib.blake2b(b"citations", key=key, digest_size=16).digest(), "big")
    graph = citations(entropy, MINI_NODES)
    _pack(raw / "edge.csv.gz", graph["edges"], "%d")
    _pack(raw / "node-feat.csv.gz", graph["features"], "%.3f")
    _pack(raw / "node_year.csv.gz", graph["years"][:, None], "%d")
    _pack(raw / "num-node-list.csv.gz", np.array([[MINI_NODES]]), "%d")
    _pack(raw / "num-edge-list.csv.gz", np.array([[len(graph["edges"])]]), "%d")
    years = graph["years"]
    valid = (years > LAST_TRAIN_YEAR) & (years <= LAST_VALID_YEAR)
    masks = {"train": years <= LAST_TRAIN_YEAR, "valid": valid, "test": years > LAST_VALID_YEAR}
    return graph["labels"], {part: np.flatnonzero(mask) for part, mask in masks.items()}


def published(folder: Path, raw: Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Labels and split of OGB's graph, whose other files go to `raw` as they are, or a sentence on what differs."""
    nodes = _whole(folder / "raw" / "num-node-list.csv.gz", (1, 1), 0, None)
    edges = _whole(folder / "raw" / "num-edge-list.csv.gz", (1, 1), 0, None)
    for name, found, expected in (("node", nodes, FULL_NODES), ("edge", edges, FULL_EDGES)):
        if found.item() != expected:
            raise PreparationError(
                f"{folder / 'raw'} is of a graph with {found.item()} {name}s, not {expected}; {ADVICE}."
            )
    _whole(folder / "raw" / "edge.csv.gz", (FULL_EDGES, 2), 0, FULL_NODES - 1)
    _whole(folder / "raw" / "node_year.csv.gz", (FULL_NODES, 1), 1900, 2100)
    print("Reading the features of all papers.", flush=True)
    features = _table(folder / "raw" / "node-feat.csv.gz", (FULL_NODES, DIMENSIONS))
    if not np.isfinite(features).all():
        raise PreparationError(
            f"{folder / 'raw' / 'node-feat.csv.gz'} has a value that is not finite; {ADVICE}."
        )
    labels = _whole(folder / "raw" / "node-label.csv.gz", (FULL_NODES, 1), 0, AREAS - 1)[:, 0]
    parts = {}
    for part, size in FULL_PARTS.items():
        file = folder / "split" / "time" / f"{part}.csv.gz"
        parts[part] = np.sort(_whole(file, (size, 1), 0, FULL_NODES - 1)[:, 0])
    if len(np.unique(np.concatenate(list(parts.values())))) != FULL_NODES:
        raise PreparationError(f"{folder / 'split' / 'time'} has a paper in two parts; {ADVICE}.")
    for name in ("edge", "node-feat", "node_year", "num-node-list", "num-edge-list"):
        shutil.copyfile(folder / "raw" / f"{name}.csv.gz", raw / f"{name}.csv.gz")
    return labels, parts


def _whole(file: Path, shape: tuple[int, int], low: int, high: int | None) -> np.ndarray:
    """A table of whole numbers from `low` to `high`."""
    table = _table(file, shape)
    whole = table.astype(np.int64) if np.isfinite(table).all() else np.zeros(shape, np.int64)
    if not (whole == table).all():
        raise PreparationError(f"{file} has a value that is not a whole number; {ADVICE}.")
    if whole.min() < low or (high is not None and whole.max() > high):
        worst = whole.min() if whole.min() < low else whole.max()
        limits = f"from {low} to {high}" if high is not None else f"{low} or more"
        raise PreparationError(f"{file} has the value {worst}, not one {limits}; {ADVICE}.")
    return whole


def _table(file: Path, shape: tuple[int, int]) -> np.ndarray:
    """The numbers of a gzipped CSV file without a header."""
    try:
        with gzip.open(file, "rt", encoding="ascii") as lines:
            table = np.loadtxt(lines, delimiter=",", ndmin=2, comments=None)
    except FileNotFoundError:
        raise PreparationError(f"{file} does not exist; {ADVICE}.") from None
    except (OSError, EOFError) as error:
        raise PreparationError(f"{file} is not a whole gzip file ({error}); {ADVICE}.") from None
    except ValueError as error:
        raise PreparationError(f"{file} is not a table of numbers ({error}); {ADVICE}.") from None
    for what, found, expected in zip(("rows", "columns"), table.shape, shape, strict=True):
        if found != expected:
            raise PreparationError(f"{file} has {found} {what}, not {expected}; {ADVICE}.")
    return table


def _pack(file: Path, table: np.ndarray, form: str) -> None:
    """A gzipped CSV file without a header, whose bytes tell neither time nor name."""
    text = io.BytesIO()
    np.savetxt(text, table, fmt=form, delimiter=",")
    file.write_bytes(gzip.compress(text.getvalue(), compresslevel=6, mtime=0))


def _write(file: Path, rows: Iterable[Sequence[int]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["node", "label"])
        writer.writerows(rows)
