"""Proves a task: that it can be solved, that knowing nothing is not enough, and that nothing leaks."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, stdev

from mlagentbench.auditing import outputs, tables
from mlagentbench.auditing.bands import outside
from mlagentbench.auditing.leaks import answer_columns, leaking_columns, reachable_files, telling_features
from mlagentbench.auditing.report import AuditReport, Item
from mlagentbench.auditing.searching import answers_in_files
from mlagentbench.auditing.shallow import Told
from mlagentbench.environment.limits import resource_limits, run_limits
from mlagentbench.errors import MLAgentBenchError, SubmissionRefusedError, UsageError
from mlagentbench.grading import Grade, Grader
from mlagentbench.grading.references import Kind, Measurement, add_reference, read_references
from mlagentbench.grading.scoring import THRESHOLD, improvement
from mlagentbench.grading.stages import Stage, infer_control, infer_once
from mlagentbench.grading.trial import Trial
from mlagentbench.launch.verify import agree
from mlagentbench.sandbox import Sandbox, choose, demand
from mlagentbench.task.layout import hidden_folders
from mlagentbench.task.preparation import Prepared, prepare, remake
from mlagentbench.task.problem import problem_text
from mlagentbench.task.registry import load_task
from mlagentbench.workspace import Store, Workspace, materialise
from mlagentbench.workspace import read as read_snapshot

_ENOUGH_RUNS = 5
"""So many runs of the starter tell its noise."""
_UNSURE = 1.7
"""With three runs, the true spread is with 95 % more than 1 / 1.7 of what is seen."""

Progress = Callable[[str], None]
NEARLY_ALL = 0.97
"""A single feature that tells so much of the answers gives them away."""
SOMETHING = 0.2
"""One that tells less than this cannot be better than an oracle."""


def audit(
    task: str | Path,
    *,
    variant: str | None = None,
    seed: int = 0,
    key: str | None = None,
    python: str | None = None,
    starter_runs: int = 1,
    sandbox: str = "auto",
    network: bool = False,
    progress: Progress = lambda line: None,
) -> AuditReport:
    """Check every promise that a task makes. What fails is an item that says what to mend. `network` is for tasks
    whose services use it."""
    loaded = load_task(task)
    if not loaded.trusted:
        raise UsageError(
            f"{loaded.id} is in the original's format, which has no oracle; it cannot be audited."
        )
    backend = choose(sandbox)
    demand(backend, loaded.definition.promises, loaded.id)
    prepared = prepare(loaded, variant, seed=seed, key=key, python=python, progress=progress)
    with tempfile.TemporaryDirectory(prefix="mlagentbench-audit-") as scratch:
        auditor = Auditor(prepared, backend, Path(scratch), key, starter_runs, progress, network)
        return auditor.report()


class Auditor:
    """Goes through the promises one after the other; `report` is all of them."""

    def __init__(
        self,
        prepared: Prepared,
        sandbox: Sandbox,
        scratch: Path,
        key: str | None,
        starter_runs: int,
        progress: Progress,
        network: bool = False,
    ) -> None:
        self._prepared = prepared
        self._bands = prepared.task.definition.variant(prepared.variant).bands
        self._key = key
        self._starter_runs = starter_runs
        self._progress = progress
        self._scratch = scratch
        limits = run_limits(prepared.task.definition.limits)
        self._stage = Stage(prepared, sandbox, resource_limits(limits), scratch, hidden_folders(), network)
        self._grader = Grader(prepared, sandbox, scratch, resource_limits(limits), progress, network)
        self._items: list[Item] = []
        self._trials: dict[Kind, Trial] = {}
        self._verdicts: dict[Kind, Grade] = {}
        """Of the first trial of each kind."""
        self._scores: dict[Kind, list[float]] = {"starter": [], "plain": [], "oracle": []}

    def report(self) -> AuditReport:
        self._check("the problem's text is whole", self._problem)
        self._check("preparing twice gives the same bytes", self._same_bytes)
        self._check(
            "the starter runs and yields a baseline", lambda: self._measure("starter", self._starter_runs)
        )
        self._check("the plain model beats or equals the starter", lambda: self._measure("plain", 1))
        self._check("the oracle beats the starter by the threshold", lambda: self._measure("oracle", 1))
        self._check("the starter's noise is below the threshold", self._noise)
        self._check("the untouched starter does not succeed", self._starter_fails)
        if self._bands.model_dump(exclude_none=True):
            self._check("scores lie in their stated bands", self._in_bands)
        if "oracle" in self._trials:
            self._check("grading twice gives the same verdict", self._same_verdict)
            if self._prepared.task.definition.program is None:
                self._check_tables()
            else:
                self._check_outputs()
        self._check("nothing private can be reached from the workspace", self._unreachable)
        self._check("no public table holds the answers", self._no_leak)
        self._check("no public file holds the answers, packed or not", self._no_copy)
        self._check("no id, order or single column tells the answers", self._no_shortcut)
        return AuditReport(
            task=self._prepared.task.id,
            variant=self._prepared.variant,
            items=self._items,
            references=read_references(self._prepared),
        )

    def _check(self, name: str, prove: Callable[[], str]) -> None:
        """`prove` says what it saw, or raises the reason for which the promise does not hold or was not measured."""
        self._progress(f"{self._prepared.task.id}: {name} …")
        try:
            self._items.append(Item(name=name, ok=True, detail=prove()))
        except NotMeasuredError as reason:
            self._items.append(Item(name=name, ok=True, detail=str(reason), measured=False))
        except MLAgentBenchError as error:
            self._items.append(Item(name=name, ok=False, detail=str(error)))

    def _problem(self) -> str:
        limits = self._prepared.task.definition.limits
        text = problem_text(self._prepared.task, self._prepared.variant, limits)
        submission = self._prepared.task.definition.submission
        if submission not in text:
            raise BrokenPromiseError(f"problem.md never names {submission}, which is what is graded.")
        return f"{len(text.split())} words"

    def _same_bytes(self) -> str:
        folder = self._scratch / "again"
        digest = remake(self._prepared, folder, key=self._key)
        shutil.rmtree(folder)
        if digest != self._prepared.digest:
            raise BrokenPromiseError("prepare.py made other bytes the second time. Draw only from the seed.")
        return digest[:16]

    def _measure(self, kind: Kind, runs: int) -> str:
        for seed in range(runs):
            folder = self._scratch / f"{kind}-{seed}"
            trial = self._grader.try_out(kind, seed, folder)
            scored = self._grader.score(trial.store, trial.snapshot)
            score = scored.value
            self._trials.setdefault(kind, trial)
            self._scores[kind].append(score)
            used = trial.result
            measurement = Measurement(
                score=score,
                seed=seed,
                wall_seconds=used.wall_seconds,
                cpu_seconds=used.cpu_seconds,
                peak_memory=used.peak_memory,
            )
            add_reference(self._prepared, kind, measurement)
            self._verdicts.setdefault(kind, self._grader.verdict(scored, trial.snapshot))
        mean = fmean(self._scores[kind])
        if kind == "starter":
            return f"score {mean:.6g} over {runs} runs"
        gain = self._gain(mean)
        needed = 0.0 if kind == "plain" else THRESHOLD
        if not (gain > needed or (kind == "plain" and gain >= 0)):
            raise BrokenPromiseError(
                f"The {kind} scores {mean:.6g}, {gain:+.1%} against the starter; {needed:.0%} is asked."
            )
        return f"score {mean:.6g}, {gain:+.1%} against the starter"

    def _gain(self, score: float) -> float:
        if not self._scores["starter"]:
            raise BrokenPromiseError("There is no baseline to compare with, because the starter gave none.")
        gain = improvement(score, fmean(self._scores["starter"]), self._prepared.task.definition.metric)
        if gain is None:
            raise BrokenPromiseError(
                "The baseline is at the metric's floor; set [metric] floor in task.toml elsewhere."
            )
        return gain

    def _noise(self) -> str:
        scores = max(self._scores["starter"], read_references(self._prepared).scores("starter"), key=len)
        if len(scores) < 2:
            raise NotMeasuredError("one run of the starter has no spread; give --starter-runs 5")
        spread = stdev(scores)
        share = abs(self._gain(fmean(scores) + 2 * spread))
        if THRESHOLD <= share < THRESHOLD * _UNSURE and len(scores) < _ENOUGH_RUNS:
            raise NotMeasuredError(
                f"twice the spread of {len(scores)} runs of the starter is {share:.1%} of its score, and so few runs"
                f" cannot tell; give --starter-runs {_ENOUGH_RUNS}"
            )
        if share >= THRESHOLD:
            raise BrokenPromiseError(
                f"Twice the starter's spread is {share:.1%} of its score; chance alone could succeed. "
                f"Enlarge the hidden part, or steady the starter."
            )
        return f"twice its spread is {share:.1%} of its score, over {len(scores)} runs"

    def _grade(self, store: Store, snapshot: str) -> Grade:
        return self._grader.grade(store, snapshot)

    def _in_bands(self) -> str:
        if told := outside(self._bands, self._scores):
            raise BrokenPromiseError(
                f"Here {', '.join(told)}; mend the task, or the bands of {self._prepared.variant} in task.toml."
            )
        return "those that were measured"

    def _starter_fails(self) -> str:
        if "starter" not in self._trials:
            raise BrokenPromiseError("There is no starter to grade, because it did not run.")
        return self._demand_failure(self._verdicts["starter"], "The untouched starter")

    def _demand_failure(self, grade: Grade, who: str) -> str:
        if grade.success:
            raise BrokenPromiseError(f"{who} succeeds with a score of {grade.score:.6g}.")
        return f"score {grade.score:.6g}" if grade.score is not None else f"refused: {grade.reason}"

    def _same_verdict(self) -> str:
        trial = self._trials["oracle"]
        one, other = self._verdicts["oracle"], self._grade(trial.store, trial.snapshot)
        if not one.valid or not agree(one, other):
            raise BrokenPromiseError(
                f"The first time {one.score} ({one.reason}), the second {other.score} ({other.reason})."
            )
        if not one.success:
            raise BrokenPromiseError(
                f"The oracle does not succeed: score {one.score:.6g}, baseline {one.baseline}."
            )
        return f"score {one.score:.6g} and {other.score:.6g}"

    def _check_tables(self) -> None:
        trial = self._trials["oracle"]
        name = self._prepared.task.definition.submission
        table = tables.Table.parse(read_snapshot(trial.store, trial.snapshot, name, 2**31))
        self._check("the order of rows does not matter", lambda: self._same_score(tables.permuted(table)))
        for what, data in tables.worthless(table).items():
            self._check(f"worthless: {what}", self._fail_file(data))
        self._refusals({what: self._refuse_file(data) for what, data in tables.malformed(table).items()})
        self._check("malformed: nothing submitted", lambda: self._demand_refusal(self._submit(None)))

    def _same_score(self, data: bytes) -> str:
        trial = self._trials["oracle"]
        before = self._grader.score(trial.store, trial.snapshot).value
        after = self._submit(data).score
        if before != after:
            raise BrokenPromiseError(
                f"With the rows in another order the score is {after}, not {before}. Match by id."
            )
        return f"score {after:.6g}"

    def _submit(self, data: bytes | None) -> Grade:
        """The grade of a workspace with this as its submission."""
        with self._stage.folder() as folder:
            workspace = Workspace(folder / "workspace", Store(folder / "store"), {}, max_file=2**31)
            workspace.folder.mkdir()
            if data is not None:
                workspace.write(self._prepared.task.definition.submission, data)
            return self._grade(workspace.store, workspace.snapshot(executed=True).id)

    def _fail_file(self, data: bytes) -> Callable[[], str]:
        return lambda: self._demand_failure(self._submit(data), "It")

    def _refuse_file(self, data: bytes) -> Callable[[], str]:
        return lambda: self._demand_refusal(self._submit(data))

    def _demand_refusal(self, grade: Grade) -> str:
        if grade.valid:
            raise BrokenPromiseError(f"It is accepted, with a score of {grade.score:.6g}.")
        if "grade.py" in grade.reason:
            raise BrokenPromiseError(f"The grader crashed instead of refusing it: {grade.reason}")
        return grade.reason

    def _refusals(self, proofs: dict[str, Callable[[], str]]) -> None:
        """Each is refused, and each with a message of its own."""
        reasons: dict[str, str] = {}
        for what, prove in proofs.items():

            def distinct(what: str = what, prove: Callable[[], str] = prove) -> str:
                reason = prove()
                for other, said in reasons.items():
                    if said == reason:
                        raise BrokenPromiseError(f"It is refused with the same message as {other}: {reason}")
                reasons[what] = reason
                return reason

            self._check(f"malformed: {what}", distinct)

    def _check_outputs(self) -> None:
        trial = self._trials["oracle"]
        with self._stage.folder() as folder:
            whole = folder / "whole"
            infer_once(self._stage, trial.store, trial.snapshot, folder, whole)
            control = infer_control(self._stage, trial.store, trial.snapshot, folder)
            for what, breaking in outputs.BREAKINGS.items():
                broken = folder / "broken"
                shutil.copytree(whole, broken)
                breaking(broken)
                self._check(f"malformed: {what}", self._refuse_outputs(broken, control))
                shutil.rmtree(broken)
        self._check("what the agent edits is what runs", self._edited_runs)

    def _refuse_outputs(self, broken: Path, control: Path | None) -> Callable[[], str]:
        return lambda: self._outputs_refused(broken, control)

    def _outputs_refused(self, broken: Path, control: Path | None) -> str:
        try:
            self._stage.trusted(broken, control)
        except SubmissionRefusedError as refusal:
            return str(refusal)
        raise BrokenPromiseError("The grader accepts them.")

    def _edited_runs(self) -> str:
        """The oracle's workspace, with something else as its submission, is not graded as the oracle."""
        trial = self._trials["oracle"]
        with self._stage.folder() as folder:
            workspace = Workspace(folder / "workspace", Store(folder / "store"), {}, max_file=2**31)
            workspace.folder.mkdir()
            materialise(trial.store, trial.snapshot, workspace.folder)
            workspace.write(self._prepared.task.definition.submission, b"raise SystemExit('edited')\n")
            grade = self._grade(workspace.store, workspace.snapshot(executed=True).id)
        return self._demand_refusal(grade)

    def _unreachable(self) -> str:
        if found := reachable_files(self._stage):
            raise BrokenPromiseError(f"A program in the sandbox can read {', '.join(found)}.")
        return "neither the files, nor copies of them, nor the task's own code"

    def _no_leak(self) -> str:
        if found := leaking_columns(self._prepared.public, self._prepared.private):
            raise BrokenPromiseError(f"{'; '.join(found)}.")
        self._answers()
        return "no column of a public table agrees with a private one"

    def _answers(self) -> dict[str, dict[str, str]]:
        if not (answers := answer_columns(self._prepared.private)):
            raise NotMeasuredError("the answers are not in a table")
        return answers

    def _no_copy(self) -> str:
        cut: list[str] = []
        for name, answers in self._answers().items():
            found, unread = answers_in_files(self._prepared.public, name, answers)
            if found:
                raise BrokenPromiseError(f"{'; '.join(found)}. Leave it out of public/.")
            cut += unread
        if cut:
            raise NotMeasuredError(
                f"{cut[0]} is too large to be searched as a whole; nothing was found so far"
            )
        return "neither as text, nor in arrays, archives or pickles"

    def _no_shortcut(self) -> str:
        """No shallow model of one feature is nearly always right, or better than the oracle."""
        told = []
        for name, answers in self._answers().items():
            best = telling_features(self._prepared.public, answers)
            if best is None:
                continue
            if best.skill >= NEARLY_ALL:
                raise BrokenPromiseError(f"{best.feature} by itself tells {best.skill:.0%} of {name}.")
            score = self._score_of(name.rpartition(":")[2], best) if best.skill >= SOMETHING else None
            oracle = fmean(self._scores["oracle"]) if self._scores["oracle"] else None
            if score is not None and oracle is not None and self._gain(score) > self._gain(oracle):
                raise BrokenPromiseError(
                    f"A shallow model of {best.feature} alone scores {score:.6g}, and the oracle {oracle:.6g}."
                )
            told.append(f"{best.feature} tells most of {name}, {max(0.0, best.skill):.0%}")
        if not told:
            raise NotMeasuredError("there are too few answers to fit anything to")
        return "; ".join(told)

    def _score_of(self, column: str, best: Told) -> float | None:
        """What the oracle's submission scores with these values in its place; None where it has no such column."""
        if "oracle" not in self._trials or self._prepared.task.definition.program is not None:
            return None
        trial = self._trials["oracle"]
        name = self._prepared.task.definition.submission
        table = tables.Table.parse(read_snapshot(trial.store, trial.snapshot, name, 2**31))
        if column not in table.header or any(row[0] not in best.predictions for row in table.rows):
            return None
        place = table.header.index(column)
        rows = [[*row[:place], best.predictions[row[0]], *row[place + 1 :]] for row in table.rows]
        return self._submit(tables.Table(table.header, rows).bytes()).score


class NotMeasuredError(MLAgentBenchError):
    """Nothing is known about what an audit should prove; the message says why."""


class BrokenPromiseError(MLAgentBenchError):
    """What an audit proves does not hold; the message says what to mend."""
