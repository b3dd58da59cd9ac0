"""What the task's own starter, plain model and oracle score, measured here and remembered."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from mlagentbench.folders import cache_folder
from mlagentbench.task.cache import locked, write_durably
from mlagentbench.task.preparation import Prepared, file_name
from mlagentbench.task.progress import Progress

Kind = Literal["starter", "plain", "oracle"]
BASELINE_RUNS = 3
RUNS: dict[Kind, int] = {"starter": BASELINE_RUNS, "plain": 1, "oracle": 1}
"""How often each is run."""
_MEASURED = ("starter", "plain", "solution")
_PROCESSOR = (
    "vendor_id", "cpu family", "model", "model name", "stepping",
    "CPU implementer", "CPU architecture", "CPU variant", "CPU part",
)  # fmt: skip
"""What tells kinds of processors apart, on x86 and on ARM."""


class Measurement(BaseModel):
    score: float
    seed: int
    wall_seconds: float
    cpu_seconds: float
    peak_memory: int


class References(BaseModel):
    """Measurements for one set of prepared data on one interpreter and machine."""

    format: int = 1
    starter: list[Measurement] = []
    plain: list[Measurement] = []
    oracle: list[Measurement] = []

    def of(self, kind: Kind) -> list[Measurement]:
        return {"starter": self.starter, "plain": self.plain, "oracle": self.oracle}[kind]

    def scores(self, kind: Kind) -> list[float]:
        return [measurement.score for measurement in self.of(kind)]


def kinds_of(prepared: Prepared) -> list[Kind]:
    """What can be measured of this task. A timed task's starter is 1 by definition."""
    task = prepared.task
    timed = task.definition.program is not None and task.definition.program.timing is not None
    there: dict[Kind, bool] = {
        "starter": not timed,
        "plain": (task.folder / "plain").is_dir(),
        "oracle": (task.folder / "solution").is_dir(),
    }
    return [kind for kind, is_there in there.items() if is_there]


def unmeasured(prepared: Prepared) -> list[Kind]:
    """What of it was not measured on this machine, or not as often as it should be."""
    known = read_references(prepared)
    return [kind for kind in kinds_of(prepared) if len(known.of(kind)) < RUNS[kind]]


def read_references(prepared: Prepared) -> References:
    try:
        return References.model_validate_json(_file(prepared).read_bytes())
    except (FileNotFoundError, ValidationError):
        return References()


@contextmanager
def measuring(prepared: Prepared, kind: Kind, progress: Progress) -> Iterator[References]:
    """Be the one process that measures this; gives what is known by then, since another may have done it meanwhile."""
    file = _file(prepared)
    what = f"a measurement of the {kind} of {prepared.task.id}"
    with locked(file.with_suffix(f".{kind}.lock"), what, progress):
        yield read_references(prepared)


def add_reference(prepared: Prepared, kind: Kind, measurement: Measurement) -> References:
    """Remember one more; other processes may be doing the same."""
    file = _file(prepared)
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file.with_suffix(".lock"), "the references", None):
        references = read_references(prepared)
        known = references.of(kind)
        if all(each.seed != measurement.seed for each in known):
            known.append(measurement)
        write_durably(file, references.model_dump_json(indent=1).encode())
    return references


def _file(prepared: Prepared) -> Path:
    """Named by all that a measurement depends on: the data, the interpreter, the code that was run, the grader, and the
    machine, since several may share a home folder."""
    code = hashlib.sha256()
    folder = prepared.task.folder
    if prepared.task.trusted:  # the code of foreign tasks is among their data
        own = [path for part in _MEASURED for path in (folder / part).rglob("*") if path.is_file()]
        for file in sorted([*own, *folder.glob("*.py")]):
            code.update(f"{file.relative_to(folder)}\0".encode(errors="surrogateescape"))
            code.update(hashlib.sha256(file.read_bytes()).digest())
    python = os.fspath(prepared.interpreter.python)
    identity = "|".join((prepared.digest, python, code.hexdigest(), this_machine()))
    name = hashlib.sha256(identity.encode()).hexdigest()[:24]
    return cache_folder() / "references" / prepared.task.id / f"{file_name(prepared.variant)}-{name}.json"


@cache
def this_machine() -> str:
    """What speed and rounding depend on: the kind of processor, how many cores, the architecture. Not its name, so that
    equal machines are one."""
    return "|".join((_processor(), str(os.cpu_count()), platform.machine()))


def _processor() -> str:
    """As the system describes its first core."""
    try:
        first = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").split("\n\n", 1)[0]
    except OSError:
        return platform.processor()
    said = (line.partition(":") for line in first.splitlines())
    told = {name.strip(): value.strip() for name, _, value in said}
    return ", ".join(told[name] for name in _PROCESSOR if name in told)
