"""Grading every snapshot of runs: side by side, and the same content once."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mlagentbench.environment.trust import local_request
from mlagentbench.errors import MLAgentBenchError, RecordError, UsageError
from mlagentbench.evaluation.anytime import Point
from mlagentbench.evaluation.grading_worker import Job, Worker
from mlagentbench.evaluation.profile import make_profile
from mlagentbench.evaluation.verdicts import data_of, grader_of
from mlagentbench.grading import Grade
from mlagentbench.record.events import RunEnded, RunStarted, StepTaken
from mlagentbench.record.folder import STORE, RunFolder
from mlagentbench.record.grades import grades_reached_here, remember_grades
from mlagentbench.record.request import RunRequest
from mlagentbench.record.summary import summarise
from mlagentbench.task.preparation import Prepared
from mlagentbench.workspace import Store, find

Progress = Callable[[str], None]
_Data = tuple[Hashable, ...]
_Content = tuple[Hashable, ...]


@dataclass
class Stepwise:
    """A run of which every snapshot was to be graded."""

    run: Path
    snapshots: int = 0
    """Different ones that its record names."""
    graded: int = 0
    """Of them, graded now."""
    reused: int = 0
    """Of them, judged by what the same content was judged as in this or another run."""
    points: tuple[Point, ...] = ()
    best: Point | None = None
    problems: list[str] = field(default_factory=list)
    """Why some of it is not graded, if so."""


@dataclass(frozen=True)
class _Ways:
    """How everything is graded."""

    key: str | None
    sandbox: str | None
    task: str | None
    scratch: Path


@dataclass
class _Run:
    folder: RunFolder
    request: RunRequest
    prepared: Prepared
    snapshots: list[str]
    known: dict[str, Grade]
    told: Stepwise


def grade_steps(
    runs: Iterable[str | Path],
    *,
    workers: int | None = None,
    key: str | None = None,
    sandbox: str | None = None,
    task: str | Path | None = None,
    progress: Progress = lambda line: None,
) -> list[Stepwise]:
    """Grade all snapshots of runs that were not, in processes side by side, and keep the verdicts with the runs.

    Where the submission is a file, content is the same if that file is; else if the whole workspace is. What was judged
    before by this installation, in any run of the same data in the same folder of runs, is not judged again. `task` is
    the folder of the task of runs that were not made here.
    """
    told: list[Stepwise] = []
    opened: list[_Run] = []
    data: dict[_Data, Prepared | str] = {}
    for run in runs:
        told.append(Stepwise(Path(run)))
        if (found := _open(told[-1], data, key, task, progress)) is not None:
            opened.append(found)
    with tempfile.TemporaryDirectory(prefix="mlagentbench-grade-") as scratch:
        ways = _Ways(key, sandbox, str(task) if task is not None else None, Path(scratch))
        _grade_all(opened, workers or len(os.sched_getaffinity(0)), ways, progress)
    for each in opened:
        summarise(each.folder)
        profile = make_profile(each.folder)
        each.told.points, each.told.best = profile.points, profile.best
    return told


def _open(
    told: Stepwise,
    data: dict[_Data, Prepared | str],
    key: str | None,
    task: str | Path | None,
    progress: Progress,
) -> _Run | None:
    """What there is to grade of one run; None, with the reason told, if it cannot be graded."""
    try:
        folder = RunFolder.open(told.run)
        request = local_request(folder, task)
        same = _data(request)
        if same not in data:
            data[same] = _prepared(request, key, progress)
        prepared = data[same]
        if isinstance(prepared, str):
            told.problems.append(prepared)
            return None
        snapshots = _snapshots(folder)
        told.snapshots = len(snapshots)
        return _Run(folder, request, prepared, snapshots, grades_reached_here(folder), told)
    except (RecordError, UsageError) as error:
        told.problems.append(str(error))
        return None


def _prepared(request: RunRequest, key: str | None, progress: Progress) -> Prepared | str:
    try:
        return data_of(request, key, progress)
    except MLAgentBenchError as error:
        return str(error)


def _snapshots(folder: RunFolder) -> list[str]:
    """Every one once, in the order in which they were taken."""
    events = folder.history().events
    return list(
        dict.fromkeys(
            event.snapshot
            for event in events
            if isinstance(event, RunStarted | StepTaken | RunEnded) and event.snapshot
        )
    )


def _data(request: RunRequest) -> _Data:
    """Runs that are equal in this are graded alike."""
    return (
        request.task,
        request.task_folder,
        request.variant,
        request.data_digest,
        request.data_key,
        request.python,
        request.network,
        request.imported is None,
        request.host,
        request.version,
    )


def _content(run: _Run, store: Store, snapshot: str) -> _Content:
    """What a verdict on a snapshot depends on, of the snapshot."""
    task = run.prepared.task
    if not task.trusted or task.definition.program is not None:
        return ("workspace", snapshot, run.request.limits)
    entry = find(store, snapshot, task.definition.submission)
    if entry is None:
        return ("nothing",)
    return ("file", entry.kind, entry.hash, entry.size, entry.target)


@dataclass
class _Waiting:
    """Snapshots of one content, in one or more runs, that have no verdict."""

    job: Job
    timed: bool
    places: list[tuple[_Run, str]]


def _grade_all(
    runs: Sequence[_Run],
    workers: int,
    ways: _Ways,
    progress: Progress,
) -> None:
    waiting = _reuse(runs, ways, progress)
    if not waiting:
        return
    for run in {_data(each.places[0][0].request): each.places[0][0] for each in waiting}.values():
        _measure_baseline(run, ways, progress)
    pool = Pool(min(workers, len(waiting)), ways.scratch)
    timing = threading.Lock()

    def grade(each: _Waiting) -> Grade | str:
        if not each.timed:
            return pool.grade(each.job, progress)
        with timing:  # what is timed would disturb each other
            return pool.grade(each.job, progress)

    with pool.open(), ThreadPoolExecutor(pool.size) as threads:
        futures = {threads.submit(grade, each): each for each in waiting}
        try:
            for done, future in enumerate(as_completed(futures), start=1):
                _keep(futures[future], future.result())
                progress(f"Graded {done} of {len(waiting)} snapshots.")
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            pool.stop()
            raise


def _reuse(runs: Sequence[_Run], ways: _Ways, progress: Progress) -> list[_Waiting]:
    """Give snapshots the verdict that the same content has; the others, by content."""
    known: dict[tuple[_Data, _Content], Grade] = {}
    for run in _neighbours(runs):
        with run.folder.store() as store:
            for snapshot, grade in run.known.items():
                known.setdefault((_data(run.request), _content(run, store, snapshot)), grade)
    waiting: dict[tuple[_Data, _Content], _Waiting] = {}
    for run in runs:
        found: list[Grade] = []
        with run.folder.store() as store:
            for snapshot in run.snapshots:
                if snapshot in run.known:
                    continue
                same = (_data(run.request), _content(run, store, snapshot))
                if same in known:
                    found.append(known[same].model_copy(update={"snapshot": snapshot}))
                    continue
                program = run.prepared.task.definition.program
                each = waiting.setdefault(
                    same,
                    _Waiting(
                        Job(
                            run=run.folder.path,
                            snapshot=snapshot,
                            key=ways.key,
                            sandbox=ways.sandbox,
                            task=ways.task,
                            scratch=ways.scratch,
                        ),
                        timed=program is not None and program.timing is not None,
                        places=[],
                    ),
                )
                each.places.append((run, snapshot))
        if _remember(run, found):
            run.told.reused += len(found)
    if sum(run.told.reused for run in runs):
        progress(f"{sum(run.told.reused for run in runs)} snapshots have content that was graded before.")
    return list(waiting.values())


def _neighbours(runs: Sequence[_Run]) -> Iterator[_Run]:
    """These runs, and all others of the same data in their folders of runs."""
    seen = {run.folder.path for run in runs}
    yield from runs
    places: dict[Path, dict[_Data, _Run]] = {}
    for run in runs:
        places.setdefault(_root(run.folder), {})[_data(run.request)] = run
    for root, by_data in places.items():
        tasks = {run.folder.path.parents[1].name for run in by_data.values()}
        for file in (file for task in tasks for file in root.glob(f"*/{task}/*/*/grades.json")):
            if file.parent in seen:
                continue
            folder = RunFolder(file.parent)
            try:
                request, grades = folder.request(), grades_reached_here(folder)
            except (RecordError, FileNotFoundError):
                continue  # whoever asks for that run is told
            if (alike := by_data.get(_data(request))) is not None:
                yield _Run(folder, request, alike.prepared, [], grades, Stepwise(folder.path))


def _root(folder: RunFolder) -> Path:
    """The folder of runs that it lies in."""
    return next((parent for parent in folder.path.parents if (parent / STORE).is_dir()), folder.path)


def _measure_baseline(run: _Run, ways: _Ways, progress: Progress) -> None:
    """Once, before several processes would each do it. Why there is none, if so, is in every grade."""
    grader = grader_of(run.request, run.prepared, ways.sandbox, ways.scratch / "baseline", progress)
    try:
        grader.baseline()
    except MLAgentBenchError as error:
        progress(f"There is no baseline: {error}")


def _keep(waiting: _Waiting, verdict: Grade | str) -> None:
    for place, (run, snapshot) in enumerate(waiting.places):
        if isinstance(verdict, str):
            run.told.problems.append(verdict)
            continue
        if _remember(run, [verdict.model_copy(update={"snapshot": snapshot})]):
            run.told.graded += place == 0
            run.told.reused += place > 0


def _remember(run: _Run, grades: Sequence[Grade]) -> bool:
    """Keep verdicts with the run; whether that could be done."""
    if not grades:
        return True
    try:
        run.folder.lock()
    except RecordError as error:
        if str(error) not in run.told.problems:
            run.told.problems.append(str(error))
        return False
    try:
        remember_grades(run.folder, grades)
    finally:
        run.folder.unlock()
    return True


class Pool:
    """Processes that grade, each taken by one thread at a time."""

    def __init__(self, size: int, scratch: Path) -> None:
        self.size = max(1, size)
        self._scratch = scratch
        self._free: list[Worker] = []
        self._all: list[Worker] = []
        self._lock = threading.Lock()
        self._stopped = False

    @contextmanager
    def open(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.stop()

    def grade(self, job: Job, progress: Progress) -> Grade | str:
        """The verdict, or why there is none."""
        with self._lock:
            if self._stopped:
                return "Grading was stopped."
            worker = self._free.pop() if self._free else None
            if worker is None or not worker.alive:
                worker = Worker()
                self._all.append(worker)
        answer = worker.grade(job, progress)
        with self._lock:
            self._free.append(worker)
        return answer

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for worker in self._all:
                worker.stop()
            self._all.clear()
            self._free.clear()
