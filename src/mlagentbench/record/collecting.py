"""Removing from a store what no run refers to any more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.record.folder import STORE, find_runs
from mlagentbench.record.packing import requests_of, snapshots_of
from mlagentbench.workspace import Collected, Store


def gc(runs: str | Path = "runs") -> Collected:
    """Free what deleted runs left in the store of `runs`.

    A record that cannot be read stops it, since nobody knows what that run still needs.
    """
    root = Path(runs)
    if not (root / STORE).is_dir():
        raise UsageError(
            f"{root} is not a folder of runs: it has no {STORE}. Give the folder that holds the runs."
        )
    return Store(root / STORE).collect(_live(root))


def _live(root: Path) -> Iterator[str]:
    for folder in find_runs([root]):
        yield from snapshots_of(folder)
        yield from requests_of(folder)
