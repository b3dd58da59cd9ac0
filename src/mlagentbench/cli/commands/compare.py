"""`mlagentbench compare`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("compare")
@click.argument("places", nargs=-1, metavar="[PLACE...]")
@o.option(
    "--by", type=click.Choice(["category", "date"]),
    help="Also by category of task, or by whether a task's data are older than the model's training cut-off.",
)  # fmt: skip
@o.option(
    "--cutoff", "cutoffs", multiple=True, metavar="MODEL=YYYY-MM", mirrored=False,
    help="Until when a model was trained, where that is not known or known better.",
)  # fmt: skip
@o.folder_option
@o.json_option
def command(
    places: tuple[str, ...], by: str | None, cutoffs: tuple[str, ...], folder: Path, as_json: bool
) -> None:
    """Compare agents over their runs, with intervals.

    PLACE is a folder of runs, an experiment in --folder, or an agent (or agent--model) whose runs lie there. Two
    places, or the two agents of one place, are also set against each other, paired over tasks and seeds. Every run
    counts: one that did not end, or left nothing valid, is no success and no gain.
    """
    from mlagentbench.cli.comparing import category_table, date_table, tell_forked, tell_paired
    from mlagentbench.cli.machine import plain, print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.cli.tables import group_table
    from mlagentbench.evaluation.groups import compare
    from mlagentbench.model.cutoffs import parse_cutoffs

    told = parse_cutoffs(cutoffs)
    found = compare(*places, folder=folder)
    problems = list(found.problems)
    categories, dates = [], []
    if by:
        from mlagentbench.evaluation.breakdown import by_category, by_date
        from mlagentbench.evaluation.groups import profiles_of

        profiles, problems = profiles_of(places or (folder,), folder)
        categories = by_category(profiles) if by == "category" else []
        dates = by_date(profiles, told) if by == "date" else []
    if as_json:
        also = {f"by_{by}": categories or dates} if by else {}
        print_json(plain(found) | also | {"problems": problems})
        return
    screen = open_screen()
    group_table(screen, found.groups)
    tell_forked(screen, found.forked)
    if found.paired is not None:
        tell_paired(screen, found.paired)
    if by == "category":
        category_table(screen, categories)
    elif by == "date":
        date_table(screen, dates)
    for problem in problems:
        screen.line((problem, "warn"))
