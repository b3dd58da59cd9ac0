"""The demonstration that `make demo` gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_demo_compares_two_agents_and_says_where_the_runs_lie(place):
    command = str(Path(sys.executable).with_name("mlagentbench"))
    done = subprocess.run(
        ["sh", str(ROOT / "tools" / "demo.sh"), command],
        cwd=place.folder,
        env=place.environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The runs lie in runs/demo" in done.stdout
    groups = {group["agent"]: group for group in place.json("compare", "runs/demo")["groups"]}
    assert {agent: (group["runs"], group["success"]["value"]) for agent, group in groups.items()} == {
        "starter": (3, 0.0),
        "oracle": (3, 1.0),
    }
