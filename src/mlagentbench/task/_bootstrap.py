"""Runs one function of a task's script, once or more, on the task's interpreter. Only `worker.py` starts this file.

Standard library only, and no syntax newer than Python 3.8, so that an old interpreter gets as far as saying
that it is old. The request is the first line of standard input. What follows on it is a lifeline: when it
ends, the harness is gone, and everything here ends too. The answer is one line on the descriptor that the
request names.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import json
import os
import signal
import sys
import threading
import traceback
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, BinaryIO

_TOLD_BY_TYPE = ("SubmissionRefusedError", "PreparationError")


class _HarnessFinder(importlib.abc.MetaPathFinder):
    """Finds this package and nothing beside it, so that the harness's libraries stay out of the task's."""

    def __init__(self, package: Path) -> None:
        self._package = package

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != "mlagentbench":
            return None
        return importlib.util.spec_from_file_location(
            fullname, self._package / "__init__.py", submodule_search_locations=[str(self._package)]
        )


def _end_with_the_harness(lifeline: BinaryIO) -> None:
    while lifeline.read(4096):
        pass
    os.killpg(0, signal.SIGKILL)


def _plain(value: Any) -> Any:
    """Numbers and arrays of libraries as plain ones."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(
        f"a {type(value).__name__} cannot be given back; give back numbers, text, lists and dicts"
    )


def _machine_fault(error: BaseException) -> str:
    try:
        from mlagentbench.machine_fault import describe
    except ImportError:  # it did not come so far as to find this package
        return ""
    return describe(error)


def _answer(request: dict[str, Any]) -> str:
    if sys.version_info < (3, 11):  # noqa: UP036 - the user's own interpreter may be anything
        raise RuntimeError("it needs Python 3.11 or newer, and this is " + sys.version.split()[0])
    sys.meta_path.append(_HarnessFinder(Path(request["package"])))
    script = Path(request["script"])
    sys.path.insert(0, str(script.parent))
    spec = importlib.util.spec_from_file_location("task_" + script.stem, script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    function = getattr(module, request["function"])
    results = [
        function(
            **{
                name: Path(value["path"]) if isinstance(value, dict) else value
                for name, value in arguments.items()
            }
        )
        for arguments in request["arguments"]
    ]
    return json.dumps({"results": results}, default=_plain)


def main() -> None:
    lifeline = os.fdopen(os.dup(0), "rb", buffering=0)
    line = b""
    while not line.endswith(b"\n"):
        if not (byte := lifeline.read(1)):
            sys.exit("The harness ended before it said what to do.")
        line += byte
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    request = json.loads(line)
    os.set_inheritable(request["answer_to"], False)
    threading.Thread(target=_end_with_the_harness, args=(lifeline,), daemon=True).start()
    try:
        answer = _answer(request)
    except BaseException as error:  # noqa: BLE001 - whatever the script raised is told to the harness
        kind = type(error).__name__ if type(error).__name__ in _TOLD_BY_TYPE else "crash"
        told = {"error": kind, "message": str(error), "traceback": traceback.format_exc()}
        answer = json.dumps({**told, "machine": _machine_fault(error)})
    sys.stdout.flush()
    sys.stderr.flush()
    with os.fdopen(request["answer_to"], "wb") as stream:
        stream.write(answer.encode() + b"\n")


if __name__ == "__main__":
    main()
