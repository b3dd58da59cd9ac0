"""A cache of its own for every test, and small tasks made on the spot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from support.origins import Origins, serving

from mlagentbench.task.definition import Source, Task
from mlagentbench.task.new import new_task
from mlagentbench.task.progress import Progress
from mlagentbench.task.registry import load_task
from mlagentbench.task.sources import fetch_all


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(folder))
    return folder


@pytest.fixture
def task(cache: Path, tmp_path: Path) -> Task:
    """The task that `new-task` makes."""
    return load_task(new_task("ball", tmp_path / "tasks"))


@pytest.fixture
def original(cache: Path, tmp_path: Path) -> Path:
    """A folder in the original's format, with data, a script that makes more, and a grader."""
    folder = tmp_path / "benchmarks" / "old task"
    (folder / "env" / "data").mkdir(parents=True)
    (folder / "scripts").mkdir()
    (folder / "env" / "train.py").write_text("print('training')\n")
    (folder / "env" / "train.csv").write_text("id,y\n1,2\n")
    (folder / "env" / "data" / "more.txt").write_text("more\n")
    (folder / "scripts" / "research_problem.txt").write_text("Make {train.py} better.")
    (folder / "scripts" / "read_only_files.txt").write_text("./train.csv\n./data/*\n\n")
    (folder / "scripts" / "eval.py").write_text("def get_score(folder):\n    return 1.0\n")
    (folder / "mlagentbench.toml").write_text("requirements = []\n")
    return folder


@pytest.fixture
def origins(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Origins]:
    """The servers that raw files come from."""
    with serving(monkeypatch, tmp_path / "home") as served:
        yield served


@pytest.fixture
def fetch(cache: Path, tmp_path: Path) -> Callable[..., Path]:
    """Fetches into a folder of its own each time."""

    def fetch(
        source: Source | Sequence[Source],
        given: Path | None = None,
        progress: Progress | None = None,
        limit: int | None = None,
    ) -> Path:
        folder = tmp_path / f"source-{len(list(tmp_path.glob('source-*')))}"
        folder.mkdir()
        sources = source if isinstance(source, Sequence) else [source]
        fetch_all(sources, folder, given, progress, limit)
        return folder

    return fetch
