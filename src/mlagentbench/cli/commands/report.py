"""`mlagentbench report`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o

_FOLDER, _OUTPUT = Path("runs"), Path("report")


@click.command("report")
@click.argument("places", nargs=-1, metavar="[RUNS...]")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False, path_type=Path), default=_OUTPUT,
    show_default=True, help="The folder to write it into.",
)  # fmt: skip
@click.option("--title", default="MLAgentBench report", show_default=True, help="What it is called.")
@o.option(
    "--folder", type=click.Path(path_type=Path), default=_FOLDER, show_default=True,
    help="The folder of runs.",
)  # fmt: skip
@o.option(
    "--references/--no-references", default=None, mirrored=False,
    help="Measure what is missing of the tasks' own code, on published data too; or nothing.",
)  # fmt: skip
@o.json_option
def command(
    places: tuple[str, ...], output: Path, title: str, folder: Path, references: bool | None, as_json: bool
) -> None:
    """Write a report of runs: a page, tables, figures.

    The page is index.html; beside it lie the same as Markdown, its tables for LaTeX, all runs and steps as CSV and
    Parquet, and the figures as SVG and PNG. RUNS are folders of runs, experiments in --folder, or agents (or
    agent--model) whose runs lie there; without any, it is all runs in --folder. Every run counts, and what could not be
    counted is named.

    What the starter, the plain model and the oracle of a task score is measured first, where runs have not been set
    against it and their data are ready here; on published data only with --references, since it may take hours.
    """
    from mlagentbench.cli.machine import plain, print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.launch.references import Extent, complete_verdicts
    from mlagentbench.reporting.report import report

    screen = open_screen(json=as_json)
    extent: Extent = "quick" if references is None else "all" if references else "none"
    completed = complete_verdicts(places, folder, extent, lambda line: screen.line((line, "dim")))
    written = report(*places, output=output, folder=folder, title=title, progress=screen.passing)
    screen.passing("")
    if as_json:
        print_json(plain(written) | {"references": completed})
        return
    screen.line(("report  ", "label"), (str(written.page), "title"), f"  {written.runs:,} runs")
    for sentence in written.left_out:
        screen.line(("left out", "warn"), f" {sentence}")
    for sentence in (*written.missing, *completed.problems):
        screen.line(("missing ", "label"), f"{sentence}")
    if completed.waiting:
        told = f"{'; '.join(completed.waiting)}: not measured. This does it: "
        screen.line(("missing ", "label"), told, (_measuring(places, output, folder), "name"))


def _measuring(places: tuple[str, ...], output: Path, folder: Path) -> str:
    """The command that leaves nothing out."""
    import shlex

    own_folder = ["--folder", str(folder)] if folder != _FOLDER else []
    own_output = ["-o", str(output)] if output != _OUTPUT else []
    return shlex.join(["mlagentbench", "report", *places, *own_folder, *own_output, "--references"])
