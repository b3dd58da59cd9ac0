"""Which downloaded files arrived whole, and whether they are still as they arrived."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mlagentbench.task.progress import Progress
from mlagentbench.task.sources.web import digest_of


class Kept:
    """Files below `folder`, as a journal notes them: a line of JSON each, with size, time and SHA-256."""

    def __init__(self, folder: Path, journal: Path) -> None:
        self._folder = folder
        self._notes: dict[str, dict[str, Any]] = {}
        if journal.is_file():
            for line in journal.read_text(encoding="utf-8").splitlines():
                try:
                    note = json.loads(line)
                    self._notes[note["file"]] = note
                except (ValueError, KeyError, TypeError):
                    continue  # a line that a kill cut short was never promised to anybody

    def holds(self, name: str, progress: Progress) -> bool:
        """Whether it need not be fetched again. One that was changed on disk is removed."""
        note, file = self._notes.get(name), self._folder / name
        if note is None or not file.is_file():
            return False
        status = file.stat()
        if (status.st_size, status.st_mtime_ns) == (note["size"], note["mtime_ns"]):
            return True
        if digest_of(file, "sha256") == note["sha256"]:
            return True
        progress(f"{file} has changed on disk; downloading it again.")
        file.unlink()
        return False
