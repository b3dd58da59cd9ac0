"""What the task's own starter, plain model and oracle score, measured here and remembered."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from mlagentbench.task.cache import cache_folder, locked, write_durably
from mlagentbench.task.preparation import Prepared

Kind = Literal["starter", "plain", "oracle"]


class Measurement(BaseModel):
    score: float
    seed: int
    wall_seconds: float
    cpu_seconds: float
    peak_memory: int


class References(BaseModel):
    """Measurements for one set of prepared data on one interpreter."""

    format: int = 1
    starter: list[Measurement] = []
    plain: list[Measurement] = []
    oracle: list[Measurement] = []

    def of(self, kind: Kind) -> list[Measurement]:
        return {"starter": self.starter, "plain": self.plain, "oracle": self.oracle}[kind]

    def scores(self, kind: Kind) -> list[float]:
        return [measurement.score for measurement in self.of(kind)]


def read_references(prepared: Prepared) -> References:
    try:
        return References.model_validate_json(_file(prepared).read_bytes())
    except (FileNotFoundError, ValidationError):
        return References()


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
    """Named by all that a measurement depends on: the data, the interpreter, and the code that was run."""
    code = hashlib.sha256()
    for part in (prepared.starter, prepared.task.folder / "plain", prepared.task.folder / "solution"):
        for file in (
            sorted(path for path in part.rglob("*") if path.is_file()) if prepared.task.trusted else ()
        ):
            code.update(file.read_bytes())
    identity = "|".join((prepared.digest, os.fspath(prepared.interpreter.python), code.hexdigest()))
    name = hashlib.sha256(identity.encode()).hexdigest()[:24]
    return cache_folder() / "references" / prepared.task.id / f"{prepared.variant}-{name}.json"
