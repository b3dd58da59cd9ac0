"""Lay code of the task's own over the workspace, run it and submit: what a plain model reaches, and what can be."""

from __future__ import annotations

from mlagentbench.agent.starter import execute_and_submit
from mlagentbench.environment import Environment
from mlagentbench.errors import TaskError
from mlagentbench.record import Action
from mlagentbench.task.layout import files_of, overlay_of


class PlainAgent:
    """What an hour of an average practitioner gives."""

    def run(self, env: Environment) -> None:
        _lay_and_submit(env, "plain", "The task's plain, competent model.")


class OracleAgent:
    """Shows that the task can be passed."""

    def run(self, env: Environment) -> None:
        _lay_and_submit(env, "oracle", "The task's own solution.")


def _lay_and_submit(env: Environment, kind: str, answer: str) -> None:
    folder = overlay_of(env.task, kind)
    if folder is None:
        raise TaskError(f"{env.task.id} has no {kind}.")
    for place, source in files_of(folder).items():
        if not env.done:
            content = source.read_text(encoding="utf-8")
            env.step(Action("Write File", {"file_name": place, "content": content}))
    execute_and_submit(env, answer)
