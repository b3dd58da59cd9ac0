"""Kills the process that starts runs at chosen instants of its life, from inside. Laid beside an experiment as
`sitecustomize.py`, every interpreter that the experiment starts loads it."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

INSTANT = "TEST_FORK_SERVER_DIES"
"""`start`; `import:MODULE`; `run.json:before` and `run.json:after`, its appearance in a process that it has started."""
PLACE = "TEST_FORK_SERVER_DEATHS"
"""A folder that gets a file for each death."""


def _die(most: int, mark: str, pid: int) -> None:
    """Unless it has died so often already; `mark` names what is counted."""
    place = Path(os.environ[PLACE])
    for number in range(most):
        try:
            (place / f"{mark}-{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        os.kill(pid, signal.SIGKILL)
        while True:
            signal.pause()


class _Finder:
    """Sees what is imported, and finds nothing."""

    def __init__(self, module: str, most: int) -> None:
        self._module = module
        self._most = most

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == self._module:
            _die(self._most, "import", os.getpid())


def _at_run_json(after: bool) -> None:
    server = os.getpid()
    appeared: list[str] = []

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if os.getpid() == server:
            return
        if event == "os.rename" and str(arguments[1]).endswith("/run.json"):
            appeared.append(Path(str(arguments[1])).parent.name)
            if not after:
                _die(1, appeared[-1], server)
        elif after and appeared:
            _die(1, appeared.pop(), server)

    sys.addaudithook(hear)


def install() -> None:
    instant, most = os.environ[INSTANT].rsplit("*", 1)
    if "mlagentbench.launch.forking" not in sys.orig_argv:
        return
    what, _, which = instant.partition(":")
    if what == "start":
        _die(int(most), "start", os.getpid())
    elif what == "import":
        sys.meta_path.insert(0, _Finder(which, int(most)))  # type: ignore[arg-type]
    elif what == "run.json":
        _at_run_json(which == "after")


if INSTANT in os.environ:
    install()
