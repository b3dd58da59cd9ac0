"""Doing what an experiment lacks on this machine: as many runs at once as cores, memory and GPUs allow."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from mlagentbench.errors import RecordError
from mlagentbench.launch.board import Board, Line, Measuring, Onlooker
from mlagentbench.launch.deaths import note_death
from mlagentbench.launch.demand import memory_of, needs_of
from mlagentbench.launch.machine import Machine, Needs, Share, free_disk
from mlagentbench.launch.orders import MeasureOrder, Message, Order, RunOrder
from mlagentbench.launch.plan import Plan
from mlagentbench.launch.processes import ForkerDiedError, Processes
from mlagentbench.record.folder import RunFolder, new_run_id, run_path
from mlagentbench.record.summary import read_summary
from mlagentbench.units import format_size

_TICK = 0.25
_BETWEEN_LOOKS_AT_DISK = 2.0
_GRACE = 15.0
"""Seconds that processes get to let go of their runs when all is aborted."""


@dataclass
class _Job:
    """A process that does something."""

    work: Line | Measuring
    share: Share
    order: Order
    ending: Message | None = None

    @property
    def gives_up(self) -> bool:
        return isinstance(self.order, RunOrder) and bool(self.order.give_up)


class Local:
    """One experiment on this machine, until everything is done or somebody stops it."""

    def __init__(
        self,
        board: Board,
        plan: Plan,
        machine: Machine,
        processes: Processes,
        onlooker: Onlooker,
        key: str | None,
    ) -> None:
        self._board = board
        self._plan = plan
        self._machine = machine
        self._processes = processes
        self._onlooker = onlooker
        self._key = key
        self._measurings = deque(each for each in board.measurings if each.state == "missing")
        self._lines = deque(line for line in board.lines if line.state in ("missing", "unfinished"))
        self._last_words: deque[tuple[Line, str]] = deque()
        """Runs to be ended as died, and why."""
        self._jobs: dict[int, _Job] = {}
        self._numbers = 0
        self._refused: dict[str, str] = {}
        self._asked_to_stop = 0
        self._told_to_stop = 0
        self._killed_at = 0.0
        self._disk_looked_at = 0.0

    def go(self) -> None:
        with self._heeding_signals():
            self._look_at_disk()
            while True:
                self._pass_on_stops()
                self._launch()
                if not self._jobs:
                    return
                try:
                    for message in self._processes.messages(_TICK):
                        self._hear(message)
                except ForkerDiedError as error:
                    self._give_in(str(error))
                self._look_at_disk()
                self._onlooker.ticked(self._board)

    @contextmanager
    def _heeding_signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM once: stop between two steps. Twice: at once."""

        def asked(number: int, frame: FrameType | None) -> None:
            self._asked_to_stop += 1

        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = [(number, signal.signal(number, asked)) for number in (signal.SIGINT, signal.SIGTERM)]
        try:
            yield
        finally:
            for number, handler in before:
                signal.signal(number, handler)

    def _pass_on_stops(self) -> None:
        if self._asked_to_stop and not self._told_to_stop:
            self._stop("stopped")
        if self._asked_to_stop > 1 and self._told_to_stop == 1:
            self._told_to_stop = 2
            self._killed_at = time.monotonic() + _GRACE
            self._say("Aborting. What was in hand is cut short; everything can still be resumed.")
            self._processes.stop_now()
        if self._told_to_stop == 2 and time.monotonic() > self._killed_at:
            self._killed_at = time.monotonic() + _GRACE
            self._processes.kill()

    def _stop(self, why: str) -> None:
        """Let the steps in hand be finished, and start nothing any more."""
        self._board.stopping = why
        self._told_to_stop = max(self._told_to_stop, 1)
        if self._jobs:
            programs = sum(
                isinstance(job.work, Line) and job.work.cell.agent == "command" for job in self._jobs.values()
            )
            others = len(self._jobs) - programs
            words = []
            if others:
                words.append(f"Finishing the steps in hand of {others} runs; Ctrl-C again aborts them.")
            if programs:
                words.append(
                    f"Stopping the programs of {programs} runs now; they start again from their files when the runs "
                    "are resumed."
                )
            self._say(" ".join(words))
            self._processes.stop_soon()

    def _look_at_disk(self) -> None:
        now = time.monotonic()
        if now - self._disk_looked_at < _BETWEEN_LOOKS_AT_DISK or self._board.stopping:
            return
        self._disk_looked_at = now
        self._check_disk()

    def _check_disk(self) -> bool:
        """False if too little is left, whereupon everything stops."""
        free, least = free_disk(self._board.folder), self._plan.resources.keep_free
        if free >= least or self._board.stopping:
            return free >= least
        self._say(
            f"Only {format_size(free)} of disk are free at {self._board.folder}, and {format_size(least)} shall stay "
            "free. Make room and start again, or set keep_free lower."
        )
        self._stop("disk")
        return False

    def _say(self, text: str) -> None:
        self._onlooker.noted(self._board, text)

    # What is started, and with what.

    def _launch(self) -> None:
        while self._last_words and self._told_to_stop < 2:
            line, why = self._last_words[0]
            share = self._machine.take(Needs(1, 0))
            if share is None:
                return
            self._last_words.popleft()
            self._start(line, share, self._run_order(line, share, why))
        if self._board.stopping:
            return
        while self._measurings:
            measuring = self._measurings[0]
            line = next(line for line in self._board.lines if line.cell.data == measuring.data)
            share = self._machine.take(needs_of(line, self._plan, self._machine))
            if share is None:
                return
            self._measurings.popleft()
            task, variant, seed = measuring.data
            order = MeasureOrder(
                task=task,
                variant=variant,
                data_seed=seed,
                what=measuring.what,
                network=line.cell.network,
                plan=self._plan,
                key=self._key,
            )
            self._start(measuring, share, order)
        measured_later = {each.data for each in self._board.measurings if each.state != "done"}
        for line in [line for line in self._lines if line.cell.data not in measured_later]:
            if refused := self._refused.get(line.cell.model.model if line.cell.model else ""):
                self._lines.remove(line)
                self._hold(line, refused)
                continue
            share = self._machine.take(needs_of(line, self._plan, self._machine))
            if share is None:
                return
            self._lines.remove(line)
            self._start(line, share, self._run_order(line, share))

    def _run_order(self, line: Line, share: Share, give_up: str = "") -> RunOrder:
        runs, experiment = self._board.folder.parent, self._board.folder.name
        if line.folder is None:
            cell, model = line.cell, line.cell.model.model if line.cell.model else ""
            line.folder = run_path(runs, experiment, line.wanted.task.id, cell.name, model, new_run_id())
        return RunOrder(
            cell=line.cell,
            plan=self._plan,
            runs=runs,
            experiment=experiment,
            folder=line.folder,
            give_up=give_up,
            key=self._key,
            memory=None if memory_of(line) else share.memory or None,
            gpus=share.gpus,
        )

    def _start(self, work: Line | Measuring, share: Share, order: Order) -> None:
        self._numbers += 1
        self._jobs[self._numbers] = _Job(work, share, order)
        self._board.lanes = max(self._board.lanes, len(self._jobs))
        if isinstance(work, Line):
            going_on = work.recorded
            work.state, work.began, work.note = "running", time.monotonic(), ""
            if not self._jobs[self._numbers].gives_up:
                self._onlooker.moved(self._board, work, "goes on" if going_on else "started")
        else:
            work.state = "running"
        self._processes.start(self._numbers, order, share.cores)

    # What is heard of it.

    def _hear(self, message: Message) -> None:
        job = self._jobs[message.job]
        work = job.work
        match message.kind:
            case "ending":
                job.ending = message
            case "gone":
                del self._jobs[message.job]
                self._machine.give_back(job.share)
                self._account(job, message)
            case "lost":
                del self._jobs[message.job]
                self._machine.give_back(job.share)
                self._take_up_again(job, message)
            case "started" | "step" | "call" if isinstance(work, Line):
                work.step, work.cost = message.step, message.cost
            case "note":
                if isinstance(work, Line):
                    work.note = message.text
                    self._onlooker.said(self._board, work, message.text)
                else:
                    self._say(message.text)

    def _account(self, job: _Job, gone: Message) -> None:
        """What a process that is gone has come to."""
        if isinstance(job.work, Measuring):
            self._account_measuring(job.work, job.ending, gone)
            return
        line = job.work
        took = time.monotonic() - line.began
        line.cpu += gone.cpu
        line.seconds += took
        match job.ending.ending if job.ending else None:
            case "done":
                self._finish(line)
            case "stopped":
                self._leave(line, "stopped")
            case "model" | "refused" | "machine" as how:
                assert job.ending is not None
                if how == "refused" and line.cell.model is not None:
                    self._refused[line.cell.model.model] = job.ending.text
                self._hold(line, job.ending.text)
            case _ if self._told_to_stop and not job.gives_up and gone.status < 0:
                self._leave(line, "cut short")
            case _:
                self._bury(job, line, _how(job.ending, gone))

    def _account_measuring(self, measuring: Measuring, ending: Message | None, gone: Message) -> None:
        measuring.state = "done"
        if ending is not None and ending.ending == "done":
            return
        if self._told_to_stop:
            measuring.state = "missing"
            return
        measuring.problem = f"The {measuring.told} could not be measured: {_how(ending, gone)}"
        self._board.notes.append(measuring.problem)
        self._say(measuring.problem)

    def _finish(self, line: Line) -> None:
        assert line.folder is not None
        line.state, line.here = "ended", True
        line.summary = read_summary(RunFolder(line.folder))
        line.step, line.cost = line.summary.steps, line.summary.cost
        self._onlooker.moved(self._board, line, "ended")

    def _leave(self, line: Line, text: str) -> None:
        line.state = "unfinished" if line.recorded else "missing"
        self._onlooker.moved(self._board, line, text)

    def _hold(self, line: Line, why: str) -> None:
        line.state, line.detail = "held", why
        self._onlooker.moved(self._board, line, f"held back: {why}")

    def _bury(self, job: _Job, line: Line, how: str) -> None:
        """A process died by itself: the run is taken up again, or, after so many deaths, ended as what it is."""
        if job.gives_up:
            line.state, line.detail = "lost", how
            self._onlooker.moved(self._board, line, f"died, and could not be recorded as such: {how}")
            return
        if not self._check_disk():
            self._leave(line, f"died while the disk was full: {how}")
            return
        times = self._note(line, how)
        if times <= self._plan.resumes:
            self._leave(line, f"died ({times} of {self._plan.resumes + 1}), and is taken up again: {how}")
            self._lines.appendleft(line)
        else:
            self._last_words.append((line, f"Its process died {times} times; the last time: {how}"))

    def _note(self, line: Line, how: str) -> int:
        """How often it has died, this time included."""
        if line.folder is not None and line.recorded:
            try:
                return note_death(RunFolder(line.folder), how) + line.early_deaths
            except RecordError as error:
                self._say(str(error))
        line.early_deaths += 1
        return line.early_deaths

    def _take_up_again(self, job: _Job, lost: Message) -> None:
        """The process that starts the others died, and took this one along; it is nobody's fault among them."""
        work = job.work
        if job.ending is not None:
            self._account(job, lost)
        elif isinstance(work, Measuring):
            work.state = "missing"
            self._measurings.appendleft(work)
        elif isinstance(job.order, RunOrder) and job.gives_up:
            self._last_words.append((work, job.order.give_up))
        else:
            self._leave(
                work, "cut short, because the process that starts the runs was killed; it is taken up again"
            )
            self._lines.appendleft(work)

    def _give_in(self, why: str) -> None:
        """No process can be started any more."""
        self._say(why)
        self._board.stopping = self._board.stopping or "died"
        self._last_words.clear()
        for job in self._jobs.values():
            self._machine.give_back(job.share)
            if isinstance(job.work, Measuring):
                job.work.state = "missing"
            else:
                self._leave(job.work, "cut short")
        self._jobs.clear()


def _how(ending: Message | None, gone: Message) -> str:
    """How a process ended that had not done its work."""
    if ending is not None and ending.text:
        return ending.text
    said = gone.text.strip()
    last = f" It said:\n{said}" if said else ""
    if gone.status < 0:
        return f"it was killed by signal {-gone.status}, {signal.strsignal(-gone.status)}.{last}"
    return f"it ended with status {gone.status}.{last}"
