"""Text to learn a language from: the BabyLM corpus for `full`, made-up text of the same form for `mini`."""

from __future__ import annotations

import hashlib
import json
import runpy
from pathlib import Path

from mlagentbench.errors import PreparationError

HERE = Path(__file__).parent
SOURCES = [
    "aochildes", "bnc_spoken", "cbt", "children_stories", "gutenberg",
    "open_subtitles", "qed", "simple_wikipedia", "switchboard", "wikipedia",
]  # fmt: skip
PARTS = {"train": "babylm_10M", "dev": "babylm_dev", "test": "babylm_test"}
MINI_WORDS = {"train": 220_000, "dev": 16_000, "test": 16_000}
# What infer.py may use of CPU time.
SECONDS = {"mini": 240, "full": 5_400}

# The published sizes, about: each part has ten million words.
LEAST_WORDS, MOST_WORDS = 8_500_000, 11_500_000
# How much of the published test part is scored, in passages of so many words from each source in its share: all of it
# would take a model of a hundred million weights days on one core.
SCORED_WORDS, PASSAGE_WORDS = 150_000, 2_500
ADVICE = (
    "download babylm_data.zip of the 2023 challenge again from https://babylm.github.io/archive_2023.html"
)

DESCRIPTION = """\
{origin}

babylm_10M/*.train  text to learn from
babylm_dev/*.dev    other text of the same kinds, to choose between models by

There is one file for each of ten sources, plain text in UTF-8. The hidden text is of the same ten sources
and has {hidden:,} words. A model may take {seconds:,} seconds of CPU time to score it, on one core.

source            words in .train    words in .dev
{table}"""


def prepare(variant: str, public: Path, private: Path, seed: int, source: Path | None = None) -> None:
    if variant == "mini":
        made = runpy.run_path(str(HERE / "synthetic.py"))["corpus"]
        texts = made(int.from_bytes(_hash(seed, "corpus"), "big"), MINI_WORDS)
        origin = (
            "This text is synthetic: a program wrote it. Its little words are English, the others are invented, and\n"
            "each source has a manner of its own. The names of the files are those of the BabyLM corpus."
        )
    elif source is None:
        raise PreparationError("babylm full is made from babylm_data.zip; give it, or its unpacked folder.")
    else:
        texts = published(source)
        size = sum(len(texts[name]["test"]) for name in SOURCES)
        for name in SOURCES:
            share = len(texts[name]["test"]) / size
            texts[name]["test"] = drawn(texts[name]["test"], share * SCORED_WORDS, seed, name)
        origin = (
            "The BabyLM corpus of 2023, strict-small track: ten million words such as children hear and read."
        )

    for part in ("train", "dev"):
        (public / PARTS[part]).mkdir()
    (private / "inputs").mkdir()
    for name in SOURCES:
        for part in ("train", "dev"):
            _write(public / PARTS[part] / f"{name}.{part}", texts[name][part])
        _write(private / "inputs" / f"{name}.test", texts[name]["test"])
    _write(private / "inputs" / "settings.json", json.dumps({"seconds": SECONDS[variant]}) + "\n")
    rows = [
        f"{name:<17}{len(texts[name]['train'].split()):>16,}{len(texts[name]['dev'].split()):>17,}\n"
        for name in SOURCES
    ]
    hidden = sum(len(texts[name]["test"].split()) for name in SOURCES)
    description = DESCRIPTION.format(
        origin=origin, table="".join(rows), hidden=hidden, seconds=SECONDS[variant]
    )
    _write(public / "data_description.txt", description)


def published(source: Path) -> dict[str, dict[str, str]]:
    """The text of each source and part, as it was published."""
    folder = source / "babylm_data" if (source / "babylm_data").is_dir() else source
    texts: dict[str, dict[str, str]] = {name: {} for name in SOURCES}
    for part, place in PARTS.items():
        total = 0
        for name in SOURCES:
            file = folder / place / f"{name}.{part}"
            if not file.is_file():
                raise PreparationError(f"{folder} lacks {place}/{name}.{part}; {ADVICE}.")
            try:
                text = file.read_bytes().decode("utf-8")
            except UnicodeDecodeError as error:
                raise PreparationError(f"{file} is not text in UTF-8 ({error.reason}); {ADVICE}.") from None
            if "\0" in text or not text.strip():
                raise PreparationError(
                    f"{file} is {'not plain' if text.strip() else 'without'} text; {ADVICE}."
                )
            texts[name][part] = text
            total += len(text.split())
        if not LEAST_WORDS <= total <= MOST_WORDS:
            raise PreparationError(
                f"{folder / place} has {total:,} words, not about ten million (from {LEAST_WORDS:,} to "
                f"{MOST_WORDS:,}); {ADVICE}."
            )
    return texts


def drawn(text: str, words: float, seed: int, name: str) -> str:
    """Passages of whole lines, in all at least so many words, chosen by a keyed hash and in their order."""
    *lines, last = text.split("\n")
    passages, sizes = [""], [0]
    for line in [*(f"{line}\n" for line in lines), last]:
        if sizes[-1] >= PASSAGE_WORDS:
            passages.append("")
            sizes.append(0)
        passages[-1] += line
        sizes[-1] += len(line.split())
    order = sorted(range(len(passages)), key=lambda index: _hash(seed, f"{name} {index}"))
    chosen: list[int] = []
    for index in order:
        if sum(sizes[other] for other in chosen) < words:
            chosen.append(index)
    return "".join(passages[index] for index in sorted(chosen))


def _hash(seed: int, what: str) -> bytes:
    key = hashlib.blake2b(str(seed).encode()).digest()
    return hashlib.blake2b(what.encode(), key=key, digest_size=16).digest()


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))
