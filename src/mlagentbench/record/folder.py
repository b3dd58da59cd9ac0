"""A run on disk: where its parts lie, and who may write them."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from pydantic import ValidationError

from mlagentbench import bounds
from mlagentbench.errors import RecordError, UsageError
from mlagentbench.record import signature
from mlagentbench.record.files import open_part, read_part, write_atomically
from mlagentbench.record.log import EventLog, History, read_head, read_history
from mlagentbench.record.naming import folder_name
from mlagentbench.record.request import RunRequest
from mlagentbench.record.signature import End, Origin, SignedAs
from mlagentbench.validation import problems_of
from mlagentbench.workspace import Store

STORE = ".store"
_NAME = re.compile(r"[\w+-][\w.+-]*")
_Read = TypeVar("_Read")


def name_problem(name: str) -> str:
    """What is wrong with what an experiment is called, whose runs lie in a folder of that name; empty if nothing."""
    if _NAME.fullmatch(name):
        return ""
    return (
        f"{name!r} is no plain name for an experiment; use letters, digits, '-', '_', '+' and dots, "
        "and no dot at the beginning"
    )


def new_run_id() -> str:
    """Sortable by time, unique without coordination."""
    now = time.time_ns()
    return (
        time.strftime("%Y%m%d-%H%M%S-", time.gmtime(now // 10**9))
        + f"{now // 10**6 % 1000:03d}{secrets.token_hex(2)}"
    )


def run_path(runs: Path, experiment: str, task: str, agent: str, model: str, run: str) -> Path:
    """Where a run lies, or will lie: `agent` is what it is called, `run` its id."""
    return runs / experiment / task.partition("@")[0] / folder_name(agent, model) / run


def is_run(path: Path) -> bool:
    """Whether there is a run in this folder; its `run.json` is written in one piece, after its signature."""
    return (path / "run.json").is_file()


class RunFolder:
    """One run's folder. `open` it for reading; `lock` it before writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.request_file = path / "run.json"
        self.events_file = path / "events.jsonl"
        self.outputs = path / "outputs"
        self.workspace = path / "workspace"
        self.scratch = path / "scratch"
        self.grades_file = path / "grades.json"
        self.summary_file = path / "summary.json"
        self.evaluation_file = path / "evaluation.json"
        self.annotations_file = path / "annotations.json"
        self.signature_file = path / signature.NAME
        self._lock: int | None = None

    @classmethod
    def create(cls, runs: Path, experiment: str, request: RunRequest) -> RunFolder:
        """A new folder under `runs`, with its `run.json`."""
        if problem := name_problem(experiment):
            raise UsageError(f"{problem}.")
        where = run_path(runs, experiment, request.task, request.called, request.model, request.id)
        folder = cls(where)
        folder.path.mkdir(parents=True, exist_ok=True)
        if is_run(folder.path):
            raise RecordError(f"{folder.path} is a run already. `mlagentbench resume` goes on with it.")
        (runs / STORE).mkdir(exist_ok=True)
        folder.write_request(request, "made")
        return folder

    def write_request(self, request: RunRequest, signed_as: SignedAs) -> None:
        """Signed first, so that there is no instant at which a run of our own is not known as that."""
        data = request.model_dump_json(indent=1).encode() + b"\n"
        signature.sign_run(self.path, data, signed_as)
        write_atomically(self.request_file, data)

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """The run at `path`, or a sentence that says what is wrong with it."""
        folder = cls(Path(path).absolute())
        if not folder.request_file.is_file():
            raise RecordError(
                f"{path} is not a run: it has no run.json. `mlagentbench list --runs` shows the runs."
            )
        return folder

    def request(self) -> RunRequest:
        try:
            return RunRequest.model_validate_json(self.request_bytes())
        except ValidationError as error:
            problem = problems_of(error, RunRequest)[0]
            raise RecordError(f"{self.request_file} is damaged: {problem}") from None

    def request_bytes(self) -> bytes:
        return read_part(self.path, self.request_file.name, bounds.REQUEST)

    @property
    def origin(self) -> Origin:
        """Whether it was made here, imported or trusted; `foreign` if nothing proves that."""
        return signature.origin_of(self.path, self.request_bytes())

    def history(self) -> History:
        return read_history(self.events_file, self.request_bytes())

    def end_problem(self, history: History) -> str:
        """What happened to the record after the run ended here; empty if nothing did."""
        now = End(head=history.head, events=len(history.events))
        return signature.end_problem(self.path, self.request_bytes(), now)

    def sign_end(self, head: str, events: int) -> None:
        """Sign the record as it ends now, if the run is one of our own."""
        signature.sign_end(self.path, self.request_bytes(), End(head=head, events=events))

    def head(self) -> str:
        """The head of its history, found without reading all of it."""
        return read_head(self.events_file, self.request_bytes())

    def open_output(self, name: str) -> BinaryIO:
        """A whole output that a record names; refused if that is anything but a plain file in outputs/."""
        if self.outputs.is_symlink():
            raise RecordError(f"{self.outputs} is a link, not a folder.")
        return open_part(self.outputs, name)

    def log(self) -> EventLog:
        """The writing end of its events; a torn last line is cut off."""
        return EventLog(self.events_file, self.history())

    def store(self) -> Store:
        """The store that this run's snapshots lie in: that of the nearest folder above which has one."""
        for parent in self.path.parents:
            if (parent / STORE).is_dir():
                return Store(parent / STORE)
        raise RecordError(
            f"No {STORE} folder was found above {self.path}: the run was moved away from its snapshots."
        )

    def lock(self) -> None:
        """Become the one process that writes this run, until it ends or `unlock`."""
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        for patience in (0.01, 0.04, 0.15, 0.0):  # somebody who only looks holds it for an instant
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(patience)
        else:
            os.close(descriptor)
            raise RecordError(f"{self.path} is being written by another process. Wait for it, or stop it.")
        self._lock = descriptor
        for left in self.path.glob(".*.json.*"):
            left.unlink(missing_ok=True)

    def is_written(self) -> bool:
        """Whether a process that is alive writes this run: it goes on, or is being graded."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
        return False

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def find_runs(places: Iterator[Path] | list[Path]) -> list[RunFolder]:
    """All runs at or below the given folders, oldest first."""
    found: dict[Path, RunFolder] = {}
    for place in places:
        if not place.exists():
            raise RecordError(f"{place} does not exist. Give a run's folder, or a folder that holds runs.")
        for folder, folders, files in os.walk(place):
            if "run.json" in files:
                path = Path(folder).absolute()
                found[path] = RunFolder(path)
                folders.clear()  # what an agent wrote is no run, and may go away meanwhile
            elif STORE in folders:
                folders.remove(STORE)
    return sorted(found.values(), key=lambda folder: folder.path.name)


def read_each(
    runs: Iterable[RunFolder], read: Callable[[RunFolder], _Read]
) -> tuple[list[tuple[RunFolder, _Read]], list[tuple[RunFolder, str]]]:
    """The runs that can be read, each with what `read` makes of it; and the others, each with what is wrong."""
    found: list[tuple[RunFolder, _Read]] = []
    damaged: list[tuple[RunFolder, str]] = []
    for run in runs:
        try:
            run.request()  # what was derived from it may be there still, and proves nothing
            found.append((run, read(run)))
        except (RecordError, OSError) as error:
            damaged.append((run, str(error)))
    return found, damaged
