"""A program that is the agent: it works for as long as the run goes on, and stands still while a step of it is kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from mlagentbench.environment.outcome import Outcome
from mlagentbench.environment.output import OutputTurns
from mlagentbench.environment.settling import Settling
from mlagentbench.record.steps import Observation
from mlagentbench.sandbox import Job, LimitReached, Mount, Process

if TYPE_CHECKING:
    from mlagentbench.environment.workbench import Workbench

PROBLEM = "/problem.md"
"""Where the program finds the problem, if the sandbox can mount."""
_NOT_FOUND = (
    "[A command was not found in the sandbox. Give the full path of the program, and show the folder of its "
    "installation with --mount.]"
)
_NOT_FOUND_STATUS = (126, 127)
_TICK = 0.25
_OFTEN = 50
"""Steps after which files settle ever later, so that hours of work are hundreds of steps and not thousands."""
_WAITING = "\n[Stopping. What the program asked its model is under way, and its answer is waited for.]\n"
_STOPPED = "[The program was stopped together with the harness. It starts again when the run is resumed.]"


@dataclass(frozen=True)
class Rhythm:
    """How often a step of the program is kept, in seconds."""

    quiet: float
    """Files that were changed, and then not for so long, have settled."""
    longest: float
    """Files that do not settle are kept all the same after so long."""


class Program:
    """Not started, at work, or standing still between two steps."""

    def __init__(self) -> None:
        self._process: Process | None = None
        self._output = OutputTurns()
        self._rhythm = Rhythm(2.0, 600.0)

    @property
    def alive(self) -> bool:
        return self._process is not None

    def start(self, bench: Workbench, command: str, rhythm: Rhythm) -> Outcome:
        """Start it by a line for the shell, and stay with it until its files have settled or it has ended."""
        self.close()
        self._rhythm = rhythm
        self._output = OutputTurns(bench.redaction)
        return self._work(bench, command)

    def go_on(self, bench: Workbench) -> Outcome:
        return self._work(bench, None)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process = None

    def _work(self, bench: Workbench, command: str | None) -> Outcome:
        file = bench.output_file()
        with file.open("wb") as keep:
            collector = bench.collector(keep)
            self._output.listen(collector)
            later = max(1.0, bench.step / _OFTEN)
            settling = Settling(
                bench.workspace.folder, self._rhythm.quiet * later, self._rhythm.longest * later
            )
            if command is not None:
                self._process = bench.sandbox.start(_job(bench, command), self._output.feed, talks=False)
            process = self._process
            assert process is not None
            process.thaw()
            why, interrupted = "", False
            try:
                why = _stay(bench, process, settling)
            except KeyboardInterrupt:
                process.kill()
                why, interrupted = _STOPPED, True
                if bench.offering is not None and bench.offering.asking:
                    bench.on_output(_WAITING)
            if not process.ended(0):
                process.freeze()
            if process.ended(0):
                self._process = None
                result = process.wait()
                self._output.end()
                self._output.listen(None)
                outcome = bench.outcome(collector, result, file)
                if result.exit_status in _NOT_FOUND_STATUS:
                    why = _NOT_FOUND
                return _ended(outcome, why, interrupted)
            self._output.listen(None)
            text = collector.text().rstrip("\n")
        if not collector.cut:
            file.unlink()
        observation = Observation(text=text or "[no output]", output=file.name if collector.cut else "")
        return Outcome(observation, executed=True, still_alive=True)


def _stay(bench: Workbench, process: Process, settling: Settling) -> str:
    """Until files have settled, the program has ended, or a limit of the run has ended it; then that is told.

    A run that is to stop soon does not wait for any of these, which may take hours.
    """
    next_look = time.monotonic() + settling.pause
    while not process.ended(min(settling.pause, _TICK)):
        if bench.stopping():
            raise KeyboardInterrupt
        if bench.deadline is not None and time.monotonic() >= bench.deadline:
            process.kill(LimitReached("time", bench.limits.time or 0.0))
            return ""
        if spent := _spent(bench):
            process.kill()
            return spent
        if time.monotonic() >= next_look:
            if settling.look():
                return ""
            next_look = time.monotonic() + settling.pause
    return ""


def _spent(bench: Workbench) -> str:
    if bench.desk is None:
        return ""
    exhausted = bench.desk.ledger.exhausted()
    return f"[It was stopped: {exhausted}.]" if exhausted else ""


def _ended(outcome: Outcome, why: str, interrupted: bool) -> Outcome:
    """A program that ended by itself and well has submitted what it leaves."""
    observation = outcome.observation
    if why:
        observation = observation.model_copy(update={"text": f"{observation.text}\n{why}", "ok": False})
    return replace(outcome, observation=observation, final=observation.ok, interrupted=interrupted)


def _job(bench: Workbench, command: str) -> Job:
    job = bench.job(("/bin/sh", "-c", command))
    problem = bench.scratch / "problem.md"
    problem.parent.mkdir(parents=True, exist_ok=True)
    problem.write_text(bench.problem, encoding="utf-8")
    seen_at = str(problem) if bench.sandbox.links_read_only() else PROBLEM
    return replace(
        job,
        mounts=(*job.mounts, Mount(problem, seen_at)),
        environment={**job.environment, **_told(bench, seen_at)},
        secret=frozenset(bench.variables),
    )


def _told(bench: Workbench, problem: str) -> Mapping[str, str]:
    """What the program finds in its environment besides what every program does."""
    told = {
        **bench.variables,
        **bench.about,
        "MLAGENTBENCH_PROBLEM": problem,
        "MLAGENTBENCH_STARTS": str(bench.starts),
    }
    if bench.deadline is not None:
        left = max(0.0, bench.deadline - time.monotonic())
        told["MLAGENTBENCH_SECONDS_LEFT"] = f"{left:.0f}"
        told["MLAGENTBENCH_DEADLINE"] = f"{time.time() + left:.0f}"
    return told
