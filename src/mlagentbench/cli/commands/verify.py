"""`mlagentbench verify`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


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
@o.json_option
def command(runs: tuple[str, ...], folder: Path, key: str | None, regrade: bool, as_json: bool) -> None:
    """Check that runs are what they say: chain, snapshots, grade.

    RUN is a run's folder, its id, the beginning of one, `last`, or a folder of runs. The exit status is 1 if
    anything is wrong with any of them.
    """
    from mlagentbench.cli.finding import find_all
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.launch.verify import verify

    screen = open_screen(json=as_json)
    results = []
    for run in find_all(runs, folder):
        result = verify(run.path, key=key, regrade=regrade, progress=lambda line: screen.line((line, "dim")))
        results.append(result)
        screen.line(("sound   ", "good") if result.ok else ("WRONG   ", "bad"), str(result.run))
        for sentence in result.checked:
            screen.line(("  ✓ ", "good"), sentence)
        for sentence in result.problems:
            screen.line(("  ✗ ", "bad"), sentence)
    if as_json:
        print_json({"runs": [{"ok": result.ok, "result": result} for result in results]})
    if not all(result.ok for result in results):
        raise click.exceptions.Exit(1)
