"""Outputs of a program, broken in ways that a grader must notice."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _remove_one(folder: Path) -> None:
    _files(folder)[-1].unlink()


def _remove_all(folder: Path) -> None:
    for file in _files(folder):
        file.unlink()


def _cut_short(folder: Path) -> None:
    file = _files(folder)[0]
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _garbage(folder: Path) -> None:
    file = _files(folder)[0]
    file.write_bytes(b"\x80\x04garbage" * 20)


def _zeroed(folder: Path) -> None:
    """The last half of each file all zero: headers stay, values do not."""
    for file in _files(folder):
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))


def _one_more(folder: Path) -> None:
    shutil.copyfile(_files(folder)[0], folder / f"another{_files(folder)[0].suffix}")


BREAKINGS: dict[str, Callable[[Path], None]] = {
    "no outputs": _remove_all,
    "a missing output": _remove_one,
    "an output cut short": _cut_short,
    "an output of garbage": _garbage,
    "outputs that are half zeros": _zeroed,
    "an output too many": _one_more,
}
