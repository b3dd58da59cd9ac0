"""`mlagentbench apply`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o
from mlagentbench.cli.commands.assist import folder_option


@click.command("apply")
@click.argument("run")
@click.argument("files", nargs=-1, metavar="[FILE]...")
@o.option("--all", "everything", is_flag=True, mirrored=False, help="Apply every change, without asking.")
@folder_option
@o.trust_option
@o.json_option
def command(
    run: str, files: tuple[str, ...], everything: bool, runs: Path | None, trust: bool, as_json: bool
) -> None:
    """Bring what a run of `assist` changed into your own folder.

    RUN is the run's folder, its id, the beginning of one, or `last`. Without FILE or --all you see the difference and
    are asked. If a file was changed since the copy was made, nothing is applied. A kill in the middle leaves each file
    old or new, and the same command completes it. A run that was not made here is refused without --trust.
    """
    if files and everything:
        raise click.UsageError("Say --all, or name files.")
    from mlagentbench.cli.assisting import apply_run, found_in
    from mlagentbench.cli.trusting import demand_trust

    found = found_in(run, runs)
    demand_trust(found, "Applying", trust, as_json)
    apply_run(found, files, everything=everything, as_json=as_json)
