"""Fifty mixed steps, against copying the workspace and rewriting the trace at each of them."""

from __future__ import annotations

import os
import shutil
from functools import partial
from pathlib import Path

from copying_way import CopyingWay
from demands import Row
from measuring import Stopwatch, on_disk
from places import Ready
from steps import take
from tiny_task import SCRIPT

from mlagentbench import Action
from mlagentbench.workspace import remove_tree

STEPS = 50
LEAST_TIMES_FASTER, MOST_ON_DISK = 15.0, 1.2
_RESULT = 100_000


def mixed_steps(inner: str) -> list[Action]:
    """An agent at work: it looks around, edits, runs, and now and then its script leaves something behind."""
    edited = f"{inner}model.py"
    steps: list[Action] = []
    for number in range(STEPS // 10):
        code = f"from pathlib import Path\nPath('result.txt').write_text('{number}' * {_RESULT})\nprint('done')\n"
        steps += [
            Action("List Files", {"dir_path": "."}),
            Action("Read File", {"file_name": SCRIPT}),
            Action("Write File", {"file_name": edited, "content": code}),
            Action(
                "Inspect Script Lines", {"script_name": edited, "start_line_number": 1, "end_line_number": 3}
            ),
            Action("Execute Script", {"script_name": edited}),
            Action("Append File", {"file_name": edited, "content": "print('again')\n"}),
            Action("Read File", {"file_name": edited}),
            Action("Execute Script", {"script_name": SCRIPT}),
            Action("List Files", {"dir_path": inner or "."}),
            Action("Write File", {"file_name": "notes.txt", "content": f"Result {number} is better.\n" * 20}),
        ]
    return steps


def fifty_steps(ready: Ready) -> list[Row]:
    actions = mixed_steps(ready.shape.inner)
    runs = ready.folder / "fifty"
    workspace = ready.folder / "copied workspace"
    shutil.copytree(ready.task / "starter", workspace)
    env = ready.start(runs.name)
    before = on_disk(env.folder.workspace)
    os.sync()
    watch, changed = Stopwatch(), 0
    for action in actions:
        watch.time("step", partial(take, env, action))
        changed += sum(_size(env.folder.workspace / change.path) for change in env.history[-1].changes)
    ours = sum(watch.seconds["step"])
    while_open = on_disk(runs)
    env.close()
    kept = on_disk(runs)
    remove_tree(runs)
    os.sync()

    other = CopyingWay(workspace, ready.folder / "copies", ready.interpreter.python)
    for action in actions:
        other.step(action)
    shutil.rmtree(workspace)
    shutil.rmtree(ready.folder / "copies")

    each = f"{ours / STEPS * 1e3:.1f} ms a step, copying {other.seconds / STEPS * 1e3:.0f} ms"
    bound = before + changed
    return [
        Row(
            f"{STEPS} mixed steps, {ready.shape.told()}: times faster than the copying way",
            other.seconds / ours, "x", each, LEAST_TIMES_FASTER, at_least=True,
        ),
        Row(
            "· on disk when the run has ended, against the workspace and what changed",
            kept / bound, "x", f"{kept / 1e6:.1f} of {bound / 1e6:.1f} MB", MOST_ON_DISK,
        ),
        Row("· on disk while it goes on, with the workspace itself", while_open, "MB"),
        Row("· on disk by the copying way", float(other.copied), "MB"),
    ]  # fmt: skip


def _size(file: Path) -> int:
    return file.stat().st_size if file.is_file() else 0
