"""What a usual program is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

RUNS = "runs"
NO_SHARED_MEMORY = "no: there is no /dev/shm"
NO_LOOPBACK = "no: there is no loopback"


@dataclass(frozen=True)
class UsualProgram:
    """`code` is Python. `interpreter` says what it needs: the standard library, the libraries for tables, or torch."""

    name: str
    code: str
    interpreter: Literal["plain", "tables", "torch"] = "plain"
    landlock: str = RUNS
