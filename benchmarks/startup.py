"""From the command line to the first action, and to the help text, in CPU time."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from demands import Row
from first_action import TOLD_IN
from measuring import cpu_seconds
from places import Ready

MOST_FOR_FIRST_ACTION, MOST_FOR_HELP, MORE_FOR_HELP = 25.0, 3.0, 0.1
COMMAND = str(Path(sys.executable).with_name("mlagentbench"))


def start_up(ready: Ready, rounds: int) -> list[Row]:
    """The least of several, in turns: what CPU time has on top of its minimum is other programs' doing."""
    folder = ready.folder
    actions, told = folder / "actions.jsonl", folder / "told"
    actions.write_text(json.dumps({"name": "Final Answer", "args": {"final_answer": "Done."}}) + "\n")
    environment = _environment(folder) | {TOLD_IN: str(told)}
    run = (
        COMMAND,
        "run",
        str(ready.task),
        "-a",
        "first_action:FirstAction",
        "-c",
        f"file={actions}",
        "-o",
        "runs",
    )
    nothing, helped, acted = [], [], []
    for number in range(rounds + 1):
        times = (
            cpu_seconds((sys.executable, "-c", "pass"), environment, folder),
            cpu_seconds((COMMAND, "--help"), environment, folder),
        )
        cpu_seconds(run, environment, folder, accepted=(0, 1))
        if number:  # the first time is spent on compiling
            nothing.append(times[0])
            helped.append(times[1])
            acted.append(float(told.read_text()))
    least = min(nothing)
    ratio, limit = min(acted) / least, MOST_FOR_HELP * least + MORE_FOR_HELP
    return [
        Row("`python -c pass`, CPU time", least, "ms"),
        Row(
            "`mlagentbench run` up to the first action, CPU time",
            ratio,
            "x",
            f"{min(acted) * 1e3:.0f} ms",
            MOST_FOR_FIRST_ACTION,
        ),
        Row(
            "`mlagentbench --help`, CPU time",
            min(helped),
            "ms",
            "3 x `python -c pass` + 100 ms are allowed",
            limit,
        ),
    ]


def _environment(folder: Path) -> dict[str, str]:
    """This one's, with a place for compiled code, so that nothing depends on who compiled it before."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [kept.get("PYTHONPATH")])])
    return kept | {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONPATH": path}
