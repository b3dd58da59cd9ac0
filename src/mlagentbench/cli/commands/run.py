"""`mlagentbench run`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlagentbench.cli import options as o


@click.command("run")
@click.argument("task", required=False)
@o.option("-t", "--task", "named_task", help="The task, by name or path; the same as the argument.")
@o.option(
    "-a",
    "--agent",
    default="starter",
    show_default=True,
    help="starter, plain, oracle, recipe, human, scripted, command, research, react, act, tree, autogpt, langchain, "
    "or module:Class.",
)
@o.model_options
@o.call_options
@o.settings_option
@o.agent_options
@o.program_options
@o.label_option
@o.option(
    "--runs",
    "count",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Runs, with seeds one apart.",
)
@o.variant_option
@o.option("--seed", type=int, default=0, show_default=True, help="Of the first run.")
@o.data_seed_option
@o.key_option
@o.folder_option
@o.option(
    "-w", "--experiment", default="default", show_default=True, help="The name that the runs lie under."
)
@o.limit_options
@o.sandbox_option
@o.option(
    "--network", type=click.Choice(["on", "off"]), default="off", show_default=True, help="For agent code."
)
@o.option(
    "--chat",
    type=click.Choice(["stand-in", "model"]),
    default="stand-in",
    show_default=True,
    help="What answers programs that chat, in tasks that offer it; model is the run's own.",
)
@o.python_option
@o.option("--device", "devices", multiple=True, help="A GPU to pass through: its index, or all.")
@o.option("--show-action", type=o.ActionName(), multiple=True, help="Show the agent one more action.")
@o.option("--hide-action", type=o.ActionName(), multiple=True, help="Do not show the agent this action.")
@o.interactive_option
@o.json_option
def command(
    task: str | None, named_task: str | None, config: tuple[str, ...], as_json: bool, **values: Any
) -> None:
    """Let an agent work on a task, watch it, and grade what it leaves.

    TASK is a name of `mlagentbench list` or the path of a task's folder. Data that need no account are prepared
    first. The exit status is 1 if the agent crashed or left nothing that can be graded.
    """
    if not (task or named_task) or (task and _was_typed("named_task")):
        raise click.UsageError("Name one task: `mlagentbench run TASK`. `mlagentbench list` shows them.")
    limits = o.take_limits(values)
    settings = o.read_settings(config) | o.take_agent_settings(values)
    o.refuse_for_others(values["agent"], settings)
    models = o.take_models(values)
    from mlagentbench.cli.running import Wanted, carry_out

    wanted = Wanted(
        task=task or named_task or "",
        settings=settings,
        limits=limits,
        models=models,
        folder=Path(values.pop("folder")),
        network=values.pop("network") == "on",
        **values,
    )
    if not carry_out(wanted, as_json):
        raise click.exceptions.Exit(1)


def _was_typed(name: str) -> bool:
    """Whether an option stood on the line, rather than in the environment."""
    return click.get_current_context().get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
