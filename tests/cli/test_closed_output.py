"""Whoever reads the output may go away, and the disk may be full: the work goes on, or can be gone on with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cli.conftest import COMMAND

from mlagentbench.record.folder import RunFolder
from mlagentbench.record.summary import read_summary


def closed(place, *arguments: object) -> subprocess.CompletedProcess[str]:
    """The command, with an output that nobody reads from the beginning."""
    line = " ".join(f"'{each}'" for each in (COMMAND, *arguments))
    return subprocess.run(
        ["bash", "-c", f"exec 3>&2; {{ {line} 2>&3; echo status $? >&3; }} | true"],
        cwd=place.folder,
        env=place.environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("command", ["run", "experiment"])
def test_a_run_goes_on_when_nobody_reads_what_it_shows(place, command: str):
    named = ["run", place.task] if command == "run" else ["experiment", "-t", place.task]
    done = closed(place, *named, "-a", "starter")
    assert "nobody reads the output any more" in done.stderr and done.stderr.count("nobody reads") == 1
    assert "status 0" in done.stderr and "Traceback" not in done.stderr and "Exception" not in done.stderr
    (file,) = place.folder.glob("runs/*/*/*/*/run.json")
    assert read_summary(RunFolder.open(file.parent)).grade is not None


def test_a_command_that_only_shows_ends_without_a_word(place):
    place("run", place.task, "-a", "starter")
    for arguments in (("show", "last"), ("list",), ("list", "--runs", "--json")):
        done = closed(place, *arguments)
        assert done.stderr.split() in (["status", "1"], ["status", "0"]), done.stderr


def test_a_full_disk_is_told_with_the_path_and_how_to_go_on(place, tmp_path: Path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "none", small], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no small file system can be made here: {mounted.stderr.strip()}")
    try:
        fill = "import os; open('f', 'wb').write(os.urandom(10**6))"
        done = place(
            "run", place.task, "-a", "command", "--command", f'python3 -c "{fill}"; sleep 1', "-o", small, "-c",
            "settle=0.2", status=1,
        )  # fmt: skip
    finally:
        subprocess.run(["umount", "--lazy", small], check=True)
    assert "The disk is full" in done.stderr and str(small) in done.stderr
    assert f"mlagentbench resume {small}" in done.stderr and "Traceback" not in done.stderr
