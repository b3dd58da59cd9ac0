"""Finding tasks: of the suite by name, of other packages by entry point, of the user's own by path."""

from __future__ import annotations

import difflib
import os
import warnings
from importlib import metadata
from pathlib import Path
from types import ModuleType

from mlagentbench.errors import TaskError, UsageError
from mlagentbench.task.definition import Definition, Task, read_definition
from mlagentbench.task.original import is_original, load_original

ENTRY_POINTS = "mlagentbench.tasks"
_SUITE = Path(__file__).parent.parent / "suite"


def load_task(name_or_path: str | Path) -> Task:
    """The task of that name (`house-price`, `house-price@1`), or the task in that folder."""
    if isinstance(name_or_path, Path) or _looks_like_path(name_or_path):
        return _from_folder(Path(name_or_path).expanduser().absolute())
    name, _, version = name_or_path.partition("@")
    task = _by_name(name)
    if version and version != str(task.definition.version):
        raise UsageError(
            f"There is no {name_or_path}: this is {task.id}. Results of different versions do not compare; "
            f"leave @{version} out, or install the version of mlagentbench that has it."
        )
    return task


def list_tasks() -> list[Task]:
    """Every task that has a name: the suite's, then those of other packages, each in the order of names."""
    tasks = [_from_folder(folder) for folder in _suite_folders()]
    taken = {task.name for task in tasks}
    for point in sorted(metadata.entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        try:
            task = _from_entry_point(point)
        except TaskError as error:
            warnings.warn(str(error), stacklevel=2)
            continue
        if task.name not in taken:
            taken.add(task.name)
            tasks.append(task)
    return tasks


def is_installed(name: str) -> bool:
    """Whether a task has that name here, wherever the command was started: of the suite, or of a package."""
    if _looks_like_path(name) or not name:
        return False
    return (_SUITE / name / "task.toml").is_file() or any(
        point.name == name for point in metadata.entry_points(group=ENTRY_POINTS)
    )


def in_suite(task: Task) -> bool:
    """Whether it is one of the benchmark's own."""
    return task.folder.parent == _SUITE


def _looks_like_path(text: str) -> bool:
    return os.sep in text or text.startswith((".", "~"))


def _by_name(name: str) -> Task:
    if (_SUITE / name / "task.toml").is_file():
        return _from_folder(_SUITE / name)
    points = {point.name: point for point in metadata.entry_points(group=ENTRY_POINTS)}
    if name in points:
        return _from_entry_point(points[name])
    if (folder := Path(name).absolute()).is_dir() and (
        is_original(folder) or (folder / "task.toml").is_file()
    ):
        return _from_folder(folder)
    names = sorted({folder.name for folder in _suite_folders()} | points.keys())
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5) or difflib.get_close_matches(
        name.lower().replace("_", "-"), names, n=1, cutoff=0.5
    )
    advice = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(names) or 'none'}."
    raise UsageError(
        f"There is no task {name!r}. {advice} A task of your own is given as the path of its folder."
    )


def _suite_folders() -> list[Path]:
    return sorted(file.parent for file in _SUITE.glob("*/task.toml"))


def _from_folder(folder: Path) -> Task:
    if not folder.is_dir():
        raise UsageError(f"There is no task folder {folder}; `mlagentbench new-task NAME` makes one.")
    if (folder / "task.toml").is_file():
        definition = read_definition(folder / "task.toml")
        _check(definition, folder)
        return Task(definition, folder)
    if is_original(folder):
        return load_original(folder)
    raise TaskError(
        f"{folder} is not a task: it has neither a task.toml nor env/ and scripts/ in the original's format; "
        "`mlagentbench new-task NAME` makes a folder to start from."
    )


def _from_entry_point(point: metadata.EntryPoint) -> Task:
    owner = point.dist.name if point.dist else "another package"
    try:
        target = point.load()
        if callable(target):
            target = target()
    except Exception as error:
        raise TaskError(
            f"The task {point.name!r} of {owner} cannot be loaded: {type(error).__name__}: {error}. "
            f"Mend or uninstall {owner}."
        ) from error
    if isinstance(target, ModuleType):
        target = next(iter(getattr(target, "__path__", ())), None) or Path(str(target.__file__)).parent
    if not isinstance(target, str | os.PathLike):
        raise TaskError(
            f"The task {point.name!r} of {owner} is a {type(target).__name__}; its entry point must give "
            "the path of a task folder, a function that gives one, or a package whose folder is the task."
        )
    task = _from_folder(Path(target).absolute())
    if task.name != point.name:
        raise TaskError(f"The task {point.name!r} of {owner} calls itself {task.name!r} in its task.toml.")
    return task


def _check(definition: Definition, folder: Path) -> None:
    """That the folder holds what its definition speaks of."""
    needed = ["problem.md", "prepare.py", "grade.py", f"starter/{definition.entry}"]
    if definition.program is not None:
        needed.append("infer.py")
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing:
        raise TaskError(f"The task folder {folder} lacks {', '.join(missing)}; see docs/own-tasks.md.")
    for field in ("submission", "entry"):
        path = Path(getattr(definition, field))
        if path.is_absolute() or ".." in path.parts:
            raise TaskError(
                f"{field} in {folder / 'task.toml'} must be a path inside the workspace, not {path}."
            )
