"""The BabyLM corpus as it was published in 2023, with made-up text: three parts, ten sources each."""

from __future__ import annotations

from pathlib import Path

SOURCES = [
    "aochildes", "bnc_spoken", "cbt", "children_stories", "gutenberg",
    "open_subtitles", "qed", "simple_wikipedia", "switchboard", "wikipedia",
]  # fmt: skip
FOLDERS = {"train": "babylm_10M", "dev": "babylm_dev", "test": "babylm_test"}
LINES = 120
WORDS = 7 * LINES * len(SOURCES)
SIZES = {"LEAST_WORDS": WORDS - 50, "MOST_WORDS": WORDS + 50, "SCORED_WORDS": 900, "PASSAGE_WORDS": 30}
"""What prepare.py is told to expect instead of the published sizes."""


def files() -> dict[str, bytes]:
    """By their names in the archive. No two lines are alike."""
    return {
        f"babylm_data/{folder}/{source}.{part}": "".join(
            f"Line {line} of {source}, {part}: naïve\u2028.\n" for line in range(LINES)
        ).encode()
        for part, folder in FOLDERS.items()
        for source in SOURCES
    }


def publish(folder: Path) -> None:
    for name, content in files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
