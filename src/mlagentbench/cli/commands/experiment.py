"""`mlagentbench experiment`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlagentbench.cli import options as o


@click.command("experiment")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@o.option("-t", "--task", "tasks", multiple=True, mirrored=False, help="Tasks, with commas or one by one.")
@o.option("-a", "--agent", "agents", multiple=True, mirrored=False, help="Agents, likewise.")
@o.option("-m", "--model", "models", multiple=True, mirrored=False, help="Models, likewise.")
@o.settings_option
@o.program_options
@o.label_option
@o.option("--runs", type=click.IntRange(1), help="Runs of each cell, with seeds one apart (1).")
@o.option("--seed", type=int, help="Of the first run (0).")
@o.option("--variant", "variants", multiple=True, mirrored=False, help="Sizes of the data, likewise (mini).")
@o.option(
    "--data-seed", "data_seeds", type=int, multiple=True, mirrored=False, help="Sets of data, one by one (0)."
)
@o.limit_options
@o.call_options
@o.option("--parallel", type=click.IntRange(1), help="Runs at the same time, at most.")
@o.option("--cores", type=click.IntRange(1), help="Cores of each run (1).")
@o.option("--sharing", type=click.IntRange(1), help="Runs that share a core (1).")
@o.option("--gpus", type=click.IntRange(0), help="GPUs of each run (0).")
@o.option("--keep-free", type=o.SIZE, help="Disk that stays free, or runs stop (2GB).")
@o.option("--resumes", type=click.IntRange(0), help="How often a run that died is taken up again (2).")
@o.sandbox_option
@o.option("--network", type=click.Choice(["on", "off"]), help="For agent code (off).")
@o.key_option
@o.folder_option
@o.option("-w", "--experiment", "name", help="The name that the runs lie under; else that of the file.")
@o.option(
    "--changed", is_flag=True, help="Go on though the plan does not want all runs of that name any more."
)
@o.option("--dry-run", is_flag=True, help="Start nothing: tell what is missing and what stands in the way.")
@o.json_option
def command(
    file: Path | None,
    folder: Path,
    name: str | None,
    key: str | None,
    changed: bool,
    dry_run: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Make many runs side by side: tasks, agents, models and seeds.

    Every task is run with every agent, model and seed. FILE is a YAML file; what is said with flags stands instead of
    what it says. Started again, an experiment does what is missing. Ctrl-C once finishes the steps in hand, twice
    aborts them; either way all can be gone on with. The exit status is 1 if a run died or could not be made.
    """
    from mlagentbench.launch.forker import Forker

    with Forker() as forker:  # gets ready while the rest is loaded and looked at
        from mlagentbench.cli.experimenting import carry_out, plan_of

        status = carry_out(
            plan_of(file, values),
            folder=folder,
            name=name,
            key=key,
            changed=changed,
            dry_run=dry_run,
            as_json=as_json,
            forker=forker,
        )
    raise click.exceptions.Exit(status)
