"""A person's own folder as something to work on: what is told of it, how its copy is laid out, what code runs on."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

from mlagentbench.environment.actions.files import printable
from mlagentbench.errors import UsageError
from mlagentbench.record.request import OwnProblem
from mlagentbench.sandbox.spec import Interpreter
from mlagentbench.task.definition import Definition, Metric, Task, Variant
from mlagentbench.task.interpreter import persons_interpreter
from mlagentbench.task.layout import Layout
from mlagentbench.task.preparation import Prepared
from mlagentbench.workspace.surveying import COPY_LIMIT, Survey, copy_folder, survey

VARIANT = "own"
_PROMPT = Path(__file__).with_name("prompts") / "own_problem.txt"
_OWN_ENVIRONMENTS = (".venv", "venv")


def own_problem(
    folder: str | Path, wish: str, *, leave_out: Iterable[str] = (), copy_limit: int | None = None, asks: bool
) -> tuple[OwnProblem, Survey]:
    """The problem that `folder` and `wish` make, and what of the folder is copied, shown and left out."""
    place = Path(folder).expanduser().resolve()
    if not place.is_dir():
        raise UsageError(f"There is no folder {folder}. Name the folder of your project.")
    if not str(place).isprintable():
        raise UsageError(f"The path {printable(str(place))} has characters that cannot be kept; rename it.")
    if not wish.strip():
        raise UsageError("Say what you want, in words after the folder.")
    found = survey(place, leave_out, COPY_LIMIT if copy_limit is None else copy_limit)
    problem = OwnProblem(
        folder=str(place),
        wish=wish,
        asks=asks,
        shown=tuple(found.shown),
        left_out=tuple(map(printable, found.left_out)),
        modules=_modules(place),
    )
    return problem, found


def _modules(folder: Path) -> tuple[str, ...]:
    """Where the packages of a project lie, so that they are found wherever a script starts."""
    if not any((folder / name).is_file() for name in ("pyproject.toml", "setup.py", "setup.cfg")):
        return ()
    return ("src",) if (folder / "src").is_dir() else (".",)


def python_for(folder: Path, asked: str | None) -> str:
    """The interpreter that was asked for; else that of the folder's own environment, the active one's, the system's."""
    if asked:
        return asked
    active = os.environ.get("VIRTUAL_ENV")
    for place in (*(folder / name for name in _OWN_ENVIRONMENTS), *([Path(active)] if active else [])):
        if os.access(place / "bin" / "python", os.X_OK):
            return str(place / "bin" / "python")
    found = shutil.which("python3") or shutil.which("python")
    if found is None:
        raise UsageError("There is no Python on your PATH; name one with --python.")
    return found


def own_prepared(own: OwnProblem, python: str) -> Prepared:
    """What a run needs of a task, with nothing to prepare and nothing to grade."""
    folder = Path(own.folder)
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", folder.name).strip("-_") or "folder"
    definition = Definition(
        name=name,
        title=folder.name or "/",
        modality="own",
        metric=Metric(name="none"),
        submission=".",
        entry="",
        variants={VARIANT: Variant(description="a copy of a person's own folder")},
    )
    interpreter = _without_originals(persons_interpreter(python), folder)
    task = Task(definition, folder, origin="own")
    return Prepared(task, VARIANT, 0, folder, folder, folder, interpreter, digest="")


def _without_originals(interpreter: Interpreter, folder: Path) -> Interpreter:
    """Without folders of the project that the environment was told to import from: the copy takes their place."""
    environment, *others = interpreter.roots
    kept = [root for root in others if not root.is_relative_to(folder)]
    return replace(interpreter, roots=(environment, *kept))


def module_path(own: OwnProblem | None, seen_as: str) -> dict[str, str]:
    """Lets Python find the copy's own packages before installed ones, as an editable installation would."""
    if own is None or not own.modules:
        return {}
    return {"PYTHONPATH": ":".join(str(Path(seen_as) / place) for place in own.modules)}


def own_text(own: OwnProblem) -> str:
    """What the agent is told."""
    places = []
    if own.shown:
        places.append(f"- Read-only, because of their size: {_listed(own.shown)}")
    if own.left_out:
        places.append(f"- Not in the copy: {_listed(own.left_out)}")
    return Template(_PROMPT.read_text(encoding="utf-8")).substitute(
        name=Path(own.folder).name or "/",
        wish=own.wish.strip(),
        places="".join(f"{line}\n" for line in places),
    )


def _listed(paths: tuple[str, ...], most: int = 20) -> str:
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


@dataclass(frozen=True)
class _Copy(Layout):
    source: Path
    without: frozenset[str]

    def lay(self, workspace: Path, overlay: Path | None = None) -> None:
        try:
            copy_folder(self.source, workspace, self.without)
        except OSError as error:
            raise UsageError(
                f"{self.source} could not be copied: {error}. Mend that, and try again."
            ) from None


def own_layout(own: OwnProblem) -> Layout:
    """The copy, and what is shown in it from where it lies."""
    source = Path(own.folder)
    shown = {place: source / place for place in own.shown}
    return _Copy(copied={}, read_only=shown, source=source, without=frozenset((*own.shown, *own.left_out)))
