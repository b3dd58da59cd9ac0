"""`mlagentbench resume`"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mlagentbench.cli import options as o


@click.command("resume")
@click.argument("run")
@o.folder_option
@o.key_option
@o.sandbox_option
@o.call_options
@o.limit_options
@o.interactive_option
@o.trust_option
@o.json_option
def command(
    run: str,
    folder: Path,
    key: str | None,
    sandbox: str | None,
    interactive: bool,
    trust: bool,
    as_json: bool,
    **values: Any,
) -> None:
    """Go on with a run that was stopped or killed.

    RUN is a run's folder, its id, the beginning of one, or `last`. The agent starts again from the beginning and is
    answered from the record until the record is used up. A run that has ended is only graded, if it was not. One that
    was not made here is refused without --trust.
    """
    limits, calls = o.take_limits(values), o.take_calls(values)
    from mlagentbench.cli.finding import find_run
    from mlagentbench.cli.live import resumable, succeeded, tell_end
    from mlagentbench.cli.machine import print_json
    from mlagentbench.cli.running import told, watch_for
    from mlagentbench.cli.screen import open_screen
    from mlagentbench.cli.trusting import demand_trust
    from mlagentbench.environment.models import ModelChoice
    from mlagentbench.launch.run import resume
    from mlagentbench.record.events import RunEnded

    found = find_run(run, folder)
    demand_trust(found, "Resuming", trust, as_json)
    request = found.request()
    if request.own is not None:
        from mlagentbench.cli.assisting import go_on

        done = go_on(found, yes=False, as_json=as_json, sandbox=sandbox, limits=limits, calls=calls)
        raise click.exceptions.Exit(0 if done else 1)
    o.warn_of_gaps(sandbox or request.sandbox, request.network)
    o.find_own_agents(request.agent)
    screen = open_screen(json=as_json, lasting=True)
    watch = watch_for(screen, request.agent)
    with resumable(watch):
        if not any(isinstance(event, RunEnded) for event in found.history().events):
            ModelChoice.of(request).try_servers(watch)
        ask = o.ask_person if interactive else None
        result = resume(
            found.path, key=key, sandbox=sandbox, limits=limits, calls=calls, watch=watch, ask=ask
        )
    tell_end(screen, result)
    if as_json:
        print_json({"runs": [told(result)]})
    if not succeeded(result):
        raise click.exceptions.Exit(1)
