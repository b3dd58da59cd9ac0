"""An agent that says how much CPU time has gone by when it gets to act."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from mlagentbench import Environment
from mlagentbench.agent.scripted import ScriptedAgent

TOLD_IN = "FIRST_ACTION_TOLD_IN"


class FirstAction(ScriptedAgent):
    def run(self, env: Environment) -> None:
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        seconds = sum(usage.ru_utime + usage.ru_stime for usage in usages)
        Path(os.environ[TOLD_IN]).write_text(str(seconds))
        super().run(env)
