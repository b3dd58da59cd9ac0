"""What a report of many runs costs, in CPU time and memory, and how that grows with their number.

    .venv/bin/python benchmarks/evaluate.py            # 100, 1,000 and 10,000 runs of 50 steps: 2.5 GB of disk
    .venv/bin/python benchmarks/evaluate.py --quick    # to see that it runs

Exit status 1 if a demand is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from synthetic import AGENTS, TASKS, Maker, write_store

CROWD = (*AGENTS[:4], Maker("react", "made-up/small", 0.05, 0.001))
MOST_CPU = 60.0
MOST_MEMORY = 10**9
STEPS = 50
_NOISE = 1.25
"""Cost may grow so much faster than the number of runs before it counts as faster than linear: what is measured."""


@dataclass(frozen=True)
class Cost:
    runs: int
    profiles: str
    """`kept`: each run had its profile beside it; `made`: none had, and they were made by the way."""
    cpu: float
    """Seconds, user and system."""
    memory: int
    """Bytes, at most."""
    written: int
    """Bytes of the report."""


def measure(sizes: Sequence[int], folder: Path, steps: int, made_up_to: int) -> Iterator[Cost]:
    """A store of each size, and a report of it in a process of its own."""
    for size in sizes:
        runs, report = folder / "runs", folder / "report"
        each = max(1, size // (len(CROWD) * 10))
        count = write_store(runs, agents=CROWD, tasks=TASKS[:10], runs=each, steps=steps)
        yield _report(runs, report, count, "kept")
        if count <= made_up_to:
            for kept in runs.rglob("evaluation.json"):
                kept.unlink()
            yield _report(runs, report, count, "made")
        shutil.rmtree(runs)


def _report(runs: Path, report: Path, count: int, profiles: str) -> Cost:
    argv = [sys.executable, "-m", "mlagentbench.cli.main", "report", str(runs), "-o", str(report), "--json"]
    with open(os.devnull, "r+b") as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), stream) for stream in (0, 1)]
        pid = os.posix_spawn(argv[0], argv, dict(os.environ), file_actions=actions)
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        raise RuntimeError(f"the report of {count} runs failed")
    written = sum(file.stat().st_size for file in report.rglob("*") if file.is_file())
    shutil.rmtree(report)
    return Cost(count, profiles, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, written)


def missed(costs: Sequence[Cost]) -> list[str]:
    """The demands that do not hold."""
    kept = [cost for cost in costs if cost.profiles == "kept"]
    found = [
        f"{cost.runs:,} runs took {cost.cpu:.1f} s and {cost.memory / 1e6:.0f} MB"
        for cost in kept
        if cost.cpu > MOST_CPU or cost.memory > MOST_MEMORY
    ]
    for fewer, more in pairwise(kept):
        if more.cpu / fewer.cpu > _NOISE * more.runs / fewer.runs:
            found.append(f"from {fewer.runs:,} to {more.runs:,} runs, cost grew faster than linearly")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--folder", type=Path, default=Path("/var/tmp"), help="where the runs are written meanwhile"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1_000, 10_000])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument(
        "--made", type=int, default=1_000, help="up to how many runs also without kept profiles"
    )
    parser.add_argument("--quick", action="store_true", help="50 runs of 5 steps")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    sizes, steps = ([50], 5) if asked.quick else (asked.sizes, asked.steps)
    costs = []
    with tempfile.TemporaryDirectory(prefix="mlagentbench-evaluate-", dir=asked.folder) as folder:
        for cost in measure(sizes, Path(folder), steps, asked.made):
            costs.append(cost)
            if not asked.json:
                _tell(cost, len(costs) == 1)
    problems = missed(costs)
    if asked.json:
        print(json.dumps({"costs": [asdict(cost) for cost in costs], "missed": problems}, indent=1))
    for problem in problems if not asked.json else ():
        print(f"missed: {problem}")
    return 1 if problems else 0


def _tell(cost: Cost, first: bool) -> None:
    if first:
        print("| runs | profiles | CPU time | a run | memory | report |")
        print("|-----:|----------|---------:|------:|-------:|-------:|")
    print(
        f"| {cost.runs:,} | {cost.profiles} | {cost.cpu:.1f} s | {1000 * cost.cpu / cost.runs:.1f} ms "
        f"| {cost.memory / 1e6:.0f} MB | {cost.written / 1e6:.1f} MB |",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
