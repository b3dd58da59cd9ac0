"""A first look at the data: who has not seen them can only guess their columns."""

from __future__ import annotations

import re

from mlagentbench.environment import Environment
from mlagentbench.record import Action
from mlagentbench.units import parse_size

_LINES = 3
_LONGEST = 1_000
"""Characters of one file."""
_TABLE = re.compile(r"^(\S+\.(?:csv|tsv|jsonl?))  ([\d.,]+ \w+)  \[read-only\]$", re.MULTILINE)


def preview(env: Environment, files: int) -> str:
    """The first lines of so many tables in the workspace, the largest first."""
    if not files:
        return ""
    listed = env.step(Action("List Files", {"dir_path": "."})).text
    tables = sorted(_TABLE.findall(listed), key=lambda table: -parse_size(table[1].replace(",", "")))
    shown = []
    for name, _ in tables[:files]:
        if env.done:
            break
        lines = {"script_name": name, "start_line_number": 1, "end_line_number": _LINES}
        observation = env.step(Action("Inspect Script Lines", lines))
        if observation.ok:
            shown.append(observation.text[:_LONGEST])
    return "\n\n".join(shown)
