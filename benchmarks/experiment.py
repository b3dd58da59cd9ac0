"""What it costs to make many short runs side by side, against the CPU time of the runs themselves.

    python benchmarks/experiment.py [--json] [--quick] [--folder FOLDER]

Prints one table. The exit status is 1 if a demand is missed, except with --quick, whose numbers mean nothing. The clock
on the wall counts here, so it means something only while nothing else computes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from pathlib import Path

from demands import Row, settled, table
from overhead import own_folder, tell
from places import Ready, make_ready
from startup import COMMAND
from tiny_task import SCRIPT, Shape

CORES = 2
MOST_TIMES_IDEAL, MOST_MEMORY = 1.3, 200e6
_STARTER = "from pathlib import Path\nPath('submission.txt').write_text('1')\nprint('hello')\n"
_COMPUTING = "total = 0\nfor number in range(1_000_000):\n    total += number * number\nprint(total)\n"


def experiment(ready: Ready, runs: int, attempt: list[int]) -> list[Row]:
    """So many runs from one command, on two cores."""
    attempt[0] += 1
    name = f"measured-{attempt[0]}"
    cores = sorted(os.sched_getaffinity(0))[:CORES]
    _give_command(ready, 1, f"{name}-before", cores)  # measures the baseline, and compiles
    wall, spent, memory, told = _give_command(ready, runs, name, cores)
    ended = [run["summary"]["ended"] for run in told["runs"]]
    if ended != ["submitted"] * runs:
        raise RuntimeError(f"not every run did its work: {ended}")
    cpu = sum(run["cpu_seconds"] for run in told["runs"])
    ideal = cpu / len(cores)
    return [
        Row(f"{runs} short runs, CPU time of each", cpu / runs, "ms"),
        Row(
            f"{runs} short runs on {len(cores)} cores, against their CPU time over the cores",
            wall / ideal, "x", f"{wall:.1f} s, ideal {ideal:.1f} s", MOST_TIMES_IDEAL,
        ),
        Row("· CPU time of everything, against that of the runs", spent / cpu, "x", f"{spent:.1f} s"),
        Row("· memory of the experiment's own process", memory, "MB", limit=MOST_MEMORY),
    ]  # fmt: skip


def _give_command(ready: Ready, runs: int, name: str, cores: list[int]) -> tuple[float, float, float, dict]:
    """Seconds on the wall, of CPU time of all that it started, most memory of the process, and what it told."""
    actions = ready.folder / "actions.jsonl"
    actions.write_text("\n".join(json.dumps(action) for action in _actions()))
    argv = [
        *(COMMAND, "experiment", "-t", str(ready.task), "-a", "scripted", "-c", f"file={actions}"),
        *("--runs", str(runs), "-w", name, "-o", str(ready.folder / "runs"), "--json"),
    ]
    out = ready.folder / "told.json"
    descriptor = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    quiet = os.open(os.devnull, os.O_RDWR)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    started = time.perf_counter()
    try:
        pid = os.posix_spawn(
            argv[0],
            argv,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, quiet, 0), (os.POSIX_SPAWN_DUP2, descriptor, 1),
                          (os.POSIX_SPAWN_DUP2, quiet, 2)],
        )  # fmt: skip
        _, status, usage = os.wait4(pid, 0)
    finally:
        os.sched_setaffinity(0, before)
        os.close(descriptor)
        os.close(quiet)
    wall = time.perf_counter() - started
    if status:
        raise RuntimeError(f"the experiment ended with status {os.waitstatus_to_exitcode(status)}")
    spent = usage.ru_utime + usage.ru_stime
    return wall, spent, usage.ru_maxrss * 1024.0, json.loads(out.read_text())


def _actions() -> list[dict]:
    """A short run of an agent: it looks, reads, edits, tries and submits."""
    return [
        {"name": "List Files", "args": {"dir_path": "."}},
        {"name": "Read File", "args": {"file_name": SCRIPT}},
        {"name": "Execute Script", "args": {"script_name": SCRIPT}},
        {"name": "Write File", "args": {"file_name": "model.py", "content": _COMPUTING}},
        {"name": "Execute Script", "args": {"script_name": "model.py"}},
        {"name": "Final Answer", "args": {"final_answer": "One."}},
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description="What it costs to make many runs side by side.")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of the table")
    parser.add_argument("--quick", action="store_true", help="only see whether it runs; judges nothing")
    parser.add_argument(
        "--folder", type=Path, default=Path("/var/tmp"), help="on the disk to be measured (%(default)s)"
    )
    options = parser.parse_args()
    attempt = [0]
    with own_folder(options.folder) as folder:
        ready = make_ready(folder / "small", Shape("small", 1_000_000, 2))
        (ready.task / "starter" / SCRIPT).write_text(_STARTER)
        tell("Many short runs.")
        rows = settled(
            lambda: experiment(ready, 4 if options.quick else 64, attempt), 1 if options.quick else 3
        )
    if options.json:
        told = {"date": time.strftime("%Y-%m-%d"), "python": platform.python_version()}
        print(json.dumps({**told, "quick": options.quick, "rows": [row.as_json() for row in rows]}, indent=1))
    else:
        print(table(rows))
    return 0 if options.quick or all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
