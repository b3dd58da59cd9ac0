"""`mlagentbench unpack`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("unpack")
@click.argument("file", type=click.Path(path_type=Path))
@o.folder_option
@o.json_option
def command(file: Path, folder: Path, as_json: bool) -> None:
    """Put a packed run into a folder of runs.

    All of it is checked before anything is kept. The run stays foreign: nothing that it says about this machine is
    followed. `mlagentbench verify` then says whether it is what it says, and runs it in this machine's own sandbox.
    """
    import shlex

    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.record.unpacking import unpack

    place = unpack(file, folder)
    check = f"mlagentbench verify {shlex.quote(str(place))}"
    open_screen(json=as_json).line(f"The run is in {place}. Check it with: {check}")
    if as_json:
        print_json({"folder": place})
