"""The paper's agent: reflects, keeps a plan and checks its facts before each action."""

from __future__ import annotations

from mlagentbench.agent.loop import Loop, Manner
from mlagentbench.agent.research_log import ResearchLog
from mlagentbench.agent.settings import ResearchSettings
from mlagentbench.environment import Environment


class ResearchAgent:
    """Its entries are the published ones; `docs/agents.md` says which of the rest is."""

    Settings = ResearchSettings
    entries = ("Reflection", "Research Plan and Status", "Fact Check", "Thought")

    def __init__(self, settings: ResearchSettings) -> None:
        self._settings = settings

    def run(self, env: Environment) -> None:
        manner = Manner(self.entries)
        if self._settings.retrieval:
            manner = Manner(self.entries, actions=("Reflection",), memory=ResearchLog)
        Loop(env, self._settings, manner).run()
