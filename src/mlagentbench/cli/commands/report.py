"""`mlagentbench report`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("report")
@click.argument("places", nargs=-1, metavar="[RUNS...]")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), default=Path("report"),
    show_default=True, help="The folder to write it into.",
)  # fmt: skip
@click.option("--title", default="MLAgentBench report", show_default=True, help="What it is called.")
@o.option(
    "--folder", type=click.Path(path_type=Path), default=Path("runs"), show_default=True,
    help="The folder of runs.",
)  # fmt: skip
@o.json_option
def command(places: tuple[str, ...], output: Path, title: str, folder: Path, as_json: bool) -> None:
    """Write a report of runs: a page, tables, figures.

    The page is index.html; beside it lie the same as Markdown, its tables for LaTeX, all runs and steps as CSV and
    Parquet, and the figures as SVG and PNG. RUNS are folders of runs, experiments in --folder, or agents (or
    agent--model) whose runs lie there; without any, it is all runs in --folder. Every run counts, and what could not be
    counted is named.
    """
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.reporting.report import report

    screen = open_screen(json=as_json)
    written = report(*places, output=output, folder=folder, title=title, progress=screen.passing)
    screen.passing("")
    if as_json:
        print_json(written)
        return
    screen.line(("report  ", "label"), (str(written.page), "title"), f"  {written.runs:,} runs")
    for sentence in written.left_out:
        screen.line(("left out", "warn"), f" {sentence}")
    for sentence in written.missing:
        screen.line(("missing ", "label"), f"{sentence}")
