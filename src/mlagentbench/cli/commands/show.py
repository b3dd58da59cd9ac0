"""`mlagentbench show`"""

from __future__ import annotations

from pathlib import Path

import click

from mlagentbench.cli import options as o


@click.command("show")
@click.argument("run")
@click.argument("step", type=click.IntRange(1), required=False)
@click.option("--tree", is_flag=True, help="The solutions that the agent `tree` tried, as a tree.")
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Draw that tree into this file as a picture.",
)
@click.option("--all", "whole", is_flag=True, help="A step's diff in full, however long that of a file is.")
@o.folder_option
@o.json_option
def command(
    run: str, step: int | None, tree: bool, svg: Path | None, whole: bool, folder: Path, as_json: bool
) -> None:
    """Read a run, or one step of it with the diff that it made.

    RUN is a run's folder, its id, the beginning of one, or `last`.
    """
    from mlagentbench.cli.finding import find_run
    from mlagentbench.cli.machine import plain, print_json
    from mlagentbench.cli.reading import diff_lines, draw, step_at
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.evaluation.profile import read_profile

    found = find_run(run, folder)
    if tree or svg is not None:
        from mlagentbench.cli.trees import show_tree

        show_tree(found, svg, as_json)
    elif not as_json:
        draw(open_screen(), found, step, whole=whole)
    elif step is None:
        events = [plain(event) for event in found.history().events]
        profile = read_profile(found)
        print_json(
            {
                "request": found.request(),
                "summary": profile.summary,
                "failure": profile.failure,
                "claims": profile.claims,
                "events": events,
            }
        )
    else:
        before, taken = step_at(found, step)
        diff = "\n".join(diff_lines(found.store(), before, taken.snapshot))
        print_json({"step": taken, "diff": diff.encode("utf-8", "backslashreplace").decode()})
