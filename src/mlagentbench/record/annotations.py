"""What people said about a run after the fact: `annotations.json`, beside the record and never in its chain.

Nothing in it is derived, and nothing that is said is lost: a later word on the same thing stands after the earlier
one, and counts.
"""

from __future__ import annotations

import time
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mlagentbench import bounds
from mlagentbench.errors import RecordError, UsageError
from mlagentbench.record.files import read_part, write_model
from mlagentbench.record.folder import RunFolder
from mlagentbench.validation import problems_of

FailureMode = Literal[
    "none", "hallucination", "debugging", "token length", "bad plan", "infrastructure", "limit"
]
"""Why a run did not succeed; "none" where it did, or has not ended."""

MODES: tuple[FailureMode, ...] = get_args(FailureMode)

LONGEST_NOTE = 2_000
LONGEST_NAME = 100


def mode_of(text: str) -> FailureMode:
    """The failure mode of that name."""
    for mode in MODES:
        if mode == text.strip().lower():
            return mode
    raise UsageError(f"There is no failure mode {text!r}. The modes are: {', '.join(MODES)}.")


class _Said(BaseModel):
    model_config = ConfigDict(frozen=True)
    time: float = Field(default_factory=time.time)
    name: str = Field("", max_length=LONGEST_NAME)
    """Who says so."""
    note: str = Field("", max_length=LONGEST_NOTE)


class FailureMark(_Said):
    """A run's failure mode, as a person sees it."""

    mode: FailureMode
    ruled: FailureMode
    """What the rules said when it was corrected."""


class ClaimMark(_Said):
    """A claim that is supported by what was observed, or is not, as a person sees it."""

    step: int
    text: str
    """The claim in its context, as it was listed."""
    value: float
    supported: bool


class Annotations(BaseModel):
    model_config = ConfigDict(frozen=True)
    format: int = 1
    failures: tuple[FailureMark, ...] = ()
    claims: tuple[ClaimMark, ...] = ()

    @property
    def failure(self) -> FailureMark | None:
        """The last word on the failure mode."""
        return self.failures[-1] if self.failures else None

    def claim_marks(self) -> dict[tuple[int, str, float], ClaimMark]:
        """The last word on each claim."""
        return {(mark.step, mark.text, mark.value): mark for mark in self.claims}


def read_annotations(folder: RunFolder) -> Annotations:
    """What was said of the run so far."""
    try:
        return Annotations.model_validate_json(
            read_part(folder.path, folder.annotations_file.name, bounds.DERIVED)
        )
    except FileNotFoundError:
        return Annotations()
    except ValidationError as error:
        problem = problems_of(error, Annotations)[0].rstrip(".")
        raise RecordError(
            f"{folder.annotations_file} is damaged ({problem}). Fix it, or move it away; it cannot be made again."
        ) from None


def add_annotations(
    folder: RunFolder, *, failure: FailureMark | None = None, claims: tuple[ClaimMark, ...] = ()
) -> Annotations:
    """Keep what a person said, after all that was said before."""
    before = read_annotations(folder)
    after = before.model_copy(
        update={
            "failures": (*before.failures, *([failure] if failure else [])),
            "claims": (*before.claims, *claims),
        }
    )
    write_model(folder.annotations_file, after)
    return after
