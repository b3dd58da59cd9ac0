"""A few tiny records in the files of the contrails competition."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

SIDE = 8
TRAIN = ("1000216489776414077", "1000603527582775543", "999837215514444115")
VALIDATION = ("1000834164244036115", "1002653297254493116")
SIZES = {"FULL_SIZE": SIDE, "FULL_TRAIN": len(TRAIN), "FULL_VALIDATION": len(VALIDATION)}
"""What prepare.py must take for the size of the published data."""


def publish(folder: Path) -> Path:
    """`folder`, which afterwards holds what the competition's archive holds."""
    rng = np.random.default_rng(0)
    for part, names in (("train", TRAIN), ("validation", VALIDATION)):
        metadata = []
        for name in names:
            record = folder / part / name
            record.mkdir(parents=True)
            for band in range(8, 17):
                values = rng.normal(280, 5, (SIDE, SIDE, 8)).astype(np.float32)
                np.save(record / f"band_{band:02}.npy", values)
            drawn = (rng.random((SIDE, SIDE, 1, 4)) < 0.5).astype(np.int32)
            np.save(record / "human_pixel_masks.npy", (drawn.mean(axis=3) > 0.5).astype(np.int32))
            if part == "train":
                np.save(record / "human_individual_masks.npy", drawn)
            metadata.append(
                {
                    "record_id": name,
                    "row_min": -1153152.0,
                    "row_size": 2004.0,
                    "col_min": -2509172.0,
                    "col_size": 2004.0,
                    "timestamp": 1575836405.0,
                    "projection_wkt": 'PROJCS["unnamed",GEOGCS["unknown"]]',
                }
            )
        (folder / f"{part}_metadata.json").write_text(json.dumps(metadata))
    (folder / "sample_submission.csv").write_text("record_id,encoded_pixels\n1000834164244036115,1 3 10 5\n")
    return folder
