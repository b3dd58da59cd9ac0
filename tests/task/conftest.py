"""A cache of its own for every test, and small tasks made on the spot."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlagentbench.task.definition import Task
from mlagentbench.task.new import new_task
from mlagentbench.task.registry import load_task


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
