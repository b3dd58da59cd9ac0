"""The ways in which a snapshot becomes a number: a submitted file, a program's outputs, a foreign grader.

In each of them, what the agent made is either read as plain bytes by trusted code, or run in the sandbox without
the private answers.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType

from mlagentbench.errors import GraderFailedError, MachineFaultError, PathRefusedError, SubmissionRefusedError
from mlagentbench.grading.grade import Interval
from mlagentbench.grading.machine_watch import MachineWatch, killed_from_outside
from mlagentbench.grading.offering import offered
from mlagentbench.grading.timing import ratio_of_smallest
from mlagentbench.sandbox import Job, Mount, ResourceLimits, Result, Sandbox
from mlagentbench.task import worker
from mlagentbench.task.layout import layout
from mlagentbench.task.preparation import Prepared
from mlagentbench.workspace import (
    Entry,
    Store,
    Workspace,
    entries,
    extract,
    lay_read_only,
    materialise,
    materialise_plain,
    remove_tree,
)

LARGEST_SUBMISSION = 500_000_000
GRADER_SECONDS = 600.0
_TOLD = 2_000
"""Characters of a failed program's output that a reason carries."""
_MOST_NAMED = 5


@dataclass(frozen=True)
class Score:
    value: float
    interval: Interval | None = None
    notes: tuple[str, ...] = ()
    withheld: str = ""
    """Why this score is no success, whatever it is."""


@dataclass
class Stage:
    """Where a snapshot is graded: the task's data, the sandbox, and a folder for what lies around meanwhile."""

    prepared: Prepared
    sandbox: Sandbox
    limits: ResourceLimits
    scratch: Path
    hidden: tuple[Path, ...] = ()
    network: bool = False
    """Whether services that the task offers may use the network."""
    faults: list[str] = field(default_factory=list)
    """What the machine did to programs that ran here, as ends of sentences."""

    def run(self, job: Job, stdin: bytes = b"") -> tuple[Result, bytes]:
        """Run a program in the sandbox; how it ended and what it printed. `faults` gets what the machine did to it."""
        said = bytearray()
        with MachineWatch((self.scratch, Path(tempfile.gettempdir())), job.limits) as machine:
            result = self.sandbox.run(job, said.extend, stdin=stdin)
        if killed_from_outside(result):
            raise MachineFaultError(
                f"a program was killed by signal {result.signal}, which none of its limits explains; "
                "systems do so where memory runs out"
            )
        if fault := machine.fault(result, bytes(said)):
            self.faults.append(fault)
        return result, bytes(said)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """An empty folder that is gone afterwards, whatever was put into it."""
        path = self.scratch / f"grading-{secrets.token_hex(6)}"
        path.mkdir(parents=True)
        try:
            yield path
        finally:
            remove_tree(path)

    def trusted(self, submission: Path, control: Path | None = None) -> object:
        """What the task's own `grade.py` says of plain files."""
        arguments = {"submission": submission, "private": self.prepared.private}
        return self._grader("grade", arguments if control is None else arguments | {"control": control})

    def check_rounds(self, outputs: Mapping[Path, Path]) -> None:
        """Has `grade.py` check the outputs of rounds, each against the folder that the round was made in."""
        self._each("grade", [{"submission": made, "private": round} for round, made in outputs.items()])

    def make_rounds(self, folder: Path, count: int) -> list[Path]:
        """Has `grade.py` make hidden inputs for `count` rounds, from a seed that nobody has seen. Each round gets a
        folder like the private one, with a public one beside it."""
        rounds = [folder / str(number) / "private" for number in range(count)]
        for round in rounds:
            round.mkdir(parents=True)
            (round.parent / "public").symlink_to(self.prepared.public)
        arguments: worker.Arguments = {
            "private": self.prepared.private,
            "folder": folder,
            "count": count,
            "seed": secrets.randbits(62),
        }
        self._each("make_rounds", [arguments])
        return rounds

    def changed(self, artefact: Path, changed: Path) -> None:
        """Has the task's own `grade.py` write to `changed` what a control run gets in the artefact's place."""
        self._grader("control", {"artefact": artefact, "changed": changed})

    def _grader(self, function: str, arguments: worker.Arguments) -> object:
        (result,) = self._each(function, [arguments])
        return result

    def _each(self, function: str, calls: Sequence[worker.Arguments]) -> list[object]:
        script = self.prepared.task.folder / "grade.py"
        return worker.call_each(
            script, function, calls, self.prepared.interpreter, seconds=GRADER_SECONDS * len(calls)
        )

    def mount(self, source: Path, target: str, writable: bool = False) -> Mount:
        """`source`, shown at `target`, or at its own path where the backend cannot mount."""
        return Mount(source, str(source) if self.sandbox.links_read_only() else target, writable)

    def lay_read_only(self, workspace: Path) -> None:
        """Put what stands for the task's read-only data into a workspace that was laid out for one program."""
        lay_read_only(workspace, layout(self.prepared).read_only, link=self.sandbox.links_read_only())


def score_file(stage: Stage, store: Store, snapshot: str) -> Score:
    """The submission is one file; it is taken from the snapshot, where it is bytes and cannot be a link."""
    with stage.folder() as folder:
        file = _taken(store, snapshot, stage.prepared.task.definition.submission, folder)
        return _score(stage.trusted(file))


def _taken(store: Store, snapshot: str, name: str, folder: Path) -> Path:
    """A copy of one file of the snapshot, which there is bytes and cannot be a link."""
    file = folder / Path(name).name
    try:
        extract(store, snapshot, name, file, LARGEST_SUBMISSION)
    except PathRefusedError as refusal:
        raise SubmissionRefusedError(f"Nothing could be graded: {refusal}") from None
    return file


def score_program(stage: Stage, store: Store, snapshot: str) -> Score:
    """The submission is a program: `infer.py` runs it in the sandbox over hidden inputs, `grade.py` checks."""
    program = stage.prepared.task.definition.program
    assert program is not None
    with stage.folder() as folder:
        if program.timing is not None:
            return _timed(stage, store, snapshot, folder, program.timing.rounds)
        checked = folder / "checked"
        infer_once(stage, store, snapshot, folder, checked)
        return _score(stage.trusted(checked, infer_control(stage, store, snapshot, folder)))


def _timed(stage: Stage, store: Store, snapshot: str, folder: Path, count: int) -> Score:
    """Submission and starter take turns. Every round has inputs that no round before had, and the submission sees them
    before anything else does, so that there is nothing that one round could tell the next."""
    submission: list[float] = []
    starter: list[float] = []
    outputs: dict[Path, Path] = {}
    for number, round in enumerate(stage.make_rounds(folder / "rounds", count)):
        inputs, kept = round / "inputs", folder / f"outputs-{number}"
        submission.append(infer_once(stage, store, snapshot, folder, kept, inputs=inputs).cpu_seconds)
        if not starter:
            stage.check_rounds({round: kept})  # what is wrong is mostly wrong at once
        else:
            outputs[round] = kept
        starter.append(infer_once(stage, None, "", folder, folder / "again", inputs=inputs).cpu_seconds)
    stage.check_rounds(outputs)
    ratio, interval = ratio_of_smallest(submission, starter)
    return Score(ratio, interval)


def infer_control(stage: Stage, store: Store, snapshot: str, folder: Path) -> Path | None:
    """The outputs with the artefact that a task names as control changed, where it names one."""
    program = stage.prepared.task.definition.program
    if program is None or not program.control:
        return None
    artefact, changed, kept = folder / "artefact", folder / "changed", folder / "control"
    artefact.mkdir()
    stage.changed(_taken(store, snapshot, program.control, artefact), changed)
    infer_once(stage, store, snapshot, folder, kept, {program.control: changed})
    return kept


def infer_once(
    stage: Stage,
    store: Store | None,
    snapshot: str,
    folder: Path,
    kept: Path,
    instead: Mapping[str, Path] = MappingProxyType({}),
    inputs: Path | None = None,
) -> Result:
    """One run of `infer.py` over the snapshot, or over the untouched starter; its outputs as plain files in `kept`.

    Each run gets the workspace anew: what one run leaves cannot help the next. Files that `instead` names are
    files of the snapshot, so that nothing on the way to them is a link. Without `inputs` it gets the prepared ones.
    """
    program = stage.prepared.task.definition.program
    assert program is not None
    plan = layout(stage.prepared)
    workspace, outputs = folder / "workspace", folder / "outputs"
    for each in (workspace, outputs, kept):
        if each.exists():
            remove_tree(each)
    outputs.mkdir()
    if store is None:
        plan.lay(workspace)
    else:
        workspace.mkdir()
        materialise(store, snapshot, workspace)
    for name, file in instead.items():
        (workspace / name).unlink()
        shutil.copyfile(file, workspace / name)
    stage.lay_read_only(workspace)
    infer = stage.mount(stage.prepared.task.folder / "infer.py", "/task/infer.py")
    asked = stage.mount(inputs or stage.prepared.private / "inputs", "/task/inputs")
    results = stage.mount(outputs, "/task/outputs", writable=True)
    mounts = (infer, asked, results)
    argv = (str(stage.prepared.interpreter.python), *(mount.target for mount in mounts))
    job = Job(
        argv=argv,
        workspace=workspace,
        limits=replace(stage.limits, seconds=program.time),
        interpreter=stage.prepared.interpreter,
        read_only=plan.read_only,
        mounts=mounts,
        hidden=stage.hidden,
        environment=one_thread(),
        cores=(max(os.sched_getaffinity(0)),) if program.timing else (),
        one_process=program.timing is not None,
    )
    with offered(stage, "grading") as offer:
        environment = {**job.environment, **offer.environment}
        served = replace(job, services=offer.services, environment=environment)
        result, said = stage.run(served)
    _demand_success(result, said, "The submitted program")
    _keep_plain_files(outputs, kept, folder / "outputs-store")
    return result


def score_foreign(stage: Stage, store: Store, snapshot: str) -> Score:
    """An original task's `eval.py: get_score(folder)`, which is foreign code and so runs in the sandbox.

    It may read its own answers and follows whatever it opens, so it gets the agent's plain files and no links.
    """
    if not (stage.prepared.private / "eval.py").is_file():
        raise GraderFailedError(
            f"{stage.prepared.task.folder} has no scripts/eval.py, so nothing can be graded. Write one with "
            "get_score(folder), which returns a number, and grade the run again."
        )
    nonce = secrets.token_hex(8)
    with stage.folder() as folder:
        workspace = folder / "workspace"
        workspace.mkdir()
        left_out = materialise_plain(store, snapshot, workspace)
        stage.lay_read_only(workspace)
        scripts = stage.mount(stage.prepared.private, "/task/scripts")
        driver = (
            "import json, sys; sys.path.insert(0, sys.argv[1]); from eval import get_score; "
            "score = float(get_score(sys.argv[2])); print('\\n' + sys.argv[3] + json.dumps(score))"
        )
        seen = stage.sandbox.workspace_path(workspace)
        python = str(stage.prepared.interpreter.python)
        job = Job(
            argv=(python, "-P", "-c", driver, scripts.target, seen, nonce),
            workspace=workspace,
            limits=replace(stage.limits, seconds=GRADER_SECONDS),
            interpreter=stage.prepared.interpreter,
            read_only=layout(stage.prepared).read_only,
            mounts=(scripts,),
            hidden=stage.hidden,
        )
        result, said = stage.run(job)
    text = said.decode("utf-8", "replace")
    *_, last = text.rstrip("\n").rsplit("\n", 1) if text.strip() else ("", "")
    if result.exit_status != 0 or result.limit or not last.startswith(nonce):
        raise GraderFailedError(
            f"The task's own grader crashed ({_ending(result)}). {_without(left_out)}It said:\n{text[-_TOLD:]}"
        )
    note = "Graded by the task folder's own eval.py in the sandbox, beside what the agent wrote: foreign, not trusted."
    notes = (note, _without(left_out).strip()) if left_out else (note,)
    return Score(_number(json.loads(last.removeprefix(nonce))), notes=notes)


def _without(left_out: Sequence[Entry]) -> str:
    """What a foreign grader was not given, if anything, as a sentence."""
    if not left_out:
        return ""
    first = ", ".join(f"{entry.path!r} (a {entry.kind})" for entry in left_out[:_MOST_NAMED])
    more = f" and {len(left_out) - _MOST_NAMED:,} more" if len(left_out) > _MOST_NAMED else ""
    return f"It was given plain files only, without {first}{more}; a submission must be a plain file. "


def _keep_plain_files(outputs: Path, kept: Path, aside: Path) -> None:
    """Copy what the program wrote, and nothing but files and folders: a link could lead the grader astray."""
    store = Store(aside)
    snapshot = Workspace(outputs, store, {}, max_file=LARGEST_SUBMISSION).snapshot(executed=True)
    kept.mkdir()
    for entry in entries(store, snapshot.id):
        if entry.kind == "folder":
            (kept / entry.path).mkdir()
        elif entry.kind == "file":
            extract(store, snapshot.id, entry.path, kept / entry.path, LARGEST_SUBMISSION)
        else:
            raise SubmissionRefusedError(
                f"The program left {entry.path!r} among its outputs, a {entry.kind}, not a file."
            )
    store.close()
    remove_tree(aside)


def one_thread() -> dict[str, str]:
    """Environment variables that keep numerical libraries from starting threads."""
    names = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM", "BLIS")
    return {f"{name}_NUM_THREADS": "1" for name in names}


def _demand_success(result: Result, said: bytes, who: str) -> None:
    if result.exit_status != 0 or result.limit:
        text = said.decode("utf-8", "replace")[-_TOLD:].strip()
        raise SubmissionRefusedError(
            f"{who} failed on the hidden inputs ({_ending(result)}). It said:\n{text}"
        )


def _ending(result: Result) -> str:
    if result.limit:
        return result.limit.sentence().rstrip(".")
    return f"signal {result.signal}" if result.signal is not None else f"exit status {result.exit_status}"


def _score(verdict: object) -> Score:
    """What a `grade.py` gave back: a number, or a number with what there is to say about it."""
    if not isinstance(verdict, dict):
        return Score(_number(verdict))
    notes, withheld = verdict.get("notes", ()), verdict.get("withheld", "")
    if verdict.keys() - {"score", "notes", "withheld"} or not isinstance(withheld, str):
        raise GraderFailedError(
            f"The grader gave {verdict!r:.200}, which is no verdict. Mend the task's grade.py."
        )
    said = (*map(str, notes), withheld) if withheld else tuple(map(str, notes))
    return Score(_number(verdict.get("score")), notes=said, withheld=withheld)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise GraderFailedError(
            f"The grader gave {value!r}, which is not a finite number. Mend the task's grade.py."
        )
    return float(value)
