"""Pictures of the sea floor: the FathomNet 2023 data for `full`, made-up ones of the same form for `mini`."""

from __future__ import annotations

import csv
import hashlib
import json
import runpy
import shutil
import struct
import uuid
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
MINI_PICTURES = 1600
# Of all pictures. Those with a held-out category are in the test part in addition.
TEST_SHARE = {"mini": 0.3, "full": 0.2}
# Categories are held out until this share of pictures shows one; frequent ones never are.
UNKNOWN_SHARE = 0.15
FREQUENT = 0.08

DESCRIPTION = """\
{origin}

images/                              pictures, named by their id
multilabel_classification/train.csv  id and categories of {train} pictures to learn from
object_detection/train.json          the same pictures with a box around each animal, in COCO's form
object_detection/eval.json           the {test} pictures to label, in the same form, without boxes
category_key.csv                     number, name and supercategory of every category

A box is [left, top, width, height] in pixels. Some categories of category_key.csv are in no picture to learn from:
a picture with one of these is out of sample. Numbers of pictures and boxes in the JSON files mean nothing.
"""


@dataclass(frozen=True)
class Picture:
    """One picture with its animals: the number of the category and the box of each."""

    id: str
    file_name: str
    width: int
    height: int
    animals: tuple[tuple[int, tuple[float, ...]], ...]
    content: bytes | Path

    @property
    def categories(self) -> list[int]:
        return sorted({category for category, _ in self.animals})


@dataclass(frozen=True)
class Collection:
    key: list[list[str]]
    """The rows of category_key.csv, with its header."""
    categories: list[dict[str, Any]]
    """As COCO has them."""
    pictures: list[Picture]


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    if variant == "mini":
        collection = made_up(seed)
        origin = "These pictures are synthetic: a program drew them, and made up the animals in them."
    elif source is None:
        raise PreparationError("fathomnet full is made from the competition's files; give their folder.")
    else:
        collection = runpy.run_path(str(HERE / "published.py"))["published"](source, Collection, Picture)
        origin = "Pictures of the sea floor in Monterey Bay, of the FathomNet 2023 competition."

    unknown = held_out(collection.pictures, seed)
    ranked = sorted(collection.pictures, key=lambda picture: _hash(seed, f"picture {picture.id}"))
    chosen = {picture.id for picture in ranked[: round(TEST_SHARE[variant] * len(ranked))]}
    train: list[Picture] = []
    test: list[Picture] = []
    for picture in sorted(collection.pictures, key=lambda picture: picture.id):
        hidden = picture.id in chosen or not unknown.isdisjoint(picture.categories)
        (test if hidden else train).append(picture)

    (public / "images").mkdir()
    for picture in collection.pictures:
        place = public / "images" / picture.file_name
        if isinstance(picture.content, bytes):
            place.write_bytes(picture.content)
        else:
            shutil.copyfile(picture.content, place)
    _write_public(public, collection, train, test)
    (public / "data_description.txt").write_text(
        DESCRIPTION.format(origin=origin, train=len(train), test=len(test)), encoding="utf-8"
    )
    number = collection.key[0].index("id")
    codes = [row[number] for row in collection.key[1:]]
    (private / "categories.txt").write_text("".join(f"{code}\n" for code in codes), encoding="utf-8")
    _write(
        private / "answers.csv",
        ["id", "categories", "osd"],
        (
            [
                picture.id,
                " ".join(map(str, picture.categories)),
                str(int(not unknown.isdisjoint(picture.categories))),
            ]
            for picture in test
        ),
    )


def held_out(pictures: Sequence[Picture], seed: int) -> set[int]:
    """Categories that nobody gets to learn, in the order of a keyed hash of their numbers."""
    frequency = Counter(category for picture in pictures for category in picture.categories)
    unknown: set[int] = set()
    showing: set[str] = set()
    for category in sorted(frequency, key=lambda category: _hash(seed, f"category {category}")):
        if len(showing) >= UNKNOWN_SHARE * len(pictures):
            break
        if frequency[category] <= FREQUENT * len(pictures):
            unknown.add(category)
            showing |= {picture.id for picture in pictures if category in picture.categories}
    return unknown


def made_up(seed: int) -> Collection:
    drawn = runpy.run_path(str(HERE / "synthetic.py"))["seafloor"]
    entropy = int.from_bytes(_hash(seed, "pictures"), "big")
    pixels, animals, supercategories = drawn(entropy, MINI_PICTURES)
    pictures = []
    for index, (image, present) in enumerate(zip(pixels, animals, strict=True)):
        name = str(uuid.UUID(bytes=_hash(seed, f"name {index}"), version=4))
        boxes = tuple((animal.category + 1, tuple(map(float, animal.box))) for animal in present)
        pictures.append(Picture(name, f"{name}.png", image.shape[1], image.shape[0], boxes, _png(image)))
    categories = [
        {"id": number, "name": f"{kind} {number}", "supercategory": kind}
        for number, kind in enumerate(supercategories, start=1)
    ]
    key = [[str(kind["id"]), kind["name"], kind["supercategory"]] for kind in categories]
    return Collection([["id", "name", "supercat"], *key], categories, pictures)


def _png(image: Any) -> bytes:
    """An array of rows, columns and three channels as a PNG file; each row is kept as the difference to the last."""
    height, width, _ = image.shape
    rows = image.reshape(height, width * 3)
    changes = rows.copy()
    changes[1:] -= rows[:-1]
    body = zlib.compress(b"".join(b"\x02" + row.tobytes() for row in changes), 6)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def _write_public(
    public: Path, collection: Collection, train: Sequence[Picture], test: Sequence[Picture]
) -> None:
    for folder in ("multilabel_classification", "object_detection"):
        (public / folder).mkdir()
    _write(public / "category_key.csv", collection.key[0], collection.key[1:])
    _write(
        public / "multilabel_classification" / "train.csv",
        ["id", "categories"],
        ([picture.id, str([float(category) for category in picture.categories])] for picture in train),
    )
    boxes = [
        {
            "image_id": number,
            "category_id": category,
            "bbox": list(box),
            "area": box[2] * box[3],
            "iscrowd": 0,
        }
        for number, picture in enumerate(train, start=1)
        for category, box in picture.animals
    ]
    annotations = [{"id": number, **box} for number, box in enumerate(boxes, start=1)]
    learned = {"images": _images(train), "annotations": annotations, "categories": collection.categories}
    asked = {"images": _images(test), "annotations": [], "categories": collection.categories}
    for name, document in (("train", learned), ("eval", asked)):
        (public / "object_detection" / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    usual = Counter(category for picture in train for category in picture.categories).most_common(1)[0][0]
    _write(
        public / "sample_submission.csv",
        ["id", "categories", "osd"],
        ([picture.id, str(usual), "0.5"] for picture in test),
    )


def _images(pictures: Sequence[Picture]) -> list[dict[str, Any]]:
    # Without the published addresses and dates, which tell where to look a picture up.
    return [
        {"id": number, "file_name": picture.file_name, "width": picture.width, "height": picture.height}
        for number, picture in enumerate(pictures, start=1)
    ]


def _hash(seed: int, what: str) -> bytes:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return hashlib.blake2b(what.encode(), key=key, digest_size=16).digest()


def _write(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
