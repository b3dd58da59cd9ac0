"""Small programs and the folders that they run in."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from mlagentbench.sandbox import Interpreter, Job, ResourceLimits, Result, Sandbox

PYTHON = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
INTERPRETER = Interpreter(PYTHON, (Path(sys.base_prefix),))
LIMITS = ResourceLimits(
    seconds=20, memory=300_000_000, processes=40, disk=50_000_000, files=2000, output=1_000_000
)


@dataclass(frozen=True)
class Ran:
    result: Result
    output: str


def python(code: str, workspace: Path, **changes: object) -> Job:
    """A job that runs `code`; `changes` are fields of the job, or of its limits."""
    limits = {key: changes.pop(key) for key in list(changes) if hasattr(LIMITS, key)}
    job = Job((str(PYTHON), "-I", "-c", code), workspace, replace(LIMITS, **limits), INTERPRETER)
    return replace(job, **changes)


def run(sandbox: Sandbox, job: Job, stdin: bytes = b"") -> Ran:
    output = bytearray()
    result = sandbox.run(job, output.extend, stdin)
    return Ran(result, output.decode())


def processes_with(mark: str) -> list[int]:
    """Processes on this machine that carry `mark` in their command line."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and mark.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]
