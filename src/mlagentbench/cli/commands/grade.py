"""`mlagentbench grade`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("grade")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@o.option("--step", type=click.IntRange(0), help="After this step instead of at the end; 0 is the beginning.")
@o.option(
    "--every-step", is_flag=True, mirrored=False,
    help="At every step that was not graded, side by side; the same content is graded once.",
)  # fmt: skip
@o.option(
    "--workers",
    type=click.IntRange(1),
    help="Processes that grade with --every-step; as many as cores, if not said.",
)
@o.folder_option
@o.key_option
@o.sandbox_option
@o.task_of_foreign_option
@o.json_option
def command(
    runs: tuple[str, ...],
    step: int | None,
    every_step: bool,
    workers: int | None,
    folder: Path,
    key: str | None,
    sandbox: str | None,
    task: Path | None,
    as_json: bool,
) -> None:
    """Grade runs again, at their end or at any step.

    RUN is a run's folder, its id, the beginning of one, `last`, or a folder of runs. Verdicts are kept with the run.
    The exit status is 1 if any of them is not valid; with --every-step, if any snapshot could not be judged.
    """
    from mlagentbench.cli.finding import find_all
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.cli.words import tell_grade
    from mlagentbench.errors import UsageError

    screen = open_screen(json=as_json)
    found = find_all(runs, folder)
    if every_step:
        from mlagentbench.cli.tables import step_tables
        from mlagentbench.evaluation.stepwise import grade_steps

        if step is not None:
            raise UsageError("Give either --step or --every-step.")
        told = grade_steps(
            [run.path for run in found],
            workers=workers,
            key=key,
            sandbox=sandbox,
            task=task,
            progress=lambda line: screen.line((line, "dim")),
        )
        step_tables(screen, told)
        if as_json:
            print_json({"runs": told})
        if any(each.problems for each in told):
            raise click.exceptions.Exit(1)
        return
    from mlagentbench.evaluation.verdicts import grade

    verdicts = {}
    for run in found:
        verdict = grade(
            run.path,
            step=step,
            key=key,
            sandbox=sandbox,
            task=task,
            progress=lambda line: screen.line((line, "dim")),
        )
        screen.line(("run     ", "label"), str(run.path))
        tell_grade(screen, verdict)
        verdicts[run.path] = verdict
    if as_json:
        print_json({"runs": [{"folder": place, "grade": verdict} for place, verdict in verdicts.items()]})
    if not all(verdict.valid for verdict in verdicts.values()):
        raise click.exceptions.Exit(1)
