"""Grades snapshots of one prepared task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mlagentbench.errors import (
    GraderFailedError,
    MachineFaultError,
    MLAgentBenchError,
    SandboxError,
    SubmissionRefusedError,
)
from mlagentbench.grading.grade import Baseline, Grade
from mlagentbench.grading.references import (
    BASELINE_RUNS,
    Kind,
    Measurement,
    References,
    add_reference,
    measuring,
    read_references,
)
from mlagentbench.grading.scoring import NO_BASELINE, baseline_of, judge
from mlagentbench.grading.stages import Score, Stage, score_file, score_foreign, score_program
from mlagentbench.grading.trial import Trial, try_out
from mlagentbench.machine_fault import describe
from mlagentbench.sandbox import ResourceLimits, Sandbox, default_limits, demand
from mlagentbench.task.layout import hidden_folders
from mlagentbench.task.preparation import Prepared
from mlagentbench.workspace import Store

_DECLARED = "The baseline is what the task folder declares, and was not measured."


class Grader:
    """Trusted, and for anything but timed programs deterministic."""

    def __init__(
        self,
        prepared: Prepared,
        sandbox: Sandbox,
        scratch: Path,
        limits: ResourceLimits | None = None,
        progress: Callable[[str], None] = lambda line: None,
        network: bool = False,
    ) -> None:
        demand(sandbox, prepared.task.definition.promises, prepared.task.id)
        self._stage = Stage(prepared, sandbox, limits or default_limits(), scratch, hidden_folders(), network)
        self._progress = progress

    def score(self, store: Store, snapshot: str) -> Score:
        """The bare score of a snapshot, or an error that says why there is none."""
        task = self._stage.prepared.task
        with self._machine_faults_apart():
            if not task.trusted:
                return score_foreign(self._stage, store, snapshot)
            if task.definition.program is not None:
                return score_program(self._stage, store, snapshot)
            return score_file(self._stage, store, snapshot)

    @contextmanager
    def _machine_faults_apart(self) -> Iterator[None]:
        """Raises MachineFaultError for every failure that may be the machine's, so that none becomes a verdict."""
        self._stage.faults.clear()
        try:
            yield
        except (SubmissionRefusedError, GraderFailedError) as failure:
            if self._stage.faults:
                raise MachineFaultError(self._stage.faults[0]) from failure
            raise
        except (OSError, MemoryError, SandboxError) as error:
            if what := describe(error):
                raise MachineFaultError(what) from error
            raise

    def grade(self, store: Store, snapshot: str) -> Grade:
        """The verdict. A submission that cannot be graded gets one too: not valid, with the reason. A fault of the
        machine is none: it raises MachineFaultError."""
        try:
            return self.verdict(self.score(store, snapshot), snapshot)
        except (SubmissionRefusedError, GraderFailedError) as refusal:
            prepared = self._stage.prepared
            return Grade(
                task=prepared.task.id,
                variant=prepared.variant,
                snapshot=snapshot,
                valid=False,
                reason=str(refusal),
            )

    def verdict(self, score: Score, snapshot: str) -> Grade:
        """What follows from a score."""
        prepared = self._stage.prepared
        grade = Grade(
            task=prepared.task.id,
            variant=prepared.variant,
            snapshot=snapshot,
            valid=True,
            score=score.value,
            interval=score.interval,
            withheld=score.withheld,
            notes=(*score.notes, _DECLARED) if self._declared is not None else score.notes,
        )
        try:
            starter = self.baseline()
        except (MachineFaultError, SandboxError):
            raise
        except MLAgentBenchError as error:
            return grade.model_copy(update={"notes": (*grade.notes, f"{NO_BASELINE}{error}")})
        references = read_references(prepared)
        metric = prepared.task.definition.metric
        return judge(grade, metric, starter, references.scores("plain"), references.scores("oracle"))

    @property
    def _declared(self) -> float | None:
        task = self._stage.prepared.task
        return None if task.trusted else task.definition.baseline

    def baseline(self) -> Baseline | None:
        """The starter's score: measured once for these data, then remembered. A timed task's is 1 by definition, and a
        folder in the original's format can declare one."""
        if self._declared is not None:
            return Baseline(mean=self._declared, spread=0.0, runs=0)
        program = self._stage.prepared.task.definition.program
        if program is not None and program.timing is not None:
            return Baseline(mean=1.0, spread=0.0, runs=program.timing.rounds)
        return baseline_of(self.measure("starter", BASELINE_RUNS).scores("starter"))

    def measure(self, kind: Kind, runs: int) -> References:
        """Run the task's own `kind` until it was measured `runs` times."""
        prepared = self._stage.prepared
        references = read_references(prepared)
        if _unmeasured(references, kind, runs):
            with measuring(prepared, kind, self._progress) as references:
                for seed in _unmeasured(references, kind, runs):
                    self._progress(f"Measuring the {kind} of {prepared.task.id}, {seed + 1} of {runs}.")
                    references = add_reference(prepared, kind, self._measure_once(kind, seed))
        return references

    def _measure_once(self, kind: Kind, seed: int) -> Measurement:
        with self._machine_faults_apart(), self._stage.folder() as folder:
            trial = self.try_out(kind, seed, folder)
            score = self.score(trial.store, trial.snapshot)
            trial.store.close()
        return Measurement(
            score=score.value,
            seed=seed,
            wall_seconds=trial.result.wall_seconds,
            cpu_seconds=trial.result.cpu_seconds,
            peak_memory=trial.result.peak_memory,
        )

    def try_out(self, kind: Kind, seed: int, folder: Path) -> Trial:
        """Run the task's own `kind`; a crash of it is a defect of the task, told with its output."""
        trial = try_out(self._stage, kind, seed, folder)
        if not trial.ran:
            raise GraderFailedError(
                f"The {kind} of {self._stage.prepared.task.id} crashed, so it gives no score. "
                f"It said:\n{trial.output[-2000:]}"
            )
        return trial


def _unmeasured(references: References, kind: Kind, runs: int) -> list[int]:
    """The seeds that are still to be measured."""
    return [seed for seed in range(runs) if all(known.seed != seed for known in references.of(kind))]
