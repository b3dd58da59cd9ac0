"""`mlagentbench list`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("list")
@click.argument("text", required=False, default="")
@o.option("--runs", is_flag=True, mirrored=False, help="The runs in the folder instead of the tasks.")
@o.option("--task", "task", default="", mirrored=False, help="Only runs on tasks with this in their name.")
@o.option("--agent", "agent", default="", mirrored=False, help="Only runs of agents with this in their name.")
@o.option(
    "--model", "model", default="", mirrored=False, help="Only runs with models with this in their name."
)
@o.option(
    "--state",
    type=click.Choice(["running", "ended", "submitted", "limit", "stopped", "error", "died"]),
    default=None,
    mirrored=False,
    help="Only runs in this state.",
)
@o.folder_option
@o.json_option
def command(
    text: str, runs: bool, task: str, agent: str, model: str, state: str | None, folder: Path, as_json: bool
) -> None:
    """List the tasks, or the runs.

    TEXT leaves only those in which it is found. A task's variants are shown with whether their data are ready and what
    they need; a run with its state, its time, its cost and its grade.
    """
    from mlagentbench.cli import catalogue, tables
    from mlagentbench.cli.listing import Wish, list_runs
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen

    wish = Wish(text, task, agent, model, state or "")
    if not (runs or task or agent or model or state):
        tasks = [each for each in catalogue.list() if text.casefold() in f"{each.id} {each.title}".casefold()]
        if as_json:
            print_json(tasks)
        elif tasks:
            tables.task_table(open_screen(), tasks)
        else:
            open_screen().line(f"No task has {text!r} in its name. `mlagentbench list` shows all.")
        return
    found, damaged = list_runs(folder, wish)
    if as_json:
        print_json(
            [
                *({"folder": run.folder.path, "state": run.state, "summary": run.summary} for run in found),
                *({"folder": run.path, "summary": None, "problem": problem} for run, problem in damaged),
            ]
        )
    elif found:
        tables.run_table(open_screen(), found)
    elif wish:
        open_screen().line(f"No run in {folder} fits. `mlagentbench list --runs` shows all.")
    elif not damaged:
        open_screen().line(f"There are no runs in {folder} yet. `mlagentbench run TASK` makes one.")
    for _, problem in damaged:
        open_screen(json=as_json).line((f"A run is left out: {problem}", "warn"))
