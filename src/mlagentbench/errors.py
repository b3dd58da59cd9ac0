"""Every error that this project raises on purpose. Each message says what happened and what to do next."""

from __future__ import annotations


class MLAgentBenchError(Exception):
    """Base of all of them; the command line prints the message and exits with `exit_status`."""

    exit_status = 1


class UsageError(MLAgentBenchError):
    """The caller asked for something that does not exist or does not fit together."""

    exit_status = 2


class RunOverError(UsageError):
    """The agent wants more of a run that is over: it submitted before, or a limit of the run was reached.

    Nothing is wrong with the run: whoever drives an agent takes this for its end, and what was done is graded.
    """


class StillActingError(BaseException):
    """An agent that catches `RunOverError` and goes on for ever. It passes by whatever agents catch."""


class TaskError(MLAgentBenchError):
    """A task folder is not what a task folder must be."""


class PreparationError(MLAgentBenchError):
    """A task's data or interpreter could not be made ready."""


class SandboxError(MLAgentBenchError):
    """A program could not be started in the sandbox: the sandbox failed, not the program."""


class SandboxUnavailableError(SandboxError):
    """No isolating backend works on this machine, or the one asked for does not."""


class PathRefusedError(MLAgentBenchError):
    """A path that the harness will not touch: outside of the workspace, a link, or not a plain file."""


class SubmissionRefusedError(MLAgentBenchError):
    """A submission that cannot be graded; the message is the reason that the grade carries."""


class GraderFailedError(MLAgentBenchError):
    """A grader crashed or gave no number. It is a defect of the task, never a score."""


class MachineFaultError(MLAgentBenchError):
    """The machine failed while something was graded: full disk, no memory, a process killed from outside. It says
    nothing about the submission, so there is no verdict, and grading again is all that is needed."""

    def __init__(self, what: str, run: object = "RUN") -> None:
        super().__init__(
            f"The machine failed during grading: {what}. This says nothing about the submission, so there is no "
            f"verdict. Look at the machine's disk and memory, then run `mlagentbench grade {run}`."
        )
        self.what = what


class DivergedError(MLAgentBenchError):
    """A replayed agent asked for something else than what is recorded."""


class RecordError(MLAgentBenchError):
    """A run folder is damaged, or is not one."""
