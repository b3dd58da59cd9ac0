"""The verdicts of a run, by snapshot."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ValidationError

from mlagentbench.errors import RecordError
from mlagentbench.grading import Grade
from mlagentbench.record.folder import RunFolder, write_model
from mlagentbench.validation import problems_of


class _Grades(BaseModel):
    format: int = 1
    grades: dict[str, Grade] = {}


def read_grades(folder: RunFolder) -> dict[str, Grade]:
    """Every verdict of the run that was reached so far."""
    try:
        return _Grades.model_validate_json(folder.grades_file.read_bytes()).grades
    except FileNotFoundError:
        return {}
    except ValidationError as error:
        problem = problems_of(error, _Grades)[0].rstrip(".")
        raise RecordError(
            f"{folder.grades_file} is damaged ({problem}). Delete it; `mlagentbench grade {folder.path}` makes it anew."
        ) from None


def remember_grade(folder: RunFolder, grade: Grade) -> None:
    """Keep a verdict; an earlier one on the same snapshot is replaced."""
    remember_grades(folder, [grade])


def remember_grades(folder: RunFolder, grades: Iterable[Grade]) -> None:
    """The same for several at once."""
    new = {grade.snapshot: grade for grade in grades}
    write_model(folder.grades_file, _Grades(grades=read_grades(folder) | new))
