"""A small experiment that nobody made, and a report of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from synthetic import AGENTS, TASKS, write_store

from mlagentbench.reporting.report import Written, report


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two agents on two tasks, three runs of twelve steps each. Not to be changed."""
    folder = tmp_path_factory.mktemp("store") / "runs"
    write_store(folder, agents=AGENTS[:2], tasks=TASKS[:2], runs=3, steps=12, words=12)
    return folder


@pytest.fixture(scope="session")
def written(store: Path) -> Written:
    """A report beside it."""
    return report(store, output=store.parent / "report")
