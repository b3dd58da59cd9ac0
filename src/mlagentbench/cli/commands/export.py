"""`mlagentbench export`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("export")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@o.option(
    "--format", type=click.Choice(["inspect", "jsonl", "parquet"]), default="inspect", show_default=True,
    help="Logs for `inspect view`, or tables of runs and steps.",
)  # fmt: skip
@o.option(
    "-o", "--output", type=click.Path(path_type=Path), default=Path("export"), show_default=True,
    help="The folder to write into.",
)  # fmt: skip
@o.option(
    "--folder", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
    help="The folder of runs.",
)  # fmt: skip
@o.json_option
def command(runs: tuple[str, ...], format: str, output: Path, folder: Path, as_json: bool) -> None:
    """Write runs as other tools read them: Inspect's logs, or tables.

    RUN is a run's folder, its id, the beginning of one, `last`, or a folder of runs. A run that cannot be read is
    written too, with the reason.
    """
    from mlagentbench.cli.finding import find_all
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.record.exporting import export
    from mlagentbench.units import format_size

    screen = open_screen(json=as_json)
    found = [run.path for run in find_all(runs, folder)]
    files = export(found, output, format, progress=lambda line: screen.line((line, "dim")))
    for file in files:
        screen.line(("wrote   ", "label"), f"{file} ({format_size(file.stat().st_size)})")
    if format == "inspect":
        screen.line(f"{len(found)} runs. Look at them with: inspect view --log-dir {output}")
    else:
        screen.line(f"{len(found)} runs.")
    if as_json:
        print_json({"files": files, "runs": len(found)})
