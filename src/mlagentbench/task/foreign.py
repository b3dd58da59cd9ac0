"""Data of original task folders. Their `scripts/prepare.py` is foreign code: it runs in the sandbox, on a copy."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

from mlagentbench.errors import PreparationError
from mlagentbench.sandbox import Interpreter, Job, Sandbox, choose, default_limits
from mlagentbench.task.definition import Task
from mlagentbench.task.manifest import walk
from mlagentbench.task.progress import Lines, Progress, silent

_SECONDS = 6 * 3600.0
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_FILES = 1_000_000
# As the original ran it: from inside of scripts/, with env/ beside it.
_START = """
import os, runpy, sys
os.chdir("scripts")
sys.path.insert(0, os.getcwd())
sys.argv = ["prepare.py"]
runpy.run_path("prepare.py", run_name="__main__")
"""


def make_original(
    task: Task,
    building: Path,
    interpreter: Interpreter,
    *,
    sandbox: Sandbox | None,
    network: bool,
    progress: Progress | None,
) -> None:
    """Fill `building` with `public/` (what of `env/` is read-only), `starter/` (the rest of it), and `private/`
    (what `scripts/` holds, the answers that its script wrote there included)."""
    work = building / "work"
    work.mkdir()
    try:
        for part in ("env", "scripts"):
            shutil.copytree(task.folder / part, work / part, symlinks=True)
    except shutil.Error as error:
        told = "; ".join(str(reason) for _, _, reason in error.args[0])
        raise PreparationError(f"{task.folder} cannot be copied: {told}.") from None
    if (work / "scripts" / "prepare.py").is_file() and not (work / "scripts" / "prepared").exists():
        said = _run(task, work, interpreter, sandbox or choose(), network, progress)
        if (work / "env").is_dir() and not (work / "env").is_symlink():
            _check_data(task, work / "env", said)
    for part in ("env", "scripts"):
        if (work / part).is_symlink() or not (work / part).is_dir():
            raise PreparationError(
                f"scripts/prepare.py of {task.folder} has put something else in place of {part}/."
            )
    (work / "env").rename(building / "starter")
    (work / "scripts").rename(building / "private")
    shutil.rmtree(work)
    _set_apart(building / "starter", building / "public", task.definition.read_only)


def _run(
    task: Task,
    work: Path,
    interpreter: Interpreter,
    sandbox: Sandbox,
    network: bool,
    progress: Progress | None,
) -> str:
    """Run the script; the end of what it said."""
    (progress or silent)(f"Running scripts/prepare.py of {task.name} in the sandbox ({sandbox.name}).")
    lines = Lines(progress)
    job = Job(
        argv=(str(interpreter.python), "-c", _START),
        workspace=work,
        limits=replace(default_limits(work), seconds=_SECONDS, files=_FILES),
        interpreter=interpreter,
        network=network,
    )
    result = sandbox.run(job, lines.feed)
    lines.close()
    if result.limit is not None:
        raise PreparationError(
            f"scripts/prepare.py of {task.folder} was stopped: {result.limit.sentence()} It said:\n{lines.tail()}"
        )
    if result.exit_status != 0:
        ended = f"status {result.exit_status}" if result.signal is None else f"signal {result.signal}"
        raise PreparationError(
            f"scripts/prepare.py of {task.folder} ended with {ended}.{_advice(lines.tail(), network)} It said:\n"
            f"{lines.tail()}"
        )
    return lines.tail()


def _advice(said: str, network: bool) -> str:
    """What helps, by what the script said last."""
    if "EOFError" in said:
        return (
            " It waits for a person at input(), and nobody is there. Do what it asks for by hand: put its files into "
            "env/ and scripts/, and an empty file `prepared` into scripts/."
        )
    if module := _NO_MODULE.search(said):
        name = module[1].partition(".")[0]
        return (
            f" It needs the library {name!r}: name it with its version under `requirements` in a mlagentbench.toml "
            "beside env/, or give an interpreter that has it with --python."
        )
    return "" if network else " If it downloads something, allow it with --network on."


def _check_data(task: Task, env: Path, said: str) -> None:
    """A script that runs programs to download something often does not notice that they failed. The data are there if
    something is that its list of read-only files names."""
    globs = task.definition.read_only
    paths = [path for path, _ in walk(env)]
    if globs and not any(fnmatch(path, glob) for path in paths for glob in globs):
        names = ", ".join(glob for glob in globs if not glob.endswith("/*")) or ", ".join(globs)
        raise PreparationError(
            f"scripts/prepare.py of {task.folder} ended without an error, but made no data: of what "
            f"scripts/read_only_files.txt names ({names}) there is nothing in env/. If it downloads something, allow "
            f"it with --network on; or get the files by hand. It said:\n{said}"
        )


def _set_apart(starter: Path, public: Path, globs: tuple[str, ...]) -> None:
    """Move files and folders that the agent may not change at all from `starter` to `public`, where a folder is
    shown as one. Single files in folders that it may change stay; the globs keep them from it."""
    public.mkdir()
    for entry in sorted(starter.iterdir()):
        paths = [entry.name]
        if entry.is_dir() and not entry.is_symlink():
            paths = [f"{entry.name}/{path}" for path, _ in walk(entry)]
        if paths and all(any(fnmatch(path, glob) for glob in globs) for path in paths):
            entry.rename(public / entry.name)
