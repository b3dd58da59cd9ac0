"""Verdicts on timed tasks while every core is busy with something else: the untouched starter never succeeds, and the
oracle always does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlagentbench.grading import Grader
from mlagentbench.grading.references import Kind
from mlagentbench.sandbox import choose
from mlagentbench.task.layout import layout, overlay_of
from mlagentbench.task.preparation import Prepared, prepare
from mlagentbench.task.registry import load_task
from mlagentbench.workspace import Store, Workspace

# Arithmetic, and memory that does not fit into a cache: what other work takes from the work that is timed.
BUSY = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
block = bytearray(64 << 20)
parent = os.getppid()
while os.getppid() == parent:
    sum(range(100_000))
    block[::64] = block[1::64]
"""


@pytest.fixture
def load() -> Iterator[None]:
    """One process for every core, pinned to it."""
    busy = [
        subprocess.Popen([sys.executable, "-c", BUSY, str(core)]) for core in sorted(os.sched_getaffinity(0))
    ]
    try:
        yield
        assert all(process.poll() is None for process in busy)
    finally:
        for process in busy:
            process.kill()
            process.wait()


def shortened(prepared: Prepared, folder: Path) -> Prepared:
    """With fewer hidden inputs: it is quicker, and shorter runs are disturbed more, not less."""
    private = Path(shutil.copytree(prepared.private, folder / "private"))
    (folder / "public").symlink_to(prepared.public)
    prompts = private / "inputs" / "prompts.json"
    if prompts.is_file():
        asked = json.loads(prompts.read_text())
        prompts.write_text(json.dumps(asked | {"prompts": asked["prompts"][::8]}))
    for case in ("case-1", "case-2", "case-3"):  # three of the four that take long
        if (private / "inputs" / case).is_dir():
            shutil.rmtree(private / "inputs" / case)
            (private / "expected" / f"{case}.npy").unlink()
    return replace(prepared, private=private)


@pytest.mark.slow
@pytest.mark.xdist_group("timing")
@pytest.mark.usefixtures("load")
@pytest.mark.parametrize("name", ["vectorization", "llama-inference"])
@pytest.mark.parametrize(("kind", "times", "succeeds"), [("starter", 20, False), ("oracle", 5, True)])
def test_a_verdict_does_not_depend_on_what_else_the_machine_does(
    name: str, kind: Kind, times: int, succeeds: bool, tmp_path: Path
) -> None:
    prepared = shortened(prepare(load_task(name), "mini"), tmp_path)
    plan = layout(prepared)
    workspace = Workspace(tmp_path / "workspace", Store(tmp_path / "store"), plan.read_only, max_file=2**31)
    plan.lay(workspace.folder, overlay_of(prepared.task, kind))
    snapshot = workspace.snapshot(executed=True).id
    grader = Grader(prepared, choose("auto"), tmp_path / "scratch")
    for turn in range(times):
        grade = grader.grade(workspace.store, snapshot)
        assert grade.valid, grade.reason
        print(f"{name}, {kind}, {turn}: {grade.score:.4f} {grade.interval}")
        assert grade.success is succeeds, f"the {kind}, graded for the {turn + 1}. time: {grade}"
