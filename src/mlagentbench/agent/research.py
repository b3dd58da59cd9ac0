"""The paper's agent: reflects, keeps a plan and checks its facts before each action."""

from __future__ import annotations

from dataclasses import replace

from mlagentbench.agent.loop import Loop, Manner
from mlagentbench.agent.research_log import ResearchLog
from mlagentbench.agent.settings import ResearchSettings
from mlagentbench.agent.spec import Needs
from mlagentbench.environment import Environment


class ResearchAgent:
    """Its entries are the published ones; `docs/agents.md` says which of the rest is."""

    Settings = ResearchSettings

    def __init__(self, settings: ResearchSettings) -> None:
        self._settings = settings
        self.needs = Needs(tools=settings.protocol == "tools")

    def run(self, env: Environment) -> None:
        manner = Manner(self._settings.entries, forgets_mistakes=True)
        if self._settings.retrieval:
            manner = replace(manner, actions=("Reflection",), memory=ResearchLog)
        Loop(env, self._settings, manner).run()
