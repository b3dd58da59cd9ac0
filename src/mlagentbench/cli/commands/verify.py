"""`mlagentbench verify`"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mlagentbench.cli import options as o

if TYPE_CHECKING:
    from mlagentbench.cli.screen import Screen
    from mlagentbench.launch.verify import Findings


@click.command("verify")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@o.folder_option
@o.key_option
@o.option(
    "--grade/--no-grade",
    "regrade",
    default=True,
    mirrored=False,
    help="Grade the last snapshot again, or not.",
)
@o.task_of_foreign_option
@o.json_option
def command(
    runs: tuple[str, ...], folder: Path, key: str | None, regrade: bool, task: Path | None, as_json: bool
) -> None:
    """Check that runs are what they say: integrity, origin, grade.

    RUN is a run's folder, its id, the beginning of one, `last`, or a folder of runs. Integrity: the chain of events,
    the snapshots, and what was derived from them fit together. Origin: the run was made here, or was not. Grade: it
    gets the same score, baseline and improvement when it is graded again on this machine; a run that was not made
    here is graded in this machine's own sandbox, whatever its record says. The exit status is 1 if anything is wrong
    with any of them.
    """
    from mlagentbench.cli.finding import find_all
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.launch.verify import ORIGINS, verify

    screen = open_screen(json=as_json)
    results = []
    for run in find_all(runs, folder):
        result = verify(
            run.path, key=key, regrade=regrade, task=task, progress=lambda line: screen.line((line, "dim"))
        )
        results.append(result)
        screen.line(("sound   ", "good") if result.ok else ("WRONG   ", "bad"), str(result.run))
        _tell(screen, "integrity", result.integrity)
        screen.line(("  origin     ", "label"), ORIGINS[result.origin])
        _tell(screen, "grade", result.grade)
    if as_json:
        print_json({"runs": [{"ok": result.ok, "result": result} for result in results]})
    if not all(result.ok for result in results):
        raise click.exceptions.Exit(1)


def _tell(screen: Screen, what: str, found: Findings) -> None:
    for sentence in found.checked or ([] if found.problems else ["not looked at"]):
        screen.line((f"  {what:<10} ", "label"), ("✓ " if found.checked else "", "good"), sentence)
    for sentence in found.problems:
        screen.line((f"  {what:<10} ", "label"), ("✗ ", "bad"), sentence)
