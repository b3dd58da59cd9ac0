"""The verdicts of a run, by snapshot. Each carries a signature of the installation that reached it."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ValidationError

from mlagentbench import bounds
from mlagentbench.errors import RecordError
from mlagentbench.grading import Grade
from mlagentbench.record.files import read_part, write_model
from mlagentbench.record.folder import RunFolder
from mlagentbench.signing import can_sign, is_signed, sign
from mlagentbench.validation import problems_of

_REACHED = "verdict reached"
_TRUSTED = "verdict trusted"


class _Grades(BaseModel):
    format: int = 1
    grades: dict[str, Grade] = {}
    signatures: dict[str, str] = {}
    """By snapshot. Verdicts without one were reached elsewhere."""

    def signed(self, request: bytes, *purposes: str) -> dict[str, Grade]:
        """The verdicts that this installation signed for one of these purposes, in the run of this `run.json`."""
        return {
            snapshot: grade
            for snapshot, grade in self.grades.items()
            if any(
                is_signed(self.signatures.get(snapshot, ""), purpose, request, _content(grade))
                for purpose in purposes
            )
        }


def read_grades(folder: RunFolder) -> dict[str, Grade]:
    """Every verdict of the run that was reached so far. Those of a foreign run are what a stranger says; those of a run
    that was made here must be signed."""
    kept = _read(folder)
    if kept.grades and folder.origin != "foreign":
        for snapshot in kept.grades.keys() - kept.signed(folder.request_bytes(), _REACHED, _TRUSTED).keys():
            raise RecordError(
                f"{folder.grades_file} was changed from outside: the verdict on {snapshot[:12]} was not reached here. "
                f"`mlagentbench grade {folder.path}` grades the run again."
            )
    return kept.grades


def recorded_grades(folder: RunFolder) -> dict[str, Grade]:
    """What the file says, signed or not."""
    return _read(folder).grades


def grades_reached_here(folder: RunFolder) -> dict[str, Grade]:
    """Those of the run's verdicts that this installation reached itself."""
    return _read(folder).signed(folder.request_bytes(), _REACHED)


def remember_grade(folder: RunFolder, grade: Grade) -> None:
    """Keep a verdict; an earlier one on the same snapshot is replaced."""
    remember_grades(folder, [grade])


def remember_grades(folder: RunFolder, grades: Iterable[Grade]) -> None:
    """The same for several at once. In a run of our own, verdicts that are not ours are dropped."""
    request = folder.request_bytes()
    try:
        kept = _read(folder)
    except RecordError:
        kept = _Grades()
    known = kept.grades if folder.origin == "foreign" else kept.signed(request, _REACHED, _TRUSTED)
    new = {grade.snapshot: grade for grade in grades}
    signatures = {snapshot: kept.signatures[snapshot] for snapshot in known if snapshot in kept.signatures}
    if can_sign():
        signatures |= {snapshot: sign(_REACHED, request, _content(grade)) for snapshot, grade in new.items()}
    write_model(folder.grades_file, _Grades(grades=known | new, signatures=signatures))


def trust_grades(folder: RunFolder) -> None:
    """Sign the verdicts of a run that somebody trusts. They count for this run, and for no other."""
    kept, request = _read(folder), folder.request_bytes()
    if not kept.grades:
        return
    reached = kept.signed(request, _REACHED)
    signatures = {
        snapshot: kept.signatures[snapshot]
        if snapshot in reached
        else sign(_TRUSTED, request, _content(grade))
        for snapshot, grade in kept.grades.items()
    }
    write_model(folder.grades_file, kept.model_copy(update={"signatures": signatures}))


def _content(grade: Grade) -> bytes:
    """Without defaults, so that a field which a later version adds changes nothing."""
    return grade.model_dump_json(exclude_defaults=True).encode()


def _read(folder: RunFolder) -> _Grades:
    try:
        return _Grades.model_validate_json(read_part(folder.path, folder.grades_file.name, bounds.DERIVED))
    except FileNotFoundError:
        return _Grades()
    except ValidationError as error:
        problem = problems_of(error, _Grades)[0].rstrip(".")
        raise RecordError(
            f"{folder.grades_file} is damaged ({problem}). Delete it; `mlagentbench grade {folder.path}` makes it anew."
        ) from None
