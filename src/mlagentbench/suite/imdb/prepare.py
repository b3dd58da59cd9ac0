"""Film reviews: the Large Movie Review Dataset for `full`, made-up reviews for `mini`."""

from __future__ import annotations

import csv
import hashlib
import json
import runpy
import shutil
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
CLASSES = ["negative", "positive"]
FULL_ROWS = 25_000
"""Of each part."""
MINI_ROWS, MINI_TEST_ROWS = 6500, 2500
PARTS = {part: f"plain_text/{part}-00000-of-00001.parquet" for part in ("train", "test")}
MODEL = "distilbert-base-uncased"
MODEL_FILES = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json", "vocab.txt")

Review = tuple[str, int]
Row = dict[str, str]


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    if variant == "mini":
        train, test = made_up(seed)
        origin = "These reviews are synthetic: a program made them up. No such films exist, nor some of their words."
    elif source is None:
        raise PreparationError("imdb full is made from the hub's stanfordnlp/imdb; give its folder.")
    else:
        train, test = (published(source / PARTS[part]) for part in ("train", "test"))
        place_model(source / MODEL, public / MODEL)
        origin = (
            f"Reviews of films on IMDb, as published by Maas and others in 2011. The folder {MODEL} holds a pretrained "
            "language model, which the library transformers loads from there."
        )

    # Ordered by a keyed hash, since the published files have all praise after all blame.
    learnt, hidden = _rows(seed, "train", train), _rows(seed, "test", test)
    even = dict.fromkeys(CLASSES, "0.5")
    _write(public / "train.csv", ["id", "text", "label"], learnt)
    _write(public / "test.csv", ["id", "text"], hidden)
    _write(public / "sample_submission.csv", ["id", *CLASSES], [{"id": row["id"], **even} for row in hidden])
    _write(private / "answers.csv", ["id", "label"], hidden)
    description = (HERE / "columns.txt").read_text(encoding="utf-8")
    (public / "data_description.txt").write_text(f"{origin}\n\n{description}", encoding="utf-8")


def made_up(seed: int) -> tuple[list[Review], list[Review]]:
    words = runpy.run_path(str(HERE / "words.py"))
    write = runpy.run_path(str(HERE / "synthetic.py"))["reviews"]
    reviews = write(int.from_bytes(_hash(seed, "reviews"), "big"), MINI_ROWS, words)
    return reviews[MINI_TEST_ROWS:], reviews[:MINI_TEST_ROWS]


def published(path: Path) -> list[Review]:
    """The reviews of one of the hub's files, or a sentence that says how it differs from what was published."""
    advice = "take the Parquet files of stanfordnlp/imdb on huggingface.co as they are"
    try:
        from pyarrow import ArrowException, parquet, types
    except ModuleNotFoundError:
        raise PreparationError(
            "imdb full reads Parquet files, for which this interpreter lacks pyarrow; install pyarrow into it."
        ) from None
    if not path.is_file():
        raise PreparationError(f"{path} does not exist; {advice}.")
    try:
        table = parquet.read_table(path)
    except (ArrowException, OSError, ValueError) as error:
        raise PreparationError(f"{path} is not a Parquet file ({error}); {advice}.") from None
    columns = ["text", "label"]
    missing = [column for column in columns if column not in table.column_names]
    extra = [column for column in table.column_names if column not in columns]
    if missing or extra or len(table.column_names) != len(columns):
        difference = "; ".join(
            f"{what} {', '.join(map(repr, names))}"
            for what, names in (("it lacks", missing), ("it has in addition", extra))
            if names
        )
        raise PreparationError(f"{path} has other columns: {difference or 'one is there twice'}; {advice}.")
    text, label = table.schema.field("text").type, table.schema.field("label").type
    if not (types.is_string(text) or types.is_large_string(text)) or not types.is_integer(label):
        raise PreparationError(
            f"{path} has text as {text} and label as {label}, not as string and integer; {advice}."
        )
    if table.num_rows != FULL_ROWS:
        raise PreparationError(f"{path} has {table.num_rows} rows, not {FULL_ROWS}; {advice}.")
    reviews = list(zip(table.column("text").to_pylist(), table.column("label").to_pylist(), strict=True))
    for place, (review, mark) in enumerate(reviews):
        if not review or mark not in (0, 1):
            what = f"the label {mark}, which is neither 0 nor 1" if review else "no text"
            raise PreparationError(f"{path} has in row {place} {what}; {advice}.")
    counts = Counter(mark for _, mark in reviews)
    if counts[0] != counts[1]:
        raise PreparationError(
            f"{path} has {counts[0]} negative and {counts[1]} positive reviews, not as many of each; {advice}."
        )
    return reviews


def place_model(source: Path, place: Path) -> None:
    """Copies the pretrained model, because there is no network where the agent works."""
    advice = "take these files of distilbert/distilbert-base-uncased on huggingface.co as they are"
    missing = [name for name in MODEL_FILES if not (source / name).is_file()]
    if missing:
        raise PreparationError(f"{source} lacks {', '.join(missing)}; {advice}.")
    try:
        kind = json.loads((source / "config.json").read_text(encoding="utf-8")).get("model_type")
    except (ValueError, AttributeError):
        raise PreparationError(f"{source / 'config.json'} is not a JSON object; {advice}.") from None
    if kind != "distilbert":
        raise PreparationError(
            f"{source / 'config.json'} has the model_type {kind!r}, not 'distilbert'; {advice}."
        )
    place.mkdir()
    for name in MODEL_FILES:
        shutil.copyfile(source / name, place / name)


def _rows(seed: int, part: str, reviews: Iterable[Review]) -> list[Row]:
    """Reviews by id. Some texts are there more than once, so the id tells them apart by number."""
    seen: Counter[str] = Counter()
    rows = []
    for text, label in sorted(reviews):
        name = _hash(seed, f"{part} {seen[text]} {text}").hex()[:12]
        seen[text] += 1
        rows.append({"id": name, "text": text, "label": str(label)})
    return sorted(rows, key=lambda row: row["id"])


def _hash(seed: int, what: str) -> bytes:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return hashlib.blake2b(what.encode(), key=key, digest_size=16).digest()


def _write(path: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
