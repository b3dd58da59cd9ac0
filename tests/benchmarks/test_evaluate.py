"""The measurement of reports still runs, and its runs are runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from evaluate import Cost, missed
from synthetic import AGENTS, TASKS, write_store

from mlagentbench.evaluation.profile import make_profile, read_profile
from mlagentbench.record.folder import find_runs

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "evaluate.py"


def test_it_runs(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--json", "--folder", str(tmp_path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    costs = json.loads(told.stdout)["costs"]
    assert [(cost["runs"], cost["profiles"]) for cost in costs] == [(50, "kept"), (50, "made")]
    assert list(tmp_path.iterdir()) == []


def test_what_it_demands_can_be_missed() -> None:
    fair = [Cost(100, "kept", 1.0, 10**8, 1), Cost(1_000, "kept", 9.0, 10**8, 1)]
    assert missed(fair) == []
    assert missed([*fair, Cost(10_000, "kept", 130.0, 10**8, 1)]) != []
    assert missed([Cost(100, "kept", 1.0, 2 * 10**9, 1)]) != []


def test_made_up_runs_have_the_profile_that_would_be_made_of_them(tmp_path: Path) -> None:
    assert write_store(tmp_path, agents=AGENTS[:1], tasks=TASKS[:1], runs=3, steps=6, patterns=2) == 3
    for run in find_runs([tmp_path]):
        kept = read_profile(run)
        assert kept == make_profile(run)
        assert kept.summary.steps == 6
