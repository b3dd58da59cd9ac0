"""Small pictures of ten kinds: CIFAR-10 for `full`, made-up ones of the same form for `mini`."""

from __future__ import annotations

import csv
import hashlib
import runpy
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
MINI_TRAIN, MINI_TEST = 1600, 1000

DESCRIPTION = """\
{origin}

train_images.npy  {train} pictures: unsigned bytes, by picture, row, column and channel (red, green, blue)
train.csv         the id and the label of each picture, in the order of train_images.npy
test_images.npy   {test} other pictures, of the same form
test.csv          the id of each picture, in the order of test_images.npy
classes.txt       the ten labels, one on a line

The order of pictures and their ids mean nothing.
"""


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    if variant == "mini":
        made = runpy.run_path(str(HERE / "synthetic.py"))["pictures"]
        pixels, labels = made(int.from_bytes(_hash(seed, "pictures"), "big"), MINI_TRAIN + MINI_TEST)
        train = pixels[:MINI_TRAIN], labels[:MINI_TRAIN]
        test = pixels[MINI_TRAIN:], labels[MINI_TRAIN:]
        origin = (
            "These pictures are synthetic: a program drew them. Patterned outlines stand in for the ten kinds\n"
            "of things, and nothing that is known about real airplanes or frogs helps to tell them apart."
        )
    elif source is None:
        raise PreparationError("cifar10 full is made from cifar-10-python.tar.gz; give its folder.")
    else:
        parts = runpy.run_path(str(HERE / "published.py"))["batches"](source, CLASSES)
        train, test = parts["train"], parts["test"]
        origin = "CIFAR-10: photographs of ten kinds of things, 32 pixels wide."

    _write_part("train", *train, seed, public, public / "train.csv")
    ids = _write_part("test", *test, seed, public, private / "answers.csv")
    _write(public / "test.csv", ["id"], ([picture] for picture in ids))
    _write(
        public / "sample_submission.csv",
        ["id", *CLASSES],
        ([picture, *["0.1"] * len(CLASSES)] for picture in ids),
    )
    (public / "classes.txt").write_text("".join(f"{name}\n" for name in CLASSES), encoding="utf-8")
    (public / "data_description.txt").write_text(
        DESCRIPTION.format(origin=origin, train=len(train[0]), test=len(test[0])), encoding="utf-8"
    )


def _write_part(
    part: str, pixels: np.ndarray, labels: Sequence[int], seed: int, public: Path, labelled: Path
) -> list[str]:
    """Pictures in the order of their ids, which are keyed hashes: it cannot be guessed which was which."""
    ids = [_hash(seed, f"{part} {index}").hex()[:16] for index in range(len(pixels))]
    order = sorted(range(len(ids)), key=ids.__getitem__)
    np.save(public / f"{part}_images.npy", pixels[order])
    _write(labelled, ["id", "label"], ([ids[index], CLASSES[labels[index]]] for index in order))
    return [ids[index] for index in order]


def _hash(seed: int, what: str) -> bytes:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return hashlib.blake2b(what.encode(), key=key, digest_size=16).digest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
