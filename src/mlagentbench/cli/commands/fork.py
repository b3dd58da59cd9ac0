"""`mlagentbench fork`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlagentbench.cli import options as o


@click.command("fork")
@click.argument("run")
@o.option("--step", type=click.IntRange(0), required=True, help="The last step that the two runs share.")
@o.option(
    "-a", "--agent", help="Another agent; it starts after that step. Without it, the same one is replayed."
)
@o.model_options
@o.call_options
@o.settings_option
@o.option("--seed", type=int, help="Another seed.")
@o.folder_option
@o.key_option
@o.limit_options
@o.interactive_option
@o.trust_option
@o.json_option
def command(
    run: str,
    step: int,
    agent: str | None,
    config: tuple[str, ...],
    folder: Path,
    interactive: bool,
    trust: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Try something else from a step of a run.

    The new run lies beside the old one, begins as that did up to and including the step, and goes on from there. What
    is not said is as it was; the server and the options of a model are not passed on to one of another provider, and
    another agent that has no use for a model has none, unless -m names one. A run that was not made here is refused
    without --trust.
    """
    limits = o.take_limits(values)
    from mlagentbench.cli.finding import find_run
    from mlagentbench.cli.live import resumable, succeeded, tell_end
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.running import told, watch_for
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.cli.trusting import demand_trust
    from mlagentbench.environment.models import ModelChoice
    from mlagentbench.launch.run import fork, models_kept

    found = find_run(run, folder)
    demand_trust(found, "Forking", trust, as_json)
    request = found.request()
    o.find_own_agents(agent or request.agent)
    named = values["model"] is not None
    models = o.take_models(values, ModelChoice.of(request) if named else models_kept(request, agent))
    o.warn_of_gaps(request.sandbox, request.network)
    screen = open_screen(json=as_json, lasting=True)
    watch = watch_for(screen, agent or request.agent)
    settings = o.read_settings(config)
    with resumable(watch):
        result = fork(
            found.path,
            step,
            agent=agent,
            model=models,
            settings=settings or None,
            seed=values["seed"],
            key=values["key"],
            limits=limits,
            watch=watch,
            ask=o.ask_person if interactive else None,
        )
    tell_end(screen, result)
    if as_json:
        print_json({"runs": [told(result)]})
    if not succeeded(result):
        raise click.exceptions.Exit(1)
