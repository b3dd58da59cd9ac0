"""Reads the files of the FathomNet 2023 competition, or says in a sentence how they differ from what is published."""

# mypy: ignore-errors
from __future__ import annotations

import csv
import json
import re
from pathlib import Path, PurePosixPath

from mlagentbench.errors import PreparationError

CATEGORIES = 290
ADVICE = "take the files of fathomnet-out-of-sample-detection as they are"
KEY, LABELS, BOXES, IMAGES = (
    "category_key.csv", "multilabel_classification/train.csv", "object_detection/train.json", "images",
)  # fmt: skip
_LIST = re.compile(r"\[\s*\d+(\.0)?(\s*,\s*\d+(\.0)?)*\s*\]")
_NAME = re.compile(r"[\w-][\w.-]*")


def published(source: Path, collection, picture):
    """What the competition publishes to learn from, as a `collection` of `picture`s."""
    key = _table(source / KEY, ["id", "name"])
    numbers = _key_numbers(source / KEY, key)
    labels = _labels(source / LABELS, numbers)
    document = _document(source / BOXES)
    animals = _animals(source / BOXES, document, numbers)
    pictures = []
    for entry in document["images"]:
        file_name = entry["file_name"]
        name = PurePosixPath(file_name).stem
        boxes = animals.get(entry["id"], [])
        _compare(source, name, labels.get(name), sorted({category for category, _ in boxes}))
        pictures.append(
            picture(
                name, file_name, entry["width"], entry["height"], tuple(boxes), source / IMAGES / file_name
            )
        )
    if len({one.id for one in pictures}) != len(pictures):
        raise PreparationError(f"{source / BOXES} has a picture more than once; {ADVICE}.")
    absent = sorted(labels.keys() - {one.id for one in pictures})
    if absent:
        raise PreparationError(
            f"{source / BOXES} lacks {len(absent)} pictures of {LABELS}, among them {absent[0]}; {ADVICE}."
        )
    missing = [
        one.file_name for one in pictures if not one.content.is_file() or not one.content.stat().st_size
    ]
    if missing:
        raise PreparationError(
            f"{source / IMAGES} lacks {len(missing)} of {len(pictures)} pictures, among them {missing[0]}; "
            f"fetch them by the coco_url that {BOXES} has for each."
        )
    categories = [
        {"id": one["id"], "name": one["name"], "supercategory": one["supercategory"]}
        for one in document["categories"]
    ]
    return collection(key, categories, pictures)


def _table(path: Path, needed: list[str]) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header, *rows = csv.reader(file, strict=True, skipinitialspace=True)
    except FileNotFoundError:
        raise PreparationError(f"{path} does not exist; {ADVICE}.") from None
    except (ValueError, csv.Error) as error:
        raise PreparationError(f"{path} is not a CSV file ({error}); {ADVICE}.") from None
    missing = [column for column in needed if column not in header]
    if missing:
        raise PreparationError(
            f"{path} has no column {', '.join(map(repr, missing))}, only {', '.join(map(repr, header))}; {ADVICE}."
        )
    for line, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise PreparationError(
                f"{path} has {len(row)} values on line {line}, not {len(header)}; {ADVICE}."
            )
    return [header, *rows]


def _key_numbers(path: Path, key: list[list[str]]) -> set[int]:
    place = key[0].index("id")
    texts = [row[place] for row in key[1:]]
    wrong = [text for text in texts if not (text.isascii() and text.isdigit())]
    if wrong:
        raise PreparationError(f"{path} has the id {wrong[0]!r}, not a whole number; {ADVICE}.")
    if len(texts) != CATEGORIES or len(set(texts)) != len(texts):
        raise PreparationError(f"{path} has {len(set(texts))} categories, not {CATEGORIES}; {ADVICE}.")
    return set(map(int, texts))


def _labels(path: Path, numbers: set[int]) -> dict[str, list[int]]:
    header, *rows = _table(path, ["id", "categories"])
    labels = {}
    for row in rows:
        name, categories = row[header.index("id")], row[header.index("categories")]
        if not _LIST.fullmatch(categories):
            raise PreparationError(
                f"{path} has the categories {categories[:40]!r} for {name}, not a list such as [1.0, 9.0]; {ADVICE}."
            )
        if name in labels:
            raise PreparationError(f"{path} has the id {name} more than once; {ADVICE}.")
        labels[name] = sorted({int(float(text)) for text in categories.strip("[]").split(",")})
        _known(path, labels[name], numbers)
    return labels


def _known(path, categories, numbers):
    strange = [category for category in categories if category not in numbers]
    if strange:
        raise PreparationError(f"{path} has the category {strange[0]}, which {KEY} lacks; {ADVICE}.")


def _document(path: Path):
    fields = {
        "images": {"id": int, "file_name": str, "width": int, "height": int},
        "annotations": {"image_id": int, "category_id": int, "bbox": list},
        "categories": {"id": int, "name": str, "supercategory": str},
    }
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PreparationError(f"{path} does not exist; {ADVICE}.") from None
    except (ValueError, RecursionError) as error:
        raise PreparationError(f"{path} is not a JSON file ({error}); {ADVICE}.") from None
    if not isinstance(document, dict):
        raise PreparationError(f"{path} does not hold a COCO document; {ADVICE}.")
    for part, needed in fields.items():
        entries = document.get(part)
        if not isinstance(entries, list) or not entries:
            raise PreparationError(f"{path} has no list {part!r}; {ADVICE}.")
        for entry in entries:
            for name, kind in needed.items():
                if not isinstance(entry, dict) or not isinstance(entry.get(name), kind):
                    raise PreparationError(
                        f"{path} has an entry of {part!r} without a good {name!r}; {ADVICE}."
                    )
    for entry in document["images"]:
        if not _NAME.fullmatch(entry["file_name"]):
            raise PreparationError(
                f"{path} has the file_name {entry['file_name'][:60]!r}, not a plain name; {ADVICE}."
            )
    return document


def _animals(path, document, numbers):
    animals = {}
    known = {entry["id"] for entry in document["images"]}
    _known(path, [entry["id"] for entry in document["categories"]], numbers)
    for entry in document["annotations"]:
        box = entry["bbox"]
        if len(box) != 4 or not all(type(value) in (int, float) for value in box):
            raise PreparationError(f"{path} has a bbox that is not four numbers; {ADVICE}.")
        if entry["image_id"] not in known:
            raise PreparationError(
                f"{path} has a box for the image {entry['image_id']}, which it lacks; {ADVICE}."
            )
        _known(path, [entry["category_id"]], numbers)
        animals.setdefault(entry["image_id"], []).append((entry["category_id"], tuple(map(float, box))))
    return animals


def _compare(source, name, labelled, boxed):
    if labelled is None:
        raise PreparationError(f"{source / LABELS} lacks the picture {name} of {BOXES}; {ADVICE}.")
    if labelled != boxed:
        raise PreparationError(
            f"{source / LABELS} has the categories {labelled} for {name}, and {BOXES} has {boxed}; {ADVICE}."
        )
