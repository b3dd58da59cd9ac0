"""`mlagentbench grade-file`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("grade-file")
@click.argument("task")
@click.argument("file", type=click.Path(path_type=Path))
@o.variant_option
@o.data_seed_option
@o.key_option
@o.python_option
@o.sandbox_option
@o.service_network_option
@o.json_option
def command(
    task: str,
    file: Path,
    variant: str | None,
    data_seed: int,
    key: str | None,
    python: str | None,
    sandbox: str | None,
    network: str,
    as_json: bool,
) -> None:
    """Grade a submission that was made elsewhere.

    FILE is what a run would have left as the task's submission. The exit status is 1 if it is not valid.
    """
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.cli.words import tell_grade
    from mlagentbench.evaluation.verdicts import grade_file

    screen = open_screen(json=as_json)
    grade = grade_file(
        task,
        file,
        variant=variant,
        seed=data_seed,
        key=key,
        python=python,
        sandbox=sandbox or "auto",
        network=network == "on",
        progress=lambda line: screen.line((line, "dim")),
    )
    screen.line((grade.task, "title"), f" ({grade.variant})  {file}")
    tell_grade(screen, grade)
    if as_json:
        print_json(grade)
    if not grade.valid:
        raise click.exceptions.Exit(1)
