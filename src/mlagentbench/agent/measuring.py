"""The score that a script gives itself: read from what it printed, never guessed."""

from __future__ import annotations

import math
import re

from mlagentbench.record import Action

OTHER_SEEDS = 1_000
"""Seeds to run something again with are so far apart: none is that of another run."""
RUN_WITH_SEED = "run_with_seed.py"
_RUN_WITH_SEED = """import os
import runpy
import sys

os.environ["SEED"] = sys.argv[1]
script = sys.argv[2]
del sys.argv[1:]
runpy.run_path(script, run_name="__main__")
"""
_SCORE = re.compile(
    r"^[^\S\n]*validation[^\S\n]+[^:\n]{1,80}:[^\S\n]*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\b",
    re.M | re.I,
)


def validation_score(output: str) -> float | None:
    """The last line `validation <metric>: <number>` of an output; None where there is none.

    >>> validation_score("epoch 1\\nvalidation MAE: 3.5\\nvalidation MAE: 2.25\\n")
    2.25
    >>> validation_score("validation accuracy is 0.9") is None
    True
    """
    found = _SCORE.findall(output)
    value = float(found[-1]) if found else math.nan
    return value if math.isfinite(value) else None


def writing_run_with_seed() -> Action:
    """Put a script into the workspace that runs another one with a seed of its own."""
    return Action("Write File", {"file_name": RUN_WITH_SEED, "content": _RUN_WITH_SEED})


def running_with_seed(script: str, seed: int) -> Action:
    return Action("Execute Script", {"script_name": RUN_WITH_SEED, "arguments": [str(seed), script]})


def error_line(text: str) -> str:
    """Of what a failed script printed: the error's own line, before the harness's line about how it ended."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line or "error" in line]
    printed = errors or [line for line in lines if not line.startswith("[")] or lines
    return printed[-1] if printed else "It failed and printed nothing."
