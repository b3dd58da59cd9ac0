"""`mlagentbench new-task`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("new-task")
@click.argument("name")
@click.argument("parent", type=click.Path(path_type=Path), default=Path())
@o.json_option
def command(name: str, parent: Path, as_json: bool) -> None:
    """Start a task of your own.

    Makes the folder NAME in PARENT (by default here). It passes the audit as it is; change it step by step.
    """
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.task.new import new_task

    made = new_task(name, parent)
    shown = str(made) if made.is_absolute() else f"./{made}"
    screen = open_screen(json=as_json)
    screen.line(f"The task is in {shown}. Next:")
    screen.line(f"  mlagentbench run {shown} -a starter")
    screen.line(f"  mlagentbench audit {shown}")
    if as_json:
        print_json({"folder": made})
