"""`mlagentbench trust`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("trust")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@o.option("--yes", is_flag=True, mirrored=False, help="Sign without asking.")
@o.folder_option
@o.json_option
def command(runs: tuple[str, ...], yes: bool, folder: Path, as_json: bool) -> None:
    """Let runs that were made elsewhere count like your own.

    RUN is a run's folder, its id, the beginning of one, `last`, or a folder of runs. You see what each of them decides
    about this machine when it is resumed or applied, and are asked. Then it is signed as it is now.
    """
    from mlagentbench.cli.finding import find_all
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.environment.trust import taken_over, trust_run

    screen = open_screen(json=as_json)
    signed = []
    for run in find_all(runs, folder):
        if run.origin != "foreign" and not run.end_problem(run.history()):
            screen.line(("known   ", "good"), str(run.path))
            continue
        screen.line(("foreign ", "warn"), str(run.path))
        for line in taken_over(run.request()):
            screen.line(f"  - {line}")
        if yes or click.confirm("Do you trust it?", err=True):
            trust_run(run)
            signed.append(run.path)
            screen.line(("trusted ", "good"), str(run.path))
    if as_json:
        print_json({"trusted": signed})
