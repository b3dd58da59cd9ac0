"""`mlagentbench assist`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlagentbench.cli import options as o

folder_option = o.option(
    "-o", "--folder", "runs", type=click.Path(path_type=Path),
    help="The folder of runs, instead of one in your home folder.",
)  # fmt: skip


@click.command("assist")
@click.argument("folder", required=False, type=click.Path(file_okay=False))
@click.argument("wish", required=False)
@o.option(
    "-a", "--agent", default="research", show_default=True,
    help="research, react, act, langchain, autogpt, human, or module:Class.",
)  # fmt: skip
@o.model_options
@o.call_options
@o.settings_option
@o.agent_options
@o.option("--yes", is_flag=True, mirrored=False, help="Allow everything in the copy, without asking.")
@o.option("--resume", "run", metavar="RUN", mirrored=False, help="Go on with this run, instead of a new one.")
@o.option(
    "--leave-out",
    multiple=True,
    metavar="PATTERN",
    help="Neither copy nor show what has such a name or path.",
)
@o.option("--copy-limit", type=o.SIZE, help="What may be copied (200MB); what is larger is shown read-only.")
@o.option(
    "--python", help="The interpreter for the sandbox, instead of that of the folder's .venv or your own."
)
@folder_option
@o.limit_options
@o.sandbox_option
@o.option(
    "--network", type=click.Choice(["on", "off"]), default="off", show_default=True, help="For agent code."
)
@o.option("--device", "devices", multiple=True, help="A GPU to pass through: its index, or all.")
@o.json_option
def command(
    folder: str | None,
    wish: str | None,
    run: str | None,
    runs: Path | None,
    yes: bool,
    config: tuple[str, ...],
    as_json: bool,
    **values: Any,
) -> None:
    """Let an agent help you with a project of your own, on a copy of it.

    WISH says what you want, in words. You are asked before anything is changed or run, and can say something else
    instead; Ctrl-C pauses. At the end you see the difference, and choose what of it is applied to FOLDER. Until then
    nothing in FOLDER is touched.
    """
    limits, models = o.take_limits(values), o.take_models(values)
    settings = o.read_settings(config) | o.take_agent_settings(values)
    from mlagentbench.cli.assisting import begin, found_in, go_on

    if run is not None:
        if folder or wish:
            raise click.UsageError("A run that is gone on with has its folder and its wish; leave them out.")
        done = go_on(
            found_in(run, runs), yes=yes, as_json=as_json, sandbox=values["sandbox"], limits=limits,
            calls=models.calls.model_dump(exclude_defaults=True),
        )  # fmt: skip
    elif not (folder and wish):
        raise click.UsageError('Name the folder and say what you want: `mlagentbench assist FOLDER "…"`.')
    else:
        values |= {"network": values["network"] == "on", "sandbox": values["sandbox"] or "auto"}
        done = begin(
            folder,
            wish,
            yes=yes,
            as_json=as_json,
            model=models,
            settings=settings,
            limits=limits,
            runs=runs,
            **values,
        )
    if not done:
        raise click.exceptions.Exit(1)
