"""The parts below the backends: the filter, the count of a workspace, control groups, sentences, defaults."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.errors import SandboxUnavailableError, UsageError
from mlagentbench.sandbox import (
    LimitReached,
    ResourceLimits,
    cgroup,
    choose,
    default_limits,
    diagnose,
    disk,
    seccomp,
)
from mlagentbench.sandbox.tree import Descendants, continue_all, stop_all

ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000


def decide(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """The kernel's interpreter of such filters, as far as ours needs it."""
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    code = list(struct.iter_unpack("=HBBI", program))
    accumulator = at = 0
    while True:
        operation, if_true, if_false, value = code[at]
        at += 1
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, value)[0]
        elif operation == 0x54:
            accumulator &= value
        elif operation == 0x15:
            at += if_true if accumulator == value else if_false
        elif operation == 0x35:
            at += if_true if accumulator >= value else if_false
        else:
            assert operation == 0x06
            return value


X86, ARM = 0xC000003E, 0xC00000B7
MACHINES = [("x86_64", X86), ("aarch64", ARM)]


@pytest.mark.parametrize(("machine", "architecture"), MACHINES)
def test_filter_kills_calls_of_other_architectures(machine: str, architecture: int):
    program = seccomp.filter_program(machine=machine)
    assert decide(program, 0x40000003, 1) == KILL
    assert decide(program, architecture, 63) == ALLOW


@pytest.mark.parametrize(("machine", "architecture", "ptrace"), [("x86_64", X86, 101), ("aarch64", ARM, 117)])
def test_filter_refuses_tracing(machine: str, architecture: int, ptrace: int):
    assert decide(seccomp.filter_program(machine=machine), architecture, ptrace) == ERRNO | 1


def test_filter_knows_x32_from_its_numbers():
    assert decide(seccomp.filter_program(machine="x86_64"), X86, 0x40000000 + 39) == ERRNO | 38


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 0xFFFF))
def test_filter_allows_sockets_of_the_given_families_only(family: int, kind: int):
    everything = seccomp.filter_program(machine="x86_64")
    assert (decide(everything, X86, 41, family, kind) == ALLOW) == (family in (1, 2, 10, 16))
    local = seccomp.filter_program(network=False, machine="x86_64")
    for call in (41, 53):
        assert (decide(local, X86, call, family, kind) == ALLOW) == (family == 1 and kind & 0xF in (1, 5))


@given(st.integers(0, 0o7777), st.integers(0, 0xFFFFFFF))
def test_filter_lets_no_file_get_a_set_id_bit(mode: int, flags: int):
    program = seccomp.filter_program(machine="x86_64")
    assert (decide(program, X86, 90, 0, mode) == ALLOW) == (not mode & 0o6000)
    creates = flags & (os.O_CREAT | 0o20000000)
    assert (decide(program, X86, 257, 0, 0, flags, mode) == ALLOW) == (not (creates and mode & 0o6000))


@given(st.integers(0, 0xFFFFFFFF), st.booleans())
def test_filter_lets_no_clone_make_a_namespace(flags: int, one_process: bool):
    program = seccomp.filter_program(machine="x86_64", one_process=one_process)
    threads_only = not one_process or bool(flags & 0x10000)
    assert (decide(program, X86, 56, flags) == ALLOW) == (not flags & 0x7E020000 and threads_only)


def test_filter_without_namespaces_lets_file_systems_change_nothing_through_descriptors_for_reading():
    program = seccomp.filter_program(shares_host=True, machine="x86_64")
    reads, clones, terminal = (0x80086601, 0x801C581F), (0x40049409, 0x4020940D), (0x5401, 0x5413)
    for request in (*reads, *clones, *terminal):
        assert decide(program, X86, 16, 3, request) == ALLOW
    flags, verity, snapshot = (0x40086602, 0x401C5820), 0x40806685, 0x50009417
    for request in (*flags, verity, snapshot):
        assert decide(program, X86, 16, 3, request) == ERRNO | 25


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_filter_without_a_broker_answers_changes_of_modes_as_done(machine: str):
    asks = ("chmod", "fchmod", "fchmodat", "utimensat", "connect")
    numbers = {"x86_64": (X86, 91, 42), "aarch64": (ARM, 52, 203)}
    architecture, fchmod, connect = numbers[machine]
    asking = seccomp.filter_program(shares_host=True, network=False, asks=asks, machine=machine)
    alone = seccomp.filter_program(shares_host=True, network=False, asks=asks, broker=False, machine=machine)
    assert decide(asking, architecture, fchmod) == decide(asking, architecture, connect) == 0x7FC00000
    assert decide(alone, architecture, fchmod) == ERRNO
    assert decide(alone, architecture, connect) == ERRNO | 1


def test_filter_of_an_unknown_machine_says_what_to_use_instead():
    with pytest.raises(SandboxUnavailableError, match="--sandbox docker"):
        seccomp.filter_program(machine="vax")


def test_workspace_is_counted_without_following_links(tmp_path: Path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "file").write_bytes(bytes(100_000))
    (tmp_path / "link").symlink_to("/usr")
    (tmp_path / "loop").symlink_to(".")
    found = disk.measure(tmp_path, 1000)
    assert found.entries == 4
    assert 100_000 <= found.size < 130_000


def test_counting_ends_beyond_the_limit(tmp_path: Path):
    for number in range(50):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "x").touch()
    assert 50 <= disk.measure(tmp_path, 10).entries < 60


def test_a_very_deep_tree_is_counted_and_removed_with_few_descriptors(tmp_path: Path):
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("deep", dir_fd=here)
        deeper = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    os.close(here)
    assert disk.measure(top, 100_000).entries == 3000
    disk.remove(top)
    assert not top.exists()


def test_removing_needs_no_permission_of_the_folders_in_it(tmp_path: Path):
    inner = tmp_path / "top" / "locked" / "inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    inner.chmod(0)
    inner.parent.chmod(0)
    disk.remove(tmp_path / "top")
    assert list(tmp_path.iterdir()) == []


def test_processes_stand_still_until_they_are_continued():
    with subprocess.Popen(["sh", "-c", "sleep 30 & sleep 30"]) as process:
        tree = Descendants(process.pid, inclusive=True)
        while sum(Path(f"/proc/{pid}/comm").read_text() == "sleep\n" for pid in tree.pids()) < 2:
            pass
        try:
            stop_all(tree)
            stopped = {member.state for member in tree.members()}
            continue_all(tree)
            continued = {member.state for member in tree.members()}
        finally:
            for pid in reversed(tree.pids()):
                os.kill(pid, 9)
    assert stopped == {"T"} and continued <= {"S", "R"}


def test_a_process_that_waits_for_a_stopped_child_to_start_does_not_hold_things_up():
    """A parent in vfork cannot be stopped while its child has not come to another program: it stands still anyway."""
    code = "import ctypes; libc = ctypes.CDLL(None); libc.vfork() or [libc.kill(libc.getpid(), 19), libc._exit(0)]"
    with subprocess.Popen([sys.executable, "-I", "-S", "-c", code]) as process:
        tree = Descendants(process.pid, inclusive=True)
        while sorted(member.state for member in tree.members()) != ["D", "T"]:
            pass
        try:
            stop_all(tree)
            states = sorted(member.state for member in tree.members())
        finally:
            for pid in reversed(tree.pids()):
                os.kill(pid, 9)
    assert states == ["D", "T"]


def test_control_group_holds_processes_and_is_removed(tmp_path: Path):
    found = cgroup.hierarchies()
    if "processes" not in found.kinds():
        pytest.skip("no control group can be made here")
    limits = ResourceLimits(10, 1 << 28, 5, 1 << 20, 10, 10)
    group = cgroup.Group(found, limits, overhead=0, freezable=True)
    script = "read go; for i in 1 2 3 4 5 6 7 8 9; do sleep 5 & done; wait"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        group.add(process.pid)
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.close()
        while group.reached() is None:
            pass
        group.kill()
    assert group.reached() == LimitReached("processes", 5)
    group.remove()
    groups = [
        path for folder in (found.pids, found.unified) if folder for path in folder.glob(f"*{os.getpid()}-*")
    ]
    assert groups == []


def test_sentences_name_the_limit_and_its_value():
    assert (
        LimitReached("memory", 4e9).sentence()
        == "It was stopped: it used more memory than the limit of 4 GB."
    )
    assert LimitReached("time", 600).sentence() == "It was stopped: it ran longer than the limit of 10 m."
    assert LimitReached("processes", 64).sentence().endswith("processes and threads than the limit of 64.")
    assert LimitReached("files", 100).sentence().endswith("more files than the limit of 100.")


def test_default_limits_fit_the_machine(tmp_path: Path):
    limits = default_limits(tmp_path)
    assert limits.seconds == 600
    assert 10**9 <= limits.memory <= max(10**9, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2)
    assert limits.disk <= 10 * 10**9
    assert limits.processes >= 256


def test_a_wrong_name_is_answered_with_the_nearest_right_one():
    with pytest.raises(UsageError, match="Did you mean docker"):
        choose("dockr")


def test_every_backend_is_diagnosed_and_those_that_fail_say_why():
    findings = {finding.backend: finding for finding in diagnose()}
    assert set(findings) == {"bwrap", "namespaces", "landlock", "docker", "podman", "apptainer"}
    for finding in findings.values():
        assert finding.detail.endswith(".") or not finding.works
        assert finding.detail
