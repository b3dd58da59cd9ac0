"""How a prepared task appears in a workspace: what is copied into it, and what is only shown there."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from mlagentbench.errors import TaskError
from mlagentbench.folders import cache_folder, signing_key_file
from mlagentbench.task.definition import Task
from mlagentbench.task.preparation import Prepared


@dataclass(frozen=True)
class Layout:
    """Paths in the workspace, each with the host's file or folder that is copied or shown there."""

    copied: dict[str, Path]
    read_only: dict[str, Path]

    def lay(self, workspace: Path, overlay: Path | None = None) -> None:
        """Fill an empty folder with the copied files, and with those of `overlay` over them."""
        workspace.mkdir(parents=True, exist_ok=True)
        for place, source in self.copied.items():
            _copy(source, workspace / place)
        if overlay is not None:
            for place, source in files_of(overlay).items():
                if any(place == shown or place.startswith(f"{shown}/") for shown in self.read_only):
                    raise TaskError(
                        f"{source} would replace {place}, which is read-only. Take it out of {overlay}."
                    )
                _copy(source, workspace / place)


def layout(prepared: Prepared) -> Layout:
    """All of `public/`, shown; the starter's files, copied or, where the task says so, shown."""
    shown = {entry.name: entry for entry in sorted(prepared.public.iterdir())}
    copied: dict[str, Path] = {}
    for place, source in files_of(prepared.starter).items():
        if any(fnmatch(place, glob) for glob in prepared.task.definition.read_only):
            shown[place] = source
        elif place.partition("/")[0] in shown:
            raise TaskError(
                f"{source} and the prepared data both want to be {place} in the workspace; rename one."
            )
        else:
            copied[place] = source
    return Layout(copied, shown)


def files_of(folder: Path) -> dict[str, Path]:
    """Every file below `folder`, by its path in it; empty folders and caches of compiled code left out."""
    if not folder.is_dir():
        raise TaskError(f"{folder} does not exist, but the task needs it.")
    found: dict[str, Path] = {}
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = Path(root) / name
            found[path.relative_to(folder).as_posix()] = path
    return found


def overlay_of(task: Task, kind: str) -> Path | None:
    """The files that make the starter into `plain` or `oracle`; None for the starter itself."""
    folder = {"starter": None, "plain": task.folder / "plain", "oracle": task.folder / "solution"}[kind]
    if folder is not None and not folder.is_dir():
        raise TaskError(f"{task.id} has no {folder.name}/ folder, so there is no {kind} for it.")
    return folder


def hidden_folders() -> tuple[Path, ...]:
    """What code in the sandbox must not see even where a visible folder contains it: this package, with every task's
    solution, the prepared data, with every answer, and the key that signs verdicts."""
    cache = cache_folder()
    return (Path(__file__).parents[1], cache / "data", cache / "downloads", signing_key_file())


def program_environment(seed: int) -> dict[str, str]:
    """What a program finds in its environment: the run's seed, and what libraries cannot find out in a sandbox."""
    return {"SEED": str(seed), "LOKY_MAX_CPU_COUNT": str(len(os.sched_getaffinity(0)))}


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)
