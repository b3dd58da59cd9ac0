"""Folders of this machine that programs in the sandbox may read: the installation of a program, for one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.sandbox import Mount
from mlagentbench.task.interpreter import interpreter_for
from mlagentbench.task.layout import hidden_folders

_SHOWN_ANYWAY = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def checked_folder(folder: Path) -> Path:
    """`folder` as it is shown; refused if it is not there, or if answers or the user's own files lie in it."""
    folder = folder.expanduser().absolute()
    if not folder.exists():
        raise UsageError(
            f"There is no {folder} to be shown to the program. Give a folder or file that exists."
        )
    real = folder.resolve()
    for place in (*(hidden.resolve() for hidden in hidden_folders()), Path.home().resolve()):
        if place.is_relative_to(real):
            raise UsageError(
                f"{folder} cannot be shown to the program: {place} lies in it. Give a folder below it."
            )
    return folder


def mounts_of(folders: Iterable[Path]) -> tuple[Mount, ...]:
    """Each at its own path, and for a virtual environment also the interpreter that it was made from."""
    shown: list[Path] = []
    for folder in folders:
        shown.append(folder)
        python = folder / "bin" / "python"
        if (folder / "pyvenv.cfg").is_file() and python.exists():
            shown += interpreter_for((), str(python)).roots
    kept: list[Path] = []
    for folder in sorted(set(shown), key=lambda folder: len(folder.parts)):
        if not is_shown(folder, kept):
            kept.append(folder)
    return tuple(Mount(folder, str(folder)) for folder in kept)


def is_shown(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a program sees what lies at `path`: in a folder that is shown to it, or in the system's own."""
    return any(path.is_relative_to(folder) for folder in (*map(Path, _SHOWN_ANYWAY), *folders))
