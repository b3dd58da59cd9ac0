"""What tests of the command say to, and hear from, providers on loopback."""

from __future__ import annotations

import json
from pathlib import Path


def decision(action: str, **args: object) -> str:
    """What a model writes that thinks, and then acts."""
    return f"Thought: I go on.\nAction: {action}\nAction Input: {json.dumps(args)}"


def cache_with_shared_data(shared: Path, own: Path) -> Path:
    """A cache whose data are the shared ones, and whose answers and limits of models are its own."""
    own.mkdir()
    for kept in ("data", "interpreters", "references"):
        (shared / kept).mkdir(exist_ok=True)
        (own / kept).symlink_to(shared / kept)
    return own
