"""`prepare` on a disk that is full: it is told as that, with the place, and never as a fault of the task or of pip."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PREPARE = "import sys; from mlagentbench.cli.main import main; main(sys.argv[1:])"


def prepare_with_little_space(task: Path, cache: Path, size: int) -> subprocess.CompletedProcess[str]:
    """`prepare` with a cache of so many bytes, on a file system of its own."""
    bubblewrap = shutil.which("bwrap")
    if not bubblewrap:
        pytest.skip("bubblewrap is needed to make a small disk")
    cache.mkdir()
    small_disk = [
        *(bubblewrap, "--bind", "/", "/", "--dev-bind", "/dev", "/dev"),
        *("--size", str(size), "--tmpfs", str(cache)),
    ]
    command = [sys.executable, "-c", PREPARE, "prepare", str(task)]
    environment = {**os.environ, "MLAGENTBENCH_CACHE": str(cache)}
    return subprocess.run(
        [*small_disk, *command], env=environment, capture_output=True, text=True, check=False
    )


def test_no_space_for_the_interpreter(own_task: Path, tmp_path: Path):
    ran = prepare_with_little_space(own_task, tmp_path / "small", 8192)
    assert ran.returncode == 1
    assert f"The disk of {tmp_path / 'small'}" in ran.stderr and "is full" in ran.stderr, ran.stderr
    assert "python3-venv" not in ran.stderr


def test_no_space_for_the_data(own_task: Path, tmp_path: Path):
    script = own_task / "prepare.py"
    text = script.read_text()
    body = text.index(":\n", text.index("def prepare")) + 2
    filling = "    with open(public / 'large', 'wb') as file:\n        file.write(bytes(90_000_000))\n"
    script.write_text(text[:body] + filling + text[body:])
    ran = prepare_with_little_space(own_task, tmp_path / "small", 60_000_000)
    assert ran.returncode == 1
    assert f"The disk of {tmp_path / 'small'}" in ran.stderr and "is full" in ran.stderr, ran.stderr
    assert "fix the task" not in ran.stderr and "MLAGENTBENCH_CACHE" in ran.stderr
