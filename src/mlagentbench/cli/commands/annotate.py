"""`mlagentbench annotate`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o

_VERDICTS = ("supported", "unsupported")
_MODES = ("none", "hallucination", "debugging", "token length", "bad plan", "infrastructure", "limit")


@click.command("annotate")
@click.argument("run")
@click.option(
    "--failure",
    type=click.Choice(_MODES, case_sensitive=False),
    help="Why the run did not succeed; none if it did.",
)
@click.option(
    "--claim",
    "claims",
    type=(click.IntRange(1), click.Choice(_VERDICTS)),
    multiple=True,
    metavar="N supported|unsupported",
    help="Whether what the agent had observed supports claim N; can be given several times.",
)
@click.option("--note", default="", help="Why you say so.")
@o.option("--name", default="", help="Who says so, instead of your user name.")
@o.folder_option
@o.json_option
def command(
    run: str,
    failure: str | None,
    claims: tuple[tuple[int, str], ...],
    note: str,
    name: str,
    folder: Path,
    as_json: bool,
) -> None:
    """Correct what is said of a run: its failure mode, and its claims.

    RUN is a run's folder, its id, the beginning of one, or `last`. Without an option, it tells what the rules say and
    lists the claims, each with its number and whether it is supported; on a terminal, it then asks. What you say is
    kept beside the record, in annotations.json, with your name; the record itself is never changed. docs/process.md
    has the rules.
    """
    import sys

    from mlagentbench.cli.annotating import ask, tell
    from mlagentbench.cli.finding import find_run
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.evaluation.annotating import annotate
    from mlagentbench.record.annotations import mode_of

    place = find_run(run, folder).path
    marked = {number: verdict == "supported" for number, verdict in claims}
    mode = mode_of(failure) if failure else None
    said = annotate(place, failure=mode, claims=marked, note=note, name=name)
    screen = open_screen(json=as_json)
    if as_json:
        print_json({"run": place, **said.told()})
        return
    tell(screen, place, said)
    if mode is None and not marked and sys.stdin.isatty() and sys.stdout.isatty():
        answers = ask(said)
        if answers:
            tell(screen, place, annotate(place, name=name, **answers))
