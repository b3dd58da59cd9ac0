"""The Python that a task's code runs on: a virtual environment of its requirements, or the user's own.

It is never the harness's own environment, because whatever is installed there, this package and with it every
task's solution, could be read by the code that an agent wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mlagentbench.errors import PreparationError
from mlagentbench.folders import cache_folder
from mlagentbench.sandbox.spec import Interpreter
from mlagentbench.task.cache import locked, write_durably
from mlagentbench.task.full_disk import demand_space
from mlagentbench.task.progress import Lines, Progress, silent

_FORMAT = 1
_READY = "mlagentbench-ready.json"
# What pip needs of the environment, and no key of anything else: packages may run code when they are built.
_KEPT_FOR_PIP = re.compile(
    r"PATH|HOME|TMPDIR|LANG|LC_ALL|USER|CC|CXX|XDG_\w+|PIP_\w+|SSL_CERT_\w+|REQUESTS_CA_BUNDLE|\w+_(PROXY|proxy)"
)

_PROBE = """
import importlib.util, json, os, sys
print(json.dumps({
    "python": sys.executable,
    "version": list(sys.version_info[:3]),
    "prefixes": [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix],
    "path": [entry for entry in sys.path if os.path.isdir(entry)],
    "holds_harness": importlib.util.find_spec("mlagentbench") is not None,
}))
"""


def interpreter_for(
    requirements: Sequence[str],
    python: str | None = None,
    progress: Progress | None = None,
    *,
    wheels_only: bool = False,
) -> Interpreter:
    """The interpreter for `requirements`, made now if it is not there yet, or the user's own `python`.

    With `wheels_only` nothing is built: a package that must be is refused, since building runs its code."""
    if python is not None:
        return _own(python)
    folder = _folder_for(requirements)
    if ready := _read_ready(folder):
        return ready
    with locked(folder.with_suffix(".lock"), "the same interpreter", progress) as lock:
        return _read_ready(folder) or _build(folder, requirements, progress or silent, lock, wheels_only)


def persons_interpreter(python: str) -> Interpreter:
    """The interpreter of a person whose own problem is worked on. It may hold this package: there is no answer to
    find, and the sandbox hides the package anyway."""
    return _own(python, may_hold_harness=True)


def find_interpreter(requirements: Sequence[str], python: str | None = None) -> Interpreter | None:
    """The same, if it is ready; nothing is built."""
    return _own(python) if python is not None else _read_ready(_folder_for(requirements))


def _folder_for(requirements: Iterable[str]) -> Path:
    kind = [sys.implementation.cache_tag, *sys.version_info[:3], _base_python()]
    identity = [_FORMAT, kind, sorted(set(requirements))]
    name = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:16]
    # Through links, so that caches which share this folder find what the others made.
    return (cache_folder() / "interpreters").resolve() / name


def _base_python() -> str:
    """The interpreter that the harness's own environment, if it is one, was made from."""
    return str(getattr(sys, "_base_executable", None) or sys.executable)


def _build(
    folder: Path, requirements: Sequence[str], progress: Progress, lock: int, wheels_only: bool
) -> Interpreter:
    if folder.exists():
        progress(f"Removing an interpreter that was never finished: {folder}.")
        shutil.rmtree(folder)
    wanted = sorted(set(requirements))
    progress(f"Making an interpreter for {', '.join(wanted) or 'the standard library alone'}.")
    bare = [] if wanted else ["--without-pip"]
    _run(
        [_base_python(), "-I", "-m", "venv", *bare, str(folder)],
        "The virtual environment could not be made",
        "Install your system's package for venv (python3-venv), or name an interpreter with --python.",
        progress,
        lock,
    )
    python = folder / "bin" / "python"
    if wanted:
        _run(
            [str(python), "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check",
             "--progress-bar", "off", *(("--only-binary", ":all:") if wheels_only else ()), "--", *wanted],
            f"pip could not install {', '.join(wanted)}",
            "Is this machine offline, or is a version not made for this Python? Try again with a connection, "
            "or name an interpreter that has them with --python.",
            progress,
            lock,
        )  # fmt: skip
    found = _probe(python)
    if found["holds_harness"]:
        raise PreparationError(
            f"The requirements {', '.join(wanted)} install this package into the sandbox's interpreter, "
            "where the agent could read the solutions; take it out of them."
        )
    roots = _roots(python, found)
    ready = {"format": _FORMAT, "python": str(python), "roots": list(map(str, roots)), "requirements": wanted}
    write_durably(folder / _READY, json.dumps(ready, indent=1).encode())
    return Interpreter(python, roots)


def _read_ready(folder: Path) -> Interpreter | None:
    try:
        content = json.loads((folder / _READY).read_bytes())
    except (FileNotFoundError, NotADirectoryError, json.JSONDecodeError):
        return None
    python = folder / "bin" / "python"
    if content.get("format") != _FORMAT or content.get("python") != str(python) or not python.exists():
        return None
    return Interpreter(python, tuple(map(Path, content["roots"])))


def _own(python: str, *, may_hold_harness: bool = False) -> Interpreter:
    """The user's interpreter. It is asked once; what it said is kept until it or its folders change."""
    found_at = shutil.which(python)
    if found_at is None:
        raise PreparationError(f"There is no interpreter {python!r}; give --python the path of one.")
    file = Path(found_at).absolute()
    kept_at = (
        cache_folder() / "interpreters" / f"own-{hashlib.sha256(str(file).encode()).hexdigest()[:16]}.json"
    )
    kept = _read_own(kept_at)
    if kept is None:
        found = _probe(file)
        roots = _roots(Path(found["python"]), found)
        stamps = {path: _stamp(path) for path in (str(file), found["python"], *found["path"])}
        kept = {
            "format": _FORMAT,
            "python": found["python"],
            "roots": list(map(str, roots)),
            "holds_harness": found["holds_harness"],
            "stamps": stamps,
        }
        kept_at.parent.mkdir(parents=True, exist_ok=True)
        write_durably(kept_at, json.dumps(kept, indent=1).encode())
    if kept.get("holds_harness") and not may_hold_harness:
        raise PreparationError(
            f"{file} has mlagentbench installed, so an agent could read the solutions with it; "
            "name an interpreter without it, or leave --python out."
        )
    return Interpreter(Path(kept["python"]), tuple(map(Path, kept["roots"])))


def _read_own(kept_at: Path) -> dict[str, Any] | None:
    try:
        kept: dict[str, Any] = json.loads(kept_at.read_bytes())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    same = kept.get("format") == _FORMAT and all(
        _stamp(path) == stamp for path, stamp in kept["stamps"].items()
    )
    return kept if same else None


def _stamp(path: str) -> list[int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_ino, status.st_size]


def _probe(python: Path) -> dict[str, Any]:
    """What an interpreter says of itself."""
    try:
        ended = subprocess.run(
            [str(python), "-I", "-c", _PROBE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
        if ended.returncode != 0:
            raise PreparationError(
                f"{python} does not run: {ended.stderr.decode(errors='replace').strip()[-500:]}"
            )
        answer: dict[str, Any] = json.loads(ended.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        raise PreparationError(f"{python} is not a working Python interpreter: {error}.") from None
    return answer


def _roots(python: Path, found: dict[str, Any]) -> tuple[Path, ...]:
    """Every folder that must be visible for `python` to start: prefixes, its path, each link on the way."""
    folders = [Path(folder) for folder in (*found["prefixes"], *found["path"])]
    hop, hops = python, 0
    while hops < 40:
        folders.append(hop.parent)
        if not hop.is_symlink():
            break
        hop, hops = hop.parent / hop.readlink(), hops + 1
    folders += [folder.resolve() for folder in folders]
    kept: list[Path] = []
    for folder in sorted({Path(os.path.normpath(folder)) for folder in folders}, key=lambda f: len(f.parts)):
        if folder.is_dir() and not any(folder.is_relative_to(other) for other in kept):
            kept.append(folder)
    first = Path(found["prefixes"][0])
    return tuple(sorted(kept, key=lambda folder: folder != first))


def _run(argv: list[str], failed: str, advice: str, progress: Progress, lock: int) -> None:
    """Run a builder with its output streamed; on failure tell its last lines and what to do."""
    lines = Lines(progress)
    environment = {name: value for name, value in os.environ.items() if _KEPT_FOR_PIP.fullmatch(name)}
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment,
        pass_fds=(lock,),
    ) as process:
        assert process.stdout is not None
        try:
            while chunk := os.read(process.stdout.fileno(), 65536):
                lines.feed(chunk)
        except BaseException:
            process.kill()
            raise
        lines.close()
    if process.returncode != 0:
        demand_space(cache_folder(), lines.tail())
        raise PreparationError(f"{failed}. {advice} It said:\n{lines.tail()}")
