"""Runs by what people call them: a path, an id, the beginning of one, or `last`."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.record import RunFolder, find_runs


def find_run(name: str | Path, folder: str | Path = "runs") -> RunFolder:
    """The one run that `name` can mean; ids are looked up in `folder`."""
    if (Path(name) / "run.json").is_file():
        return RunFolder.open(name)
    root = Path(folder)
    if not root.is_dir():
        raise UsageError(
            f"{name} is not the path of a run, and there is no folder {root} to look in. Say which with --folder."
        )
    runs = find_runs([root])
    if not runs:
        raise UsageError(f"There are no runs in {root} yet. `mlagentbench run TASK` makes one.")
    if str(name) == "last":
        return newest(runs)
    found = [run for run in runs if run.path.name.startswith(str(name))]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(f"{name!r} begins {len(found)} runs in {root}; give more of it.")
    near = get_close_matches(str(name), [run.path.name for run in runs], 1)
    hint = f"Did you mean {near[0]}?" if near else "`mlagentbench list --runs` shows them."
    raise UsageError(f"There is no run {name!r} in {root}. {hint}")


def newest(runs: list[RunFolder]) -> RunFolder:
    """The run that was started last; ids tell it to the second, what was asked of the run does the rest."""
    second = runs[-1].path.name[: len("20260101-120000")]
    return max(
        (run for run in runs if run.path.name.startswith(second)), key=lambda run: run.request().created
    )


def find_all(names: tuple[str, ...], folder: Path) -> list[RunFolder]:
    """Each name's run; a folder of runs stands for all runs in it."""
    found: list[RunFolder] = []
    for name in names:
        place = Path(name)
        if place.is_dir() and not (place / "run.json").is_file():
            inside = find_runs([place])
            if not inside:
                raise UsageError(f"There are no runs in {place}.")
            found += inside
        else:
            found.append(find_run(name, folder))
    return found
