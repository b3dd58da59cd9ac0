"""Lays the task's solution over the workspace, runs it and submits: shows that the task can be passed."""

from __future__ import annotations

from mlagentbench.agent.starter import execute_and_submit
from mlagentbench.environment import Environment
from mlagentbench.errors import TaskError
from mlagentbench.record import Action
from mlagentbench.task.layout import files_of, overlay_of


class OracleAgent:
    def run(self, env: Environment) -> None:
        solution = overlay_of(env.task, "oracle")
        if solution is None:
            raise TaskError(f"{env.task.id} has no solution.")
        for place, source in files_of(solution).items():
            if not env.done:
                content = source.read_text(encoding="utf-8")
                env.step(Action("Write File", {"file_name": place, "content": content}))
        execute_and_submit(env, "The task's own solution.")
