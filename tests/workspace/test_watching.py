"""Noticing that files change, from outside, while a program works on them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mlagentbench.workspace import fingerprint


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inner = tmp_path / "watched" / "inner" / "deep"
    inner.mkdir(parents=True)
    (inner / "file").write_text("one")
    (tmp_path / "watched" / "link").symlink_to("inner")
    return tmp_path / "watched"


def rewrite(folder: Path) -> None:
    """The same length, and the same time of change, which anybody can set."""
    file = folder / "inner" / "deep" / "file"
    before = file.stat()
    file.write_text("two")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file is made": lambda folder: (folder / "new").touch(),
    "a folder is made": lambda folder: (folder / "inner" / "new").mkdir(),
    "a file grows": lambda folder: (folder / "inner" / "deep" / "file").open("a").write("more"),
    "a file is written anew": rewrite,
    "a file is removed": lambda folder: (folder / "inner" / "deep" / "file").unlink(),
    "a file is moved": lambda folder: (folder / "inner" / "deep" / "file").rename(folder / "file"),
    "a mode changes": lambda folder: (folder / "inner" / "deep" / "file").chmod(0o600),
    "a link leads elsewhere": lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("x")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_noticed(folder: Path, change: str) -> None:
    before = fingerprint(folder)
    assert fingerprint(folder) == before
    CHANGES[change](folder)
    assert fingerprint(folder) != before


def test_what_a_link_leads_to_is_not_looked_at(folder: Path, tmp_path: Path) -> None:
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "loop").symlink_to(".")
    (tmp_path / "outside").mkdir()
    before = fingerprint(folder)
    (tmp_path / "outside" / "file").touch()
    assert fingerprint(folder) == before


def test_what_cannot_be_listed_is_passed_over(folder: Path) -> None:
    (folder / "locked").mkdir(mode=0o000)
    os.mkfifo(folder / "fifo")
    before = fingerprint(folder)
    (folder / "new").touch()
    assert fingerprint(folder) != before
    (folder / "locked").chmod(0o700)


def test_a_folder_that_is_gone_has_a_fingerprint_too(tmp_path: Path) -> None:
    assert fingerprint(tmp_path / "gone") == fingerprint(tmp_path / "gone as well")
