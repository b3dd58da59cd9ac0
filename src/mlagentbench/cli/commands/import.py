"""`mlagentbench import`"""  # noqa: N999 - verbs are files of their name

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("import")
@click.argument("folders", nargs=-1, required=True, metavar="FOLDER...", type=click.Path(path_type=Path))
@o.folder_option
@o.option("--experiment", default="imported", show_default=True, help="What the runs are put together under.")
@o.option("-t", "--task", help="Their task, or its folder, where they do not tell it or tell it wrongly.")
@o.option("--variant", help="The data to grade with: full unless you say another.")
@o.option("-a", "--agent", help="Their agent, where they do not tell it.")
@o.option("-m", "--model", help="The model that decided, where they do not tell it.")
@o.sandbox_option
@o.json_option
def command(
    folders: tuple[Path, ...],
    folder: Path,
    experiment: str,
    task: str | None,
    variant: str | None,
    agent: str | None,
    model: str | None,
    sandbox: str | None,
    as_json: bool,
) -> None:
    """Take in runs of the original benchmark.

    FOLDER is a run's folder, with env_log/ and agent_log/ in it, or one that holds such folders. What is missing or
    damaged is listed at the end, folder by folder. The exit status is 1 if nothing could be made of one of them.
    """
    from mlagentbench.cli.importing import tell_imports
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.evaluation.importing import import_runs

    screen = open_screen(json=as_json)
    done = import_runs(
        *folders,
        runs=folder,
        experiment=experiment,
        task=task,
        variant=variant,
        agent=agent,
        model=model,
        sandbox=sandbox or "auto",
        progress=lambda line: screen.line((line, "dim")),
    )
    tell_imports(screen, done)
    if as_json:
        print_json({"folders": done})
    if not all(each.ok for each in done):
        raise click.exceptions.Exit(1)
