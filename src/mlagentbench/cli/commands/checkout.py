"""`mlagentbench checkout`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("checkout")
@click.argument("run")
@click.argument("target", type=click.Path(path_type=Path))
@o.option("--step", type=click.IntRange(0), help="After this step instead of at the end; 0 is the beginning.")
@o.folder_option
@o.json_option
def command(run: str, target: Path, step: int | None, folder: Path, as_json: bool) -> None:
    """Write the files of a run, as they were at a step, into a new folder.

    RUN is a run's folder, its id, the beginning of one, or `last`. The files were made by an agent: look before you
    run them. Read-only data are not among them.
    """
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.reading import checkout
    from mlagentbench.cli.screen import open_screen

    made = checkout(run, target, step, folder=folder)
    open_screen(json=as_json).line(f"The files are in {made}.")
    if as_json:
        print_json({"folder": made})
