"""Limits of memory that come from the control groups around the harness."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlagentbench.sandbox import LimitReached, cgroup
from mlagentbench.sandbox.surroundings import around_this_process

SMALL = 150_000_000


def machine(root: Path, groups: str, mounts: str, files: dict[str, str]) -> Path:
    for name, text in {"proc/self/cgroup": groups, "proc/self/mountinfo": mounts, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_the_smallest_limit_of_all_groups_around_counts(tmp_path: Path):
    root = machine(
        tmp_path,
        "0::/user.slice/job\n",
        "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n",
        {
            "sys/fs/cgroup/user.slice/memory.max": "4000000\n",
            "sys/fs/cgroup/user.slice/job/memory.max": "max\n",
            "sys/fs/cgroup/user.slice/job/memory.events": "oom 3\noom_kill 2\n",
        },
    )
    around = around_this_process(root)
    assert (around.memory(), around.kills()) == (4_000_000, 2)


def test_version_1_of_control_groups_is_read_too_also_where_a_container_shows_its_own_part(tmp_path: Path):
    root = machine(
        tmp_path,
        "4:memory:/docker/abc/inner\n0::/\n",
        "30 24 0:26 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        "31 24 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
        {
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "70000000\n",
            "sys/fs/cgroup/memory/inner/memory.limit_in_bytes": "9223372036854771712\n",
            "sys/fs/cgroup/memory/inner/memory.oom_control": "oom_kill_disable 0\noom_kill 1\n",
        },
    )
    around = around_this_process(root)
    assert (around.memory(), around.kills()) == (70_000_000, 1)


def test_a_machine_without_control_groups_has_no_such_limit(tmp_path: Path):
    assert around_this_process(tmp_path).memory() is None


@pytest.fixture
def small_group() -> Iterator[Path]:
    """A group of this machine that has little memory."""
    found = cgroup.hierarchies()
    parent = found.unified or found.memory
    if parent is None:
        pytest.skip("no control group for memory can be made here")
    group = parent / f"mlagentbench-test-{os.getpid()}"
    group.mkdir()
    name = "memory.max" if found.unified else "memory.limit_in_bytes"
    (group / name).write_text(str(SMALL))
    yield group
    group.rmdir()


HARNESS = """
import os, sys, tempfile
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
sys.path.insert(0, sys.argv[2])
from programs import python, run
from mlagentbench.sandbox import choose, default_limits
with tempfile.TemporaryDirectory() as folder:
    job = python("held = bytearray(b'x') * 400_000_000", Path(folder), memory=2_000_000_000)
    print(run(choose("auto"), job).result.limit)
print(default_limits().memory)
"""


def test_a_limit_around_the_harness_is_named_with_its_own_value(small_group: Path):
    command = [sys.executable, "-c", HARNESS, str(small_group), str(Path(__file__).parent)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    limit, default = ran.stdout.splitlines()
    page = 4096
    assert limit == repr(LimitReached("memory", SMALL // page * page, shared=True))
    assert int(default) <= SMALL


def test_the_sentence_does_not_blame_the_programs_own_limit():
    sentence = LimitReached("memory", SMALL, shared=True).sentence()
    assert (
        sentence
        == "It was stopped: it and the harness used more memory than the 150 MB of their control group."
    )
