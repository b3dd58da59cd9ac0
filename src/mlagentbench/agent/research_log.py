"""The research log: an entry for each step, and what in it matters now."""

from __future__ import annotations

import textwrap

from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.protocol import Past
from mlagentbench.agent.shortening import Reader
from mlagentbench.agent.text_protocol import render
from mlagentbench.environment import Environment

LONGEST_ENTRY = 500
"""Characters, as published."""


class ResearchLog:
    """Made of recorded completions alone, so that a resumed run has the same one. The workspace holds it, too, where
    the actions that look back over it read it.

    Keeping it takes model calls, which are recorded and counted, but no steps: the step limit counts decisions.
    """

    def __init__(self, env: Environment, reader: Reader) -> None:
        self._env = env
        self._reader = reader
        self._entries: list[str] = []

    def add(self, past: Past) -> None:
        step = f"{render(past.decision)}\nObservation: {past.observation}"
        entry = self._reader.digest(
            step, lambda text: prompt("log_entry", step=text, limit=str(LONGEST_ENTRY))
        )
        self._entries.append(f"Step {past.index}: {textwrap.shorten(entry, LONGEST_ENTRY, placeholder=' …')}")
        self._env.log(self._entries[-1])

    def retrieve(self, before: int, plan: str) -> str:
        """What matters for the plan in the entries of steps that have left the context."""
        log = "\n".join(self._entries[:before])
        return self._reader.digest(
            log, lambda text: prompt("retrieve", log=text, plan=plan or "[no plan yet]")
        )
