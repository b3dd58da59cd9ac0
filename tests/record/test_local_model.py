"""The runs of a real model that are kept in the repository are what they say, and the page says what they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from mlagentbench import unpack
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.summary import derive

ROOT = Path(__file__).parents[2]
KEPT = sorted((ROOT / "experiments" / "local-model").glob("*.tar.gz"))
PAGE = (ROOT / "docs" / "local-model.md").read_text(encoding="utf-8")


def test_enough_runs_are_kept():
    cells = Counter(file.name.rsplit("-", 1)[0] for file in KEPT)
    for agent in ("research", "react"):
        assert cells[f"{agent}-house-price"] == 3 and cells[f"{agent}-vectorization"] == 2
    for agent in ("research", "tree"):
        assert cells[f"{agent}-house-price"] == 3 and cells[f"{agent}-spaceship-titanic"] == 3


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.name)
def test_a_kept_run_is_whole_and_on_the_page(file: Path, tmp_path: Path):
    folder = RunFolder.open(unpack(file, tmp_path))
    request, history = folder.request(), folder.history()
    assert history.dropped == 0 and request.model == "local/qwen2.5-coder-1.5b"
    summary = derive(folder, history)
    assert summary.ended and summary.grade is not None
    tokens = f"{summary.tokens_in:,} / {summary.tokens_out:,}"
    (line,) = [line for line in PAGE.splitlines() if tokens in line]
    task = request.task.partition("@")[0]
    assert line.startswith(
        f"| {task} | {request.agent} | {request.seed} | {summary.steps} | {summary.ended} |"
    )
