"""`mlagentbench compare`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("compare")
@click.argument("places", nargs=-1, metavar="[PLACE...]")
@o.folder_option
@o.json_option
def command(places: tuple[str, ...], folder: Path, as_json: bool) -> None:
    """Compare agents over their runs, with intervals.

    PLACE is a folder of runs, or an agent (or agent--model) whose runs lie in --folder. Every run counts: one that
    did not end, or left nothing valid, is no success and no gain.
    """
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.cli.tables import group_table
    from mlagentbench.evaluation.groups import compare, undecided

    groups = compare(*places, folder=folder)
    if as_json:
        print_json({"groups": groups, "undecided": undecided(groups)})
    else:
        group_table(open_screen(), groups)
