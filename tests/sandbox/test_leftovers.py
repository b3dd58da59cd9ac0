"""What a killed harness left is ended by the next one; what a living one started is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from programs import processes_with

from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox import cgroup, choose, leftovers
from mlagentbench.sandbox.temporary import pid_namespace


def waiting_for_ever(mark: str) -> subprocess.Popen[bytes]:
    """A process that looks like bubblewrap, started by the harness that is named by `mark`."""
    arguments = ["/usr/bin/bwrap", "-c", "read never", mark]
    return subprocess.Popen(arguments, executable="/bin/sh", stdin=subprocess.PIPE)


def test_only_processes_of_dead_harnesses_are_ended():
    dead = subprocess.Popen(["true"])
    dead.wait()
    left = waiting_for_ever(f"mlagentbench-of-{pid_namespace()}-{dead.pid}")
    ours = waiting_for_ever(leftovers.mark())
    foreign = waiting_for_ever("sh")
    of_a_container = waiting_for_ever(f"mlagentbench-of-1-{dead.pid}")
    leftovers.end_stale.cache_clear()
    leftovers.end_stale()
    assert left.wait() == -signal.SIGKILL
    for process in (ours, foreign, of_a_container):
        assert process.poll() is None
        process.kill()
        process.wait()
    assert str(os.getpid()) in leftovers.mark()


HARNESS = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from programs import python, run
from mlagentbench.sandbox import choose
sandbox = choose("bwrap")
print("starts", flush=True)
run(sandbox, python("import time; time.sleep(60)", Path(sys.argv[2])))
"""
NEXT_COMMAND = "from mlagentbench.sandbox import choose; choose('bwrap')"


def groups_of(pid: int) -> list[Path]:
    found = cgroup.hierarchies()
    folders = {found.unified, found.freezer, found.pids, found.memory} - {None}
    return [group for folder in folders if folder for group in folder.glob(f"*-{pid}-*")]


def test_after_a_kill_at_any_moment_the_next_command_leaves_no_process_and_no_group(tmp_path: Path):
    try:
        choose("bwrap")
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    killed = []
    for processes in (1, 1, 1, 2, 2, 2):
        command = [sys.executable, "-c", HARNESS, str(Path(__file__).parent), str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as harness:
            assert harness.stdout is not None
            assert harness.stdout.readline() == b"starts\n"
            mark = f"mlagentbench-of-{pid_namespace()}-{harness.pid}"
            while len(processes_with(mark)) < processes:
                pass
            harness.kill()
        killed.append(harness.pid)
    subprocess.run([sys.executable, "-c", NEXT_COMMAND], check=True)
    for pid in killed:
        while processes_with(f"mlagentbench-of-{pid_namespace()}-{pid}"):
            pass  # what was killed is on its way out
        assert groups_of(pid) == []
