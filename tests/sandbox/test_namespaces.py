"""The launcher of namespaces: what it does where bubblewrap is missing, on older kernels, and when it is killed."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from programs import processes_with, python, run

from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox import Mount, choose, namespaces
from mlagentbench.sandbox.bwrap import Program


@pytest.fixture(autouse=True)
def _works() -> None:
    try:
        choose("namespaces")
    except SandboxUnavailableError as error:
        pytest.skip(str(error))


class OnAnOlderKernel(namespaces.NamespacesSandbox):
    """As if the kernel could not restrict a whole tree of mounts at once: no call has that number."""

    def _program(self) -> Program:
        command = list(super()._program().command)
        code = command.index("-c") + 1
        changed = "import namespaces_launcher as l; l._MOUNT_SETATTR = 100_000; l.main()"
        command[code] = command[code].replace("from namespaces_launcher import main; main()", changed)
        assert changed in command[code]
        return Program(tuple(command), (0, 8))


@pytest.mark.parametrize("kind", [namespaces.NamespacesSandbox, OnAnOlderKernel], ids=["newer", "older"])
def test_whatever_is_mounted_below_a_folder_is_read_only_with_it(
    kind: type[namespaces.NamespacesSandbox], tmp_path: Path
):
    below = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
    if not any(place.startswith("/sys/") for place in below):
        pytest.skip("nothing is mounted below /sys")
    job = python("print(open('/proc/mounts').read())", tmp_path, mounts=(Mount(Path("/sys"), "/shown"),))
    lines = [line.split() for line in run(kind(), job).output.splitlines() if "/shown" in line]
    assert len(lines) > 1
    for _, place, _, options, *_ in lines:
        assert {"ro", "nosuid", "nodev"} <= set(options.split(",")), place


def test_it_is_the_default_where_bubblewrap_is_missing(tmp_path: Path):
    found = shutil.which("bwrap")
    code = "from mlagentbench.sandbox import choose; print(choose('auto').name)"
    command = [sys.executable, "-c", code]
    if found:
        hidden = [found, "--bind", "/", "/", "--dev-bind", "/dev", "/dev", "--ro-bind", "/dev/null", found]
        command = [*hidden, *command]
    environment = {key: value for key, value in os.environ.items() if key != "MLAGENTBENCH_SANDBOX"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ran.stdout == "namespaces\n", ran


def test_a_harness_that_is_killed_at_any_moment_leaves_no_process(tmp_path: Path):
    """It is killed at the first sign of each process in turn: the launcher, the first inside, the program."""
    mark = secrets.token_hex(8)
    harness = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from programs import python, run
from mlagentbench.sandbox.namespaces import NamespacesSandbox
print("starts", flush=True)
run(NamespacesSandbox(), python("import time; time.sleep(60) # {mark}", Path({str(tmp_path)!r})))
"""
    for processes in (1, 1, 2, 2, 3, 3):
        with subprocess.Popen([sys.executable, "-c", harness, mark], stdout=subprocess.PIPE) as started:
            assert started.stdout is not None
            assert started.stdout.readline() == b"starts\n"
            while len(processes_with(mark)) < processes + 1:
                pass
            started.send_signal(signal.SIGKILL)
        while processes_with(mark):
            pass


def test_a_flag_that_it_does_not_know_is_refused_and_nothing_runs(tmp_path: Path):
    program = choose("namespaces")._program()  # type: ignore[attr-defined]
    command = [*program.command, "--share-everything", "--", "/bin/echo", "ran"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "--share-everything is not known" in ran.stderr


def test_processor_time_does_not_count_the_launchers_own(tmp_path: Path):
    spent = [run(choose("namespaces"), python("pass", tmp_path)).result.cpu_seconds for _ in range(5)]
    alone = [run(choose("none"), python("pass", tmp_path)).result.cpu_seconds for _ in range(5)]
    assert min(spent) < 3 * min(alone) + 0.01
