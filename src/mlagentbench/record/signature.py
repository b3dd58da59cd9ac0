"""Whether a run was made here: `signature.json`, which only this installation can write, and which no pack holds.

It is written before `run.json`, so that a run which is killed at any instant is known as our own. When the run ends,
the end of its record is signed too, so that nobody can cut or extend it unseen.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mlagentbench import bounds
from mlagentbench.record.files import read_part, write_model
from mlagentbench.signing import is_signed, sign

NAME = "signature.json"
SignedAs = Literal["made", "imported", "trusted"]
Origin = Literal["made", "imported", "trusted", "foreign"]
"""Made by this installation; imported by it from another program's log; made elsewhere, and trusted by its user;
anything else."""


class End(BaseModel):
    """The end of the record when the run ended."""

    model_config = ConfigDict(frozen=True, defer_build=True)
    head: str
    events: int


class Signature(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True)
    format: int = 1
    signed_as: SignedAs
    time: float = Field(default_factory=time.time)
    end: End | None = None
    signature: str = ""
    """Over everything above, and over all bytes of `run.json`."""


def sign_run(folder: Path, request: bytes, signed_as: SignedAs, end: End | None = None) -> None:
    """Sign the run whose `run.json` holds, or is about to hold, `request`."""
    unsigned = Signature(signed_as=signed_as, end=end)
    signature = sign("run", request, _content(unsigned))
    write_model(folder / NAME, unsigned.model_copy(update={"signature": signature}))


def origin_of(folder: Path, request: bytes) -> Origin:
    """Where the run comes from whose `run.json` holds `request`."""
    found = _read(folder, request)
    return found.signed_as if found else "foreign"


def sign_end(folder: Path, request: bytes, end: End) -> None:
    """Sign the end of the record; of a run that is not signed, nothing."""
    if (found := _read(folder, request)) and found.end != end:
        sign_run(folder, request, found.signed_as, end)


def end_problem(folder: Path, request: bytes, now: End) -> str:
    """What happened to the record of a run after it ended here; empty if nothing did, or if nothing tells."""
    found = _read(folder, request)
    if found is None or found.end is None or found.end == now:
        return ""
    then = f"The record had {found.end.events} events when the run ended here"
    advice = f"If you know why, `mlagentbench trust {folder}` signs it as it is."
    if now.events <= found.end.events:
        return f"{then}, and was cut or changed since: now it has {now.events}. {advice}"
    return f"{then}; {now.events - found.end.events} were added since. {advice}"


def _content(signature: Signature) -> bytes:
    return signature.model_dump_json(exclude={"signature"}, exclude_defaults=True).encode()


def _read(folder: Path, request: bytes) -> Signature | None:
    """The signature, if it is ours and of this run."""
    try:
        found = Signature.model_validate_json(read_part(folder, NAME, bounds.DERIVED))
    except (FileNotFoundError, ValidationError):
        return None
    return found if is_signed(found.signature, "run", request, _content(found)) else None
