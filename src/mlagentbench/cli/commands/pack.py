"""`mlagentbench pack`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("pack")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path), required=False)
@o.folder_option
@o.json_option
def command(run: str, file: Path | None, folder: Path, as_json: bool) -> None:
    """Put a run with all that it needs into one file.

    RUN is a run's folder, its id, the beginning of one, or `last`. FILE is `<id>.mlab.tar.gz` unless you name one.
    """
    from mlagentbench.cli.finding import find_run
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.record.packing import pack
    from mlagentbench.units import format_size

    made = pack(find_run(run, folder).path, file)
    open_screen(json=as_json).line(f"The run is in {made} ({format_size(made.stat().st_size)}).")
    if as_json:
        print_json({"file": made})
