"""Small programs as people write them, and which of them run in which sandbox. `docs/sandbox.md` prints the table.

Each must print `ok` in a sandbox with namespaces. What the fallback cannot run has a reason.
"""

from __future__ import annotations

from usual.libraries import TABLES, TORCH
from usual.program import RUNS, UsualProgram
from usual.system import PLAIN

__all__ = ["PROGRAMS", "RUNS", "UsualProgram", "table"]

PROGRAMS = (*PLAIN, *TABLES, *TORCH)


def table() -> str:
    """All of them as Markdown, for the documentation."""
    lines = ["| program | bubblewrap, namespaces | Landlock fallback |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {each.name} | {RUNS} | {each.landlock} |" for each in PROGRAMS)])
