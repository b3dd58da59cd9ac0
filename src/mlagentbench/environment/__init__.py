"""A task's workspace with its actions and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlagentbench._lazy import attach

if TYPE_CHECKING:
    from mlagentbench.environment.environment import Environment
    from mlagentbench.environment.making import Options, make
    from mlagentbench.environment.output import plain_text
    from mlagentbench.environment.watch import Silence, Watch

__all__ = ["Environment", "Options", "Silence", "Watch", "make", "plain_text"]

__getattr__, __dir__ = attach(
    __name__,
    {
        "Environment": "mlagentbench.environment.environment",
        "Options": "mlagentbench.environment.making",
        "Silence": "mlagentbench.environment.watch",
        "Watch": "mlagentbench.environment.watch",
        "make": "mlagentbench.environment.making",
        "plain_text": "mlagentbench.environment.output",
    },
)
