"""Corrections by a person: of a run's failure mode, and of what is said of its claims."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlagentbench.errors import UsageError
from mlagentbench.evaluation.claims import Claim, list_claims
from mlagentbench.evaluation.profile import Profile, make_profile, read_profile
from mlagentbench.record.annotations import (
    LONGEST_NAME,
    LONGEST_NOTE,
    Annotations,
    ClaimMark,
    FailureMark,
    FailureMode,
    add_annotations,
    mode_of,
    read_annotations,
)
from mlagentbench.record.folder import RunFolder


@dataclass(frozen=True)
class Annotated:
    """A run as it is judged now, and all that people said of it."""

    profile: Profile
    claims: list[Claim]
    """All of them; the first one is claim 1."""
    annotations: Annotations

    def told(self) -> dict[str, Any]:
        """For a machine."""
        return {
            "failure": self.profile.failure,
            "claims": [
                {"number": number, **claim.model_dump()} for number, claim in enumerate(self.claims, 1)
            ],
            "annotations": self.annotations,
        }


def annotate(
    run: str | Path,
    *,
    failure: FailureMode | None = None,
    claims: Mapping[int, bool] | None = None,
    note: str = "",
    name: str = "",
) -> Annotated:
    """Correct the failure mode of a run, or whether claims of it are supported; without either, tell what is said.

    `claims` has for the number of a claim whether what the agent had observed supports it. What is said is kept in the
    run's `annotations.json`, with the name of who says so; the record itself is never changed.

    >>> import mlagentbench
    >>> mlagentbench.annotate("runs/demo/…", failure="bad plan", note="It never looked at the data.")  # doctest: +SKIP
    """
    folder = RunFolder.open(run)
    listed = list_claims(folder, folder.history().events)
    if failure is not None:
        failure = mode_of(failure)
    if len(note) > LONGEST_NOTE or len(name) > LONGEST_NAME:
        raise UsageError(f"A note has at most {LONGEST_NOTE} characters, a name {LONGEST_NAME}.")
    who = name or _user()
    for number in claims or {}:
        if not 1 <= number <= len(listed):
            raise UsageError(f"{run} has {_numbered(len(listed))}; there is no claim {number}.")
    marks = tuple(
        ClaimMark(
            step=listed[number - 1].step,
            text=listed[number - 1].text,
            value=listed[number - 1].value,
            supported=supported,
            name=who,
            note=note,
        )
        for number, supported in (claims or {}).items()
    )
    if failure is not None or marks:
        before = read_profile(folder).failure
        ruled = "none" if before is None else before.ruled or before.mode
        mark = FailureMark(mode=failure, ruled=ruled, name=who, note=note) if failure else None
        folder.lock()
        try:
            add_annotations(folder, failure=mark, claims=marks)
        finally:
            folder.unlock()
        listed = list_claims(folder, folder.history().events)
    return Annotated(make_profile(folder), listed, read_annotations(folder))


def _numbered(count: int) -> str:
    return f"the claims 1 to {count}" if count else "no claims"


def _user() -> str:
    try:
        return getpass.getuser()[:LONGEST_NAME]
    except (OSError, KeyError):
        return ""
