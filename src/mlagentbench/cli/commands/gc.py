"""`mlagentbench gc`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("gc")
@click.argument("runs", type=click.Path(path_type=Path), required=False)
@o.folder_option
@o.json_option
def command(runs: Path | None, folder: Path, as_json: bool) -> None:
    """Free what deleted runs left behind.

    RUNS is the folder of runs, as --folder is. Delete run folders first; what no run refers to any more is removed.
    """
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.record.collecting import gc
    from mlagentbench.units import format_size

    collected = gc(runs or folder)
    open_screen(json=as_json).line(f"Removed {collected.objects} objects, {format_size(collected.bytes)}.")
    if as_json:
        print_json(collected)
