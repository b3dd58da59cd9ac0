"""A process that grades one snapshot after the other for another one, which talks to it in lines of JSON.

It is started as a program of its own rather than as a copy of the caller, so that it works from any script.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from pydantic import BaseModel, ConfigDict, ValidationError

from mlagentbench.errors import MLAgentBenchError
from mlagentbench.grading import Grade
from mlagentbench.validation import problems_of


class Job(BaseModel):
    """One snapshot of one run."""

    model_config = ConfigDict(frozen=True)
    run: Path
    snapshot: str
    key: str | None
    sandbox: str | None
    task: str | None
    scratch: Path


class Answer(BaseModel):
    """Something to tell meanwhile; the verdict; or why there is none."""

    progress: str = ""
    grade: Grade | None = None
    problem: str = ""


class Worker:
    """The caller's end."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def grade(self, job: Job, progress: Callable[[str], None]) -> Grade | str:
        """The verdict, or why there is none. A process that dies over a job says so, and is not used again."""
        process = self._process
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(job.model_dump_json().encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                answer = Answer.model_validate_json(line)
                if answer.progress:
                    progress(answer.progress)
                else:
                    return answer.grade or answer.problem
        except (BrokenPipeError, ValueError) as error:
            problem = (
                f": {problems_of(error, Answer)[0]}".rstrip(".") if isinstance(error, ValidationError) else ""
            )
            return f"The process that graded {job.snapshot[:12]} of {job.run} broke off{problem}. Grade it again."
        return f"The process that graded {job.snapshot[:12]} of {job.run} ended with {process.wait()}. Grade it again."

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass


def main() -> None:
    """Grade what comes in until nothing comes any more. Whatever else writes to standard output goes to the errors."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin.buffer:
        _tell(answers, _grade(Job.model_validate_json(line), answers))


def _grade(job: Job, answers: IO[str]) -> Answer:
    from mlagentbench.environment.trust import local_request
    from mlagentbench.evaluation.verdicts import data_of, grader_of
    from mlagentbench.record import RunFolder

    def progress(told: str) -> None:
        _tell(answers, Answer(progress=told))

    try:
        folder = RunFolder.open(job.run)
        request = local_request(folder, job.task)
        prepared = data_of(request, job.key, progress)
        grader = grader_of(request, prepared, job.sandbox, job.scratch / str(os.getpid()), progress)
        with folder.store() as store:
            return Answer(grade=grader.grade(store, job.snapshot))
    except MLAgentBenchError as error:
        return Answer(problem=f"{job.run}: {error}")


def _tell(answers: IO[str], answer: Answer) -> None:
    answers.write(answer.model_dump_json() + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
