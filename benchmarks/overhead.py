"""What the harness costs, each demand against a yardstick that is measured in the same run.

    python benchmarks/overhead.py [--json] [--quick] [--folder FOLDER]

Prints one table. The exit status is 1 if a demand is missed, except with --quick, whose numbers mean nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from demands import Row, settled, table
from fifty import fifty_steps
from places import make_ready
from startup import start_up
from steps import LATE, executing_steps, growth, quiet_steps
from tiny_task import Shape

from mlagentbench.workspace import remove_tree


@dataclass(frozen=True)
class Effort:
    """How much is measured."""

    small: Shape
    large: Shape
    rounds: int
    executions: int
    late: int
    windows: int
    tries: int


FULL = Effort(
    Shape("small", 1_000_000, 2), Shape("large", 200_000_000, 1_000),
    rounds=40, executions=15, late=LATE, windows=6, tries=3,
)  # fmt: skip
QUICK = Effort(
    Shape("small", 1_000_000, 2), Shape("large", 2_000_000, 150),
    rounds=2, executions=2, late=40, windows=1, tries=1,
)  # fmt: skip


def measure(effort: Effort, folder: Path) -> Iterator[Row]:
    for shape in (effort.small, effort.large):
        tell(f"Steps on {shape.told()}.")
        ready = make_ready(folder / shape.name, shape)
        env = ready.start("steps")
        yield from settled(lambda: quiet_steps(ready, env, effort.rounds), effort.tries)  # noqa: B023
        yield from settled(lambda: growth(ready, env, effort.late, effort.windows), effort.tries)  # noqa: B023
        yield from settled(lambda: executing_steps(ready, env, effort.executions), effort.tries)  # noqa: B023
        env.suspend()
        for runs in ("steps", "young"):
            remove_tree(ready.folder / runs)
        if shape is effort.small:
            small = ready
    tell("Fifty steps, ours and the copying way.")
    yield from settled(lambda: fifty_steps(ready), effort.tries)
    tell("From the command line to the first action.")
    yield from settled(lambda: start_up(small, effort.executions), effort.tries)


@contextmanager
def own_folder(parent: Path) -> Iterator[Path]:
    """Everything is made in here, the cache too, and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="mlagentbench-overhead-", dir=parent))
    os.environ["MLAGENTBENCH_CACHE"] = str(folder / "cache")
    try:
        yield folder
    finally:
        remove_tree(folder)


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description="What the harness itself costs.")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    parser.add_argument("--quick", action="store_true", help="only see whether it runs; judges nothing")
    parser.add_argument(
        "--folder", type=Path, default=Path("/var/tmp"), help="on the disk to be measured (%(default)s)"
    )
    options = parser.parse_args()
    with own_folder(options.folder) as folder:
        rows = list(measure(QUICK if options.quick else FULL, folder))
    if options.json:
        told = {
            "date": time.strftime("%Y-%m-%d"),
            "python": platform.python_version(),
            "system": platform.platform(),
        }
        print(json.dumps({**told, "quick": options.quick, "rows": [row.as_json() for row in rows]}, indent=1))
    else:
        print(table(rows))
    missed = [row.what for row in rows if not row.holds]
    if options.quick:
        tell("Only a look whether it runs: the numbers mean nothing.")
        return 0
    for what in missed:
        tell(f"Missed: {what}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
