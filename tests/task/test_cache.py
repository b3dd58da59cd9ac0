from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mlagentbench.folders import cache_folder
from mlagentbench.task.cache import locked, write_durably

HOLDER = """
import sys
from pathlib import Path
from mlagentbench.task.cache import locked
with locked(Path(sys.argv[1]), "it"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_the_cache_is_where_the_user_says(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.delenv("MLAGENTBENCH_CACHE", raising=False)
    assert cache_folder() == tmp_path / "xdg" / "mlagentbench"
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"


def test_without_a_word_it_is_the_platforms_place_for_caches(tmp_path, monkeypatch):
    monkeypatch.delenv("MLAGENTBENCH_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/not/valid")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder() == tmp_path / ".cache" / "mlagentbench"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == tmp_path / "Library" / "Caches" / "mlagentbench"


def test_a_lock_is_waited_for_with_a_word_and_freed_by_a_kill(tmp_path: Path):
    file = tmp_path / "locks" / "it.lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
    said: list[str] = []

    def tell(line: str) -> None:
        said.append(line)
        holder.kill()

    with locked(file, "the thing", tell):
        pass
    assert said == ["Another process is making the thing; waiting for it."]
    holder.communicate()


def test_a_failed_write_leaves_the_file_as_it_was(tmp_path: Path):
    file = tmp_path / "file.json"
    write_durably(file, b"first")
    with pytest.raises(TypeError):
        write_durably(file, "text is no bytes")  # type: ignore[arg-type]
    assert file.read_bytes() == b"first"
    write_durably(file, b"second", mode=0o600)
    assert file.read_bytes() == b"second"
    assert file.stat().st_mode & 0o777 == 0o600
