"""`mlagentbench list`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("list")
@o.option("--runs", is_flag=True, mirrored=False, help="The runs in the folder instead of the tasks.")
@o.folder_option
@o.json_option
def command(runs: bool, folder: Path, as_json: bool) -> None:
    """List the tasks, or the runs.

    A task's variants are shown with whether their data are ready and what they need; a run with its grade.
    """
    from mlagentbench.cli import catalogue, tables
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.record import find_runs
    from mlagentbench.record.summary import read_summary

    if not runs:
        tasks = catalogue.list()
        if as_json:
            print_json(tasks)
        else:
            tables.task_table(open_screen(), tasks)
        return
    found = find_runs([folder]) if folder.is_dir() else []
    if as_json:
        print_json([{"folder": run.path, "summary": read_summary(run)} for run in found])
    elif found:
        tables.run_table(open_screen(), found)
    else:
        open_screen().line(f"There are no runs in {folder} yet. `mlagentbench run TASK` makes one.")
