"""The harness's memory does not grow with the files in a workspace: nothing reads a file of the agent's whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

LARGE = 200_000_000
SCRIPT = """
import json, resource, sys
from pathlib import Path
from mlagentbench import Action, make, verify
from mlagentbench.record.packing import pack

task, runs, size = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])

def step(name, **args):
    told = env.step(Action(name, args))
    print(name, told.ok, told.text[:80], file=sys.stderr)
    return told

env = make(task, runs=runs)
env.reset()
code = f"text = open('large.txt', 'w')\\nfor n in range({size} // 100): text.write('x' * 99 + chr(10))\\n"
step("Write File", file_name="make.py", content=code)
step("Execute Script", script_name="make.py")
step("Copy File", source="large.txt", destination="copy.txt")
step("Append File", file_name="copy.txt", content="the end")
step("Undo Edit Script", script_name="copy.txt")
step("Read File", file_name="copy.txt")
step("Inspect Script Lines", script_name="copy.txt", start_line_number=900_000, end_line_number=900_001)
step("Execute Script", script_name="copy.txt")
step("Execute Script", script_name="make.py")
step("Copy File", source="large.txt", destination="submission.csv")
step("Final Answer", final_answer="done")
folder = env.folder.path
env.close()
verify(folder)
pack(folder, runs / "packed.tar.gz")
print(json.dumps({"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""


def peak(task: Path, runs: Path, size: int) -> int:
    """The most memory that the harness itself had in a run with a file of that size."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(task), str(runs), str(size)],
        capture_output=True,
        text=True,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Append File True" in done.stderr and "Undo Edit Script True" in done.stderr, done.stderr
    return int(json.loads(done.stdout.splitlines()[-1])["peak"])


def test_a_file_of_200_megabytes_costs_the_harness_no_memory(tiny_task: Path, runs: Path) -> None:
    small, large = peak(tiny_task, runs / "small", 1000), peak(tiny_task, runs / "large", LARGE)
    assert large < small + LARGE // 8, f"{small:,} bytes with a small file, {large:,} with a large one"
