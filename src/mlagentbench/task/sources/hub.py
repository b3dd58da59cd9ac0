"""Files of repositories on the Hugging Face hub, or on the mirror that `$HF_ENDPOINT` names."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from mlagentbench.errors import PreparationError
from mlagentbench.sandbox.spec import Interpreter
from mlagentbench.task import worker
from mlagentbench.task.cache import write_durably
from mlagentbench.task.definition import HuggingFaceSource
from mlagentbench.task.progress import Progress, silent
from mlagentbench.task.sources.naming import choose, is_safe
from mlagentbench.task.sources.web import Wanted, digest_of, download

_LONGEST = 3600.0
_LONGEST_SILENCE = 600.0


def by_hand(source: HuggingFaceSource) -> str:
    return f"download {', '.join(source.files)} from {source.page} and give --from their folder"


def fetch(source: HuggingFaceSource, downloads: Path, progress: Progress | None) -> dict[str, Path]:
    """Where each file is kept: by its hash, so that revisions share what they have in common."""
    folder = downloads / "huggingface" / f"{source.repo_type}s" / source.name.replace("/", "--")
    listing = folder / f"{source.revision.replace('/', '-')}.json"
    files, headers = _read(listing), None
    fresh = files is None
    if files is None:
        (progress or silent)(f"Asking the Hugging Face hub for the files of {source.name}.")
        told = _ask(source, progress)
        files, headers = told["files"], told["headers"]
    by_path = {each["path"]: each for each in files if is_safe(each["path"])}
    choice = choose(source.files, by_path, f"{source.name} on the Hugging Face hub")
    if choice.missing:
        raise PreparationError(
            f"{source.name} at {source.revision} has no {choice.missing[0]} on the Hugging Face hub: look at "
            f"{source.page} where it went, and {by_hand(source)}."
        )
    if fresh:
        listing.parent.mkdir(parents=True, exist_ok=True)
        write_durably(listing, json.dumps(files, indent=1).encode())
    places = {}
    for place, path in choice.found.items():
        each = by_path[path]
        blob = folder / "blobs" / each["digest"]
        if not _is_whole(blob, each, progress or silent):
            if headers is None:
                headers = _ask(source, progress)["headers"]
            wanted = Wanted(
                path, each["url"], source.page, by_hand(source), each["algorithm"], each["digest"],
                each["size"], headers,
            )  # fmt: skip
            download(wanted, blob, progress)
        places[place] = blob
    return places


def _is_whole(blob: Path, file: dict[str, Any], progress: Progress) -> bool:
    if not blob.is_file():
        return False
    if digest_of(blob, file["algorithm"]) == file["digest"]:
        return True
    progress(f"{blob} has changed on disk; downloading it again.")
    blob.unlink()
    return False


def _read(listing: Path) -> list[dict[str, Any]] | None:
    try:
        content = json.loads(listing.read_bytes())
    except (FileNotFoundError, ValueError):
        return None
    return content if isinstance(content, list) else None


def _ask(source: HuggingFaceSource, progress: Progress | None) -> dict[str, Any]:
    answer: dict[str, Any] = worker.call(
        Path(__file__).with_name("clients") / "_hub.py",
        "files_of",
        {
            "name": source.name,
            "repo_type": source.repo_type,
            "revision": source.revision,
            "page": source.page,
        },
        Interpreter(Path(sys.executable), ()),
        seconds=_LONGEST,
        silence=_LONGEST_SILENCE,
        environment=dict(os.environ) | {"HF_HUB_DISABLE_TELEMETRY": "1"},
        failure=PreparationError,
        progress=progress,
    )
    return answer
