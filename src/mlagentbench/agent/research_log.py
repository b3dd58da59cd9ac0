"""The research log: an entry for each step, and what in it matters now."""

from __future__ import annotations

import textwrap

from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.protocol import Past
from mlagentbench.agent.shortening import Reader
from mlagentbench.agent.text_protocol import render
from mlagentbench.record import Action

LONGEST_ENTRY = 500
"""Characters, as published."""
_READS_THE_LOG = {"Reflection": "things_to_reflect_on", "Retrieval from Research Log": "current_plan"}


class ResearchLog:
    """Kept by the agent, made of recorded completions alone, so that a resumed run has the same one.

    Keeping it takes model calls, which are recorded and counted, but no steps: the step limit counts decisions.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._entries: list[str] = []

    def add(self, past: Past) -> None:
        step = f"{render(past.decision)}\nObservation: {past.observation}"
        entry = self._reader.digest(
            step, lambda text: prompt("log_entry", step=text, limit=str(LONGEST_ENTRY))
        )
        self._entries.append(f"Step {past.index}: {textwrap.shorten(entry, LONGEST_ENTRY, placeholder=' …')}")

    def retrieve(self, before: int, plan: str) -> str:
        """What matters for the plan in the entries of steps that have left the context."""
        log = "\n".join(self._entries[:before])
        return self._reader.digest(
            log, lambda text: prompt("retrieve", log=text, plan=plan or "[no plan yet]")
        )

    def given_to(self, action: Action) -> Action:
        """An action that looks back over the log gets it as part of its question: the environment has no other way to
        know it."""
        argument = _READS_THE_LOG.get(action.name)
        asked = action.args.get(argument or "")
        if not self._entries or argument is None or not isinstance(asked, str):
            return action
        log = "\n".join(self._entries)
        return Action(action.name, {**action.args, argument: prompt("reflect_on", asked=asked, log=log)})
