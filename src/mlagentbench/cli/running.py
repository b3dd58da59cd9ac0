"""What `run` does: one run after the other, watched, and a table where there are several."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlagentbench.cli.live import LiveWatch, resumable, succeeded, tell_end
from mlagentbench.cli.machine import plain, print_json
from mlagentbench.cli.options import ask_person, find_own_agents, warn_of_gaps
from mlagentbench.cli.screen import Screen, open_screen
from mlagentbench.environment import Options
from mlagentbench.environment.models import ModelChoice
from mlagentbench.launch.run import Run, run
from mlagentbench.record.request import ChatBy


@dataclass(frozen=True)
class Wanted:
    """What the user asked `run` for."""

    task: str
    agent: str
    models: ModelChoice
    settings: dict[str, Any]
    label: str | None
    count: int
    variant: str | None
    seed: int
    data_seed: int
    key: str | None
    folder: Path
    experiment: str
    limits: dict[str, Any]
    sandbox: str | None
    network: bool
    chat: ChatBy
    python: str | None
    devices: tuple[str, ...]
    show_action: tuple[str, ...]
    hide_action: tuple[str, ...]
    interactive: bool

    def options(self, seed: int, watch: LiveWatch) -> Options:
        return Options(
            variant=self.variant,
            seed=seed,
            data_seed=self.data_seed,
            key=self.key,
            limits=self.limits,
            sandbox=self.sandbox or "auto",
            network=self.network,
            chat=self.chat,
            python=self.python,
            runs=self.folder,
            experiment=self.experiment,
            label=self.label or "",
            show_actions=self.show_action,
            hide_actions=self.hide_action,
            devices=self.devices,
            watch=watch,
            ask=ask_person if self.interactive else None,
        )


def carry_out(wanted: Wanted, as_json: bool) -> bool:
    """Make the runs and tell of them. False if any of them failed."""
    screen = open_screen(json=as_json, lasting=True)
    warn_of_gaps(wanted.sandbox, wanted.network)
    find_own_agents(wanted.agent)
    runs: list[Run] = []
    for seed in range(wanted.seed, wanted.seed + wanted.count):
        watch = watch_for(screen, wanted.agent)
        with resumable(watch):
            runs.append(
                run(
                    wanted.task,
                    wanted.agent,
                    wanted.models,
                    settings=wanted.settings,
                    **wanted.options(seed, watch),
                )
            )
        tell_end(screen, runs[-1])
    if wanted.count > 1:
        _tell_all(screen, runs)
        place = shlex.quote(str(wanted.folder / wanted.experiment))
        screen.line(("next    ", "label"), f"mlagentbench compare {place}")
    else:
        screen.line(("next    ", "label"), f"mlagentbench show {shlex.quote(str(runs[0].folder))}")
    if as_json:
        print_json({"runs": [told(each) for each in runs]})
    return all(succeeded(each) for each in runs)


def _tell_all(screen: Screen, runs: list[Run]) -> None:
    from mlagentbench.cli.tables import group_table
    from mlagentbench.evaluation.groups import group

    screen.line()
    group_table(screen, group(each.summary for each in runs))


def watch_for(screen: Screen, agent: str) -> LiveWatch:
    """A person at the prompt sees each observation in full, so the watch says less."""
    return LiveWatch(screen, brief=agent == "human")


def told(run: Run) -> dict[str, Any]:
    """A run, for machines."""
    return {"folder": str(run.folder), "summary": plain(run.summary)}
