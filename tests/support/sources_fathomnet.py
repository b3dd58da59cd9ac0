"""The FathomNet 2023 competition as it is published, with made-up pictures."""

from __future__ import annotations

import json
import random
import uuid
from pathlib import Path
from typing import Any

CATEGORIES = 290
IMAGES = "images"
KINDS = ["Worm", "Feather star", "Sea cucumber", "Squat lobster", "Fish", "Soft coral", "Urchin", "Sea star"]
# The smallest PNG there is: one grey pixel.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a49444154789c6360000000020001"
    "48afa4710000000049454e44ae426082"
)


def document(count: int = 400, server: str = "https://fathomnet.example/static") -> dict[str, Any]:
    """The content of object_detection/train.json; each picture has an address below `server`."""
    rng = random.Random(0)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number in range(1, count + 1):
        name = f"{uuid.UUID(int=rng.getrandbits(128), version=4)}.png"
        images.append(
            {
                "id": number,
                "width": 1920,
                "height": 1080,
                "file_name": name,
                "license": 0,
                "flickr_url": f"{server}/{name}",
                "coco_url": f"{server}/{name}",
                "date_captured": "2010-05-12 00:00:00",
            }
        )
        kinds = {min(int(rng.expovariate(1 / 20)) + 1, CATEGORIES) for _ in range(rng.randint(1, 4))}
        for kind in sorted(kinds):
            left, top, width, height = (rng.randrange(1, 500) for _ in range(4))
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": number,
                    "category_id": kind,
                    "segmentation": [],
                    "bbox": [float(left), float(top), float(width), float(height)],
                    "area": float(width * height),
                    "iscrowd": 0,
                }
            )
    categories = [
        {"id": number, "name": f"Species {number}", "supercategory": KINDS[number % len(KINDS)]}
        for number in range(1, CATEGORIES + 1)
    ]
    return {
        "info": {"year": "2023", "version": "0"},
        "images": images,
        "licenses": [],
        "annotations": annotations,
        "categories": categories,
    }


def files(boxes: dict[str, Any]) -> dict[str, str]:
    """The competition's files that belong to the document, by their names."""
    shown: dict[int, set[int]] = {image["id"]: set() for image in boxes["images"]}
    for box in boxes["annotations"]:
        shown[box["image_id"]].add(box["category_id"])
    labels = [
        f'{image["file_name"].removesuffix(".png")},"{[float(kind) for kind in sorted(shown[image["id"]])]}"'
        for image in boxes["images"]
    ]
    key = [f"{kind['id']},{kind['name']},{kind['supercategory']}" for kind in boxes["categories"]]
    return {
        "category_key.csv": "\n".join(["id,name,supercat", *key]) + "\n",
        "multilabel_classification/train.csv": "\n".join(["id,categories", *labels]) + "\n",
        "object_detection/train.json": json.dumps(boxes),
    }


def publish(folder: Path, count: int = 400) -> Path:
    """`folder`, which afterwards holds the files and the pictures."""
    boxes = document(count)
    for name, text in files(boxes).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / IMAGES).mkdir()
    for image in boxes["images"]:
        (folder / IMAGES / image["file_name"]).write_bytes(PNG + str(image["id"]).encode())
    return folder
