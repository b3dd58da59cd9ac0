"""That the measurement of many runs side by side runs and is told rightly. A clock decides no test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.xdist_group("experiments")
def test_a_quick_look_makes_its_runs_and_stays_small(tmp_path: Path):
    script = Path(__file__).parents[2] / "benchmarks" / "experiment.py"
    argv = [sys.executable, str(script), "--quick", "--json", "--folder", str(tmp_path)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    each, ratio, spent, memory = json.loads(ended.stdout)["rows"]
    assert each["value"] > 0
    assert ratio["limit"] == 1.3 and ratio["value"] >= 1, "nothing is faster than the ideal"
    assert spent["value"] >= 1
    assert memory["holds"], "memory depends on no clock"
    assert list(tmp_path.iterdir()) == [], "everything it made is gone"
