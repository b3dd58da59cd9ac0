"""Satellite records with contrails: the competition's for `full`, made-up ones in the same files for `mini`."""

from __future__ import annotations

import csv
import hashlib
import json
import runpy
import shutil
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
BANDS = tuple(f"band_{number:02}.npy" for number in range(8, 17))
PIXEL_MASKS, INDIVIDUAL_MASKS = "human_pixel_masks.npy", "human_individual_masks.npy"
FRAMES = 8

MINI_SIZE = 32
MINI_TRAIN, MINI_TEST = 64, 64

# Of the competition.
FULL_SIZE = 256
FULL_TRAIN, FULL_VALIDATION = 20529, 1856
FIELDS = ("record_id", "row_min", "row_size", "col_min", "col_size", "timestamp", "projection_wkt")
ADVICE = "take the files of google-research-identify-contrails-reduce-global-warming as they are"


def prepare(
    variant: str,
    public: Path,
    private: Path,
    seed: int,
    source: Path | None = None,
    limit: int | None = None,
) -> None:
    for part in ("train", "test"):
        (public / part).mkdir()
    if variant == "mini":
        size = MINI_SIZE
        metadata, masks = made_up(public, seed)
        origin = "These records are synthetic: a program drew them. No satellite saw such a sky."
    elif source is None:
        raise PreparationError(
            "identify-contrails full is made from the competition's files; give their folder."
        )
    else:
        size = FULL_SIZE
        metadata, masks = published(source, public, limit)
        origin = "Records of the satellite GOES-16 over America, April 2019 to April 2020."
    if not any(mask.any() for mask in masks.values()):
        raise PreparationError(
            f"None of the {len(masks)} test records has a contrail, so there is nothing to find; "
            "prepare more records (--limit)."
        )
    (public / "train_metadata.json").write_text(json.dumps(metadata, indent=1), encoding="utf-8")
    _write(public / "sample_submission.csv", ["record_id", "encoded_pixels"], ([name, "-"] for name in masks))
    answers = ([name, mask.size, encoded(mask)] for name, mask in masks.items())
    _write(private / "answers.csv", ["record_id", "pixels", "encoded_pixels"], answers)
    description = (HERE / "description.txt").read_text(encoding="utf-8").replace("SIZE", str(size))
    (public / "data_description.txt").write_text(f"{origin}\n\n{description}", encoding="utf-8")


def made_up(public: Path, seed: int) -> tuple[list[dict[str, object]], dict[str, np.ndarray]]:
    record = runpy.run_path(str(HERE / "synthetic.py"))["record"]
    metadata, masks = [], {}
    for number in range(MINI_TRAIN + MINI_TEST):
        rng = np.random.default_rng(int.from_bytes(_hash(seed, f"record {number}"), "big"))
        name = str(10**18 + int.from_bytes(_hash(seed, f"name {number}")[:8], "big") % (9 * 10**18))
        made = record(rng, MINI_SIZE)
        folder = public / ("train" if number < MINI_TRAIN else "test") / name
        folder.mkdir()
        for file, band in zip(BANDS, made["bands"], strict=True):
            np.save(folder / file, np.ascontiguousarray(band))
        pixels = (made["individual"].mean(axis=3) > 0.5).astype(np.int32)
        if number < MINI_TRAIN:
            np.save(folder / INDIVIDUAL_MASKS, made["individual"])
            np.save(folder / PIXEL_MASKS, pixels)
            taken = datetime(2019, 4, 1, tzinfo=UTC) + timedelta(minutes=10 * int(rng.integers(0, 52560)))
            row, column = (float(value) for value in rng.integers(-1500, 1500, 2) * 2000)
            side = MINI_SIZE * 2000.0
            values = [name, row, side, column, side, taken.timestamp(), "made up"]
            metadata.append(dict(zip(FIELDS, values, strict=True)))
        else:
            masks[name] = pixels[:, :, 0]
    metadata.sort(key=lambda entry: str(entry["record_id"]))
    return metadata, dict(sorted(masks.items()))


def published(
    source: Path, public: Path, limit: int | None
) -> tuple[list[dict[str, object]], dict[str, np.ndarray]]:
    """The competition's training records, and its validation records for a test, without their masks."""
    train = _listed(source / "train_metadata.json", FULL_TRAIN, limit)
    test = _listed(source / "validation_metadata.json", FULL_VALIDATION, limit)
    if both := train.keys() & test.keys():
        raise PreparationError(f"The record {min(both)} is in both lists of {source}; {ADVICE}.")
    masks = {}
    for done, name in enumerate(train):
        _copied(source / "train" / name, public / "train" / name, (*BANDS, PIXEL_MASKS, INDIVIDUAL_MASKS))
        if done % 1000 == 999:
            print(f"{done + 1} of {len(train)} training records", flush=True)
    for name in test:
        _copied(source / "validation" / name, public / "test" / name, BANDS)
        masks[name] = _array(source / "validation" / name / PIXEL_MASKS)[:, :, 0]
    return list(train.values()), masks


def _listed(file: Path, expected: int, limit: int | None) -> dict[str, dict[str, object]]:
    """The first `limit` records of a list, in the order of their names as text."""
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PreparationError(f"{file} does not exist; {ADVICE}.") from None
    except ValueError as error:
        raise PreparationError(f"{file} is not JSON ({error}); {ADVICE}.") from None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise PreparationError(f"{file} is not a list of records; {ADVICE}.")
    for entry in entries:
        if missing := [field for field in FIELDS if field not in entry]:
            raise PreparationError(f"{file} has a record without {', '.join(missing)}; {ADVICE}.")
    records = {str(entry["record_id"]): entry for entry in entries}
    if len(records) != len(entries):
        raise PreparationError(f"{file} has a record more than once; {ADVICE}.")
    if len(records) != expected:
        raise PreparationError(f"{file} has {len(records)} records, not {expected}; {ADVICE}.")
    if bad := [name for name in records if not (name.isascii() and name.isdigit())]:
        raise PreparationError(f"{file} has the record_id {bad[0]!r}, which is not a number; {ADVICE}.")
    return {name: records[name] for name in sorted(records)[:limit]}


def _copied(record: Path, to: Path, names: Sequence[str]) -> None:
    to.mkdir()
    for name in names:
        _array(record / name)
        shutil.copyfile(record / name, to / name)


def _array(file: Path) -> np.ndarray:
    """The array of a file; its numbers stay on disk."""
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise PreparationError(f"{file} does not exist; {ADVICE}.") from None
    except (ValueError, EOFError, OSError) as error:
        raise PreparationError(f"{file} is not a whole array of NumPy ({error}); {ADVICE}.") from None
    individual = file.name == INDIVIDUAL_MASKS
    shape = (FULL_SIZE, FULL_SIZE, FRAMES if file.name in BANDS else 1)
    if array.shape[:3] != shape or array.ndim != (4 if individual else 3):
        form = " x ".join([*map(str, shape), *(["annotators"] if individual else [])])
        raise PreparationError(
            f"{file} has the shape {' x '.join(map(str, array.shape))}, not {form}; {ADVICE}."
        )
    if file.name not in BANDS and not np.isin(array, (0, 1)).all():
        raise PreparationError(f"{file} has values other than 0 and 1; {ADVICE}.")
    return array


def encoded(mask: np.ndarray) -> str:
    """Runs of pixels, column by column, counted from 1: start and length of each; `-` where there is none."""
    line = np.concatenate([[0], (mask.T.reshape(-1) != 0).astype(np.int8), [0]])
    starts, ends = np.flatnonzero(np.diff(line) == 1), np.flatnonzero(np.diff(line) == -1)
    return " ".join(f"{start + 1} {end - start}" for start, end in zip(starts, ends, strict=True)) or "-"


def _hash(seed: int, what: str) -> bytes:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return hashlib.blake2b(what.encode(), key=key, digest_size=16).digest()


def _write(file: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
