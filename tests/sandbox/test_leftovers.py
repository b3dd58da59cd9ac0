"""What a killed harness left is ended by the next one; what a living one started is not."""

from __future__ import annotations

import os
import signal
import subprocess

from mlagentbench.sandbox import leftovers
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
