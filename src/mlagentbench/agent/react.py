"""Thinks aloud before each action, and keeps no plan."""

from __future__ import annotations

from mlagentbench.agent.loop import Loop, Manner
from mlagentbench.agent.settings import LanguageSettings
from mlagentbench.agent.spec import Needs
from mlagentbench.environment import Environment


class ReactAgent:
    Settings = LanguageSettings
    entries = ("Thought",)

    def __init__(self, settings: LanguageSettings) -> None:
        self._settings = settings
        self.needs = Needs(tools=settings.protocol == "tools")

    def run(self, env: Environment) -> None:
        Loop(env, self._settings, Manner(self.entries)).run()
