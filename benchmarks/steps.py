"""Single steps: those that execute nothing against one durable append, those that run a script against running it."""

from __future__ import annotations

import itertools
import statistics
import subprocess
from collections.abc import Iterator
from functools import partial

from demands import Row
from measuring import Stopwatch, Yardstick, stat_pass
from places import Ready
from tiny_task import SCRIPT, Shape

from mlagentbench import Action, Environment
from mlagentbench.workspace import remove_tree

YARDSTICK = "yardstick"
KINDS = ("List Files", "Read File", "Write File", "Append File", "Inspect Script Lines")
MOST_YARDSTICKS, MOST_GROWTH = 10.0, 1.2
EARLY, LATE = 10, 1_000


_numbers = itertools.count()


def cycle(shape: Shape) -> Iterator[Action]:
    """One step of each kind. What they write is of the same size each time, and never what was written before."""
    number = next(_numbers)
    notes = f"{shape.inner}notes.py"
    text = "".join(f"# {number:>6} {line:>6} {'x' * 46}\n" for line in range(16))
    yield Action("List Files", {"dir_path": shape.inner or "."})
    yield Action("Read File", {"file_name": SCRIPT})
    yield Action("Write File", {"file_name": notes, "content": text})
    yield Action("Append File", {"file_name": notes, "content": f"print({number})\n"})
    yield Action(
        "Inspect Script Lines", {"script_name": notes, "start_line_number": 1, "end_line_number": 17}
    )


def take(env: Environment, action: Action) -> None:
    observation = env.step(action)
    if not observation.ok:
        raise RuntimeError(f"{action.name}: {observation.text}")


def typical(watch: Stopwatch, prefix: str = "") -> float:
    """What a step of the mix costs: each kind at its median, all kinds alike."""
    return statistics.fmean(watch.median(prefix + kind) for kind in KINDS)


def quiet_steps(ready: Ready, env: Environment, rounds: int) -> list[Row]:
    """Steps that execute nothing, with their durable record, in turns with the yardstick."""
    watch, yardstick = Stopwatch(), Yardstick(ready.folder)
    for _ in range(rounds):
        for action in cycle(ready.shape):
            watch.time(YARDSTICK, yardstick.append)
            watch.time(action.name, partial(take, env, action))
    unit = watch.median(YARDSTICK)
    told = ready.shape.told()
    mixed = typical(watch)
    rows = [
        Row(f"1 KB append with fdatasync, the yardstick for {told}", unit, "ms"),
        Row(
            f"a step that executes nothing, {told}",
            mixed / unit,
            "x",
            f"{mixed * 1e3:.2f} ms",
            MOST_YARDSTICKS,
        ),
    ]
    for kind in KINDS:
        seconds = watch.median(kind)
        rows.append(Row(f"· {kind}", seconds / unit, "x", f"{seconds * 1e3:.2f} ms"))
    return rows


def growth(ready: Ready, old: Environment, late: int, windows: int) -> list[Row]:
    """The same steps around step `late` of one run and around step `EARLY` of new ones, in turns."""
    for _ in range(len(old.history), late - EARLY, len(KINDS)):
        for action in cycle(ready.shape):
            take(old, action)
    watch = Stopwatch()
    for _ in range(windows):
        ages = {"young": ready.start("young"), "old": old}
        for turn in range(2 * EARLY // len(KINDS)):
            for action in cycle(ready.shape):
                for age in sorted(ages, reverse=bool(turn % 2)):
                    watch.time(f"{age} {action.name}", partial(take, ages[age], action))
        finished = ages["young"].folder.path
        ages["young"].suspend()
        remove_tree(finished)
    early, later = typical(watch, "young "), typical(watch, "old ")
    told = f"{later * 1e3:.2f} ms, at step {EARLY} {early * 1e3:.2f} ms"
    return [Row(f"· step {late:,} against step {EARLY}", later / early, "x", told, MOST_GROWTH)]


def executing_steps(ready: Ready, env: Environment, rounds: int) -> list[Row]:
    """A step that executes a one-line script, in turns with what it may cost at most."""
    watch, workspace = Stopwatch(), env.folder.workspace
    argv = [str(ready.interpreter.python), SCRIPT]
    for _ in range(rounds):
        watch.time(
            "bare", lambda: subprocess.run(argv, cwd=workspace, capture_output=True, env={}, check=True)
        )
        watch.time("true", lambda: ready.starting_true(workspace))
        watch.time("stat", lambda: stat_pass(workspace))
        watch.time("step", lambda: take(env, Action("Execute Script", {"script_name": SCRIPT})))
    bare, true, stat = (watch.median(name) for name in ("bare", "true", "stat"))
    told = f"{bare * 1e3:.1f} bare + 3 x {true * 1e3:.1f} for true + 2 x {stat * 1e3:.1f} to stat are allowed"
    limit = bare + 3 * true + 2 * stat
    what = f"a step that executes a one-line script, {ready.shape.told()}"
    return [Row(what, watch.median("step"), "ms", told, limit)]
