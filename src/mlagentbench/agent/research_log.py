"""The research log: an entry for each step, and what in it matters now."""

from __future__ import annotations

from mlagentbench.agent.prompting import prompt
from mlagentbench.agent.protocol import Past
from mlagentbench.agent.shortening import Reader
from mlagentbench.agent.text_protocol import render
from mlagentbench.environment import Environment

_OWN_ENTRY = "Append Summary to Research Log"


class ResearchLog:
    """Made of the record alone, so that a resumed run has the same one. The workspace holds it, too, where the actions
    that look back over it read it.

    Keeping it takes model calls, which are recorded and counted, but no steps: the step limit counts decisions.
    """

    def __init__(self, env: Environment, reader: Reader) -> None:
        self._env = env
        self._reader = reader
        self._entries: list[str] = []

    def add(self, past: Past) -> None:
        taken = self._env.history[-1]
        if taken.action.name == _OWN_ENTRY and taken.observation.ok:
            self._entries.append(str(taken.action.args["content"]))
        step = f"{render(past.decision)}\nObservation: {past.observation}"
        entry = self._reader.digest(step, lambda text: prompt("log_entry", step=text))
        self._entries.append(f"Step {past.index}:\n{entry}\n")
        self._env.log(self._entries[-1])

    def retrieve(self, before: int, plan: str) -> str:
        """What matters for the next step in the whole log, as published."""
        return self._reader.digest(
            "\n".join(self._entries),
            lambda text: prompt(
                "retrieve", log=text, problem=self._env.problem, plan=plan or "[no plan yet]"
            ),
        )
