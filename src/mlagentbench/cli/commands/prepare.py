"""`mlagentbench prepare`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("prepare")
@click.argument("tasks", nargs=-1, metavar="TASK...")
@o.option("--all", "everything", is_flag=True, mirrored=False, help="Every task of `mlagentbench list`.")
@o.variant_option
@o.data_seed_option
@o.key_option
@o.option(
    "--from", "source", type=click.Path(path_type=Path), mirrored=False, help="What you downloaded by hand."
)
@o.option(
    "--limit", type=click.IntRange(1), mirrored=False, metavar="N",
    help="So many records of each list at most, for tasks that have a great many.",
)  # fmt: skip
@o.python_option
@o.option(
    "--network", type=click.Choice(["on", "off"]), default="off", help="For scripts of original-format tasks."
)
@o.option("--again", is_flag=True, mirrored=False, help="Make the data anew where they are ready, too.")
@o.json_option
def command(
    tasks: tuple[str, ...],
    everything: bool,
    variant: str | None,
    data_seed: int,
    key: str | None,
    source: Path | None,
    limit: int | None,
    python: str | None,
    network: str,
    again: bool,
    as_json: bool,
) -> None:
    """Make the data of tasks ready.

    What is ready stays as it is. `mini` variants need no account and no network beyond the package index that the
    interpreter of a task is installed from.
    """
    from mlagentbench.cli import catalogue
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.errors import MLAgentBenchError
    from mlagentbench.task.registry import list_tasks

    if bool(tasks) == everything:
        raise click.UsageError("Name the tasks, or give --all. `mlagentbench list` shows them.")
    screen = open_screen(json=as_json)
    ready, failed = [], []
    for task in [each.name for each in list_tasks()] if everything else tasks:
        try:
            prepared = catalogue.prepare(
                task,
                variant,
                seed=data_seed,
                key=key,
                source=source,
                limit=limit or 0,
                python=python,
                network=network == "on",
                again=again,
                progress=lambda line: screen.line((line, "dim")),
            )
        except MLAgentBenchError as error:
            if len(tasks) == 1:
                raise
            screen.line((f"{task}: ", "bad"), str(error))
            failed.append({"task": task, "problem": str(error)})
        else:
            screen.line((prepared.task.id, "title"), f" ({prepared.variant}) is ready in {prepared.folder}")
            ready.append({"task": prepared.task.id, "variant": prepared.variant, "folder": prepared.folder})
    if as_json:
        print_json({"ready": ready, "failed": failed})
    if failed:
        raise click.exceptions.Exit(1)
