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
    from mlagentbench.record.folder import find_runs, read_each
    from mlagentbench.record.summary import read_summary

    if not runs:
        tasks = catalogue.list()
        if as_json:
            print_json(tasks)
        else:
            tables.task_table(open_screen(), tasks)
        return
    found, damaged = read_each(find_runs([folder]) if folder.is_dir() else [], read_summary)
    if as_json:
        print_json(
            [
                *({"folder": run.path, "summary": summary} for run, summary in found),
                *({"folder": run.path, "summary": None, "problem": problem} for run, problem in damaged),
            ]
        )
    elif found:
        tables.run_table(open_screen(), [run for run, _ in found])
    elif not damaged:
        open_screen().line(f"There are no runs in {folder} yet. `mlagentbench run TASK` makes one.")
    for _, problem in damaged:
        open_screen(json=as_json).line((f"A run is left out: {problem}", "warn"))
