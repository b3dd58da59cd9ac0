"""Watching a run: a line for what is done, the program's output as it comes, a line for what came of it."""

from __future__ import annotations

import errno
import os
import shlex
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from mlagentbench.cli.screen import Part, Screen, cleaned
from mlagentbench.cli.words import arguments_of, call_in_words, changed_paths, head_of, shortened, tell_grade
from mlagentbench.environment.watch import Spacing
from mlagentbench.environment.workbench import how_it_ended
from mlagentbench.launch.run import Run
from mlagentbench.model.errors import ModelError
from mlagentbench.record import Action, RunFolder
from mlagentbench.record.events import ModelCalled, StepTaken
from mlagentbench.units import format_duration

MOST_LINES = 200
"""Lines of one step's output that are shown live; the record has all of them."""
_LONGEST_LINE = 2_000
_BETWEEN_PASSING = 0.1


class LiveWatch:
    """A `Watch` that draws. With `brief`, steps are left to whoever takes them, such as a person at a prompt."""

    def __init__(self, screen: Screen, *, brief: bool = False) -> None:
        self._screen = screen
        self._brief = brief
        self._line = ""
        self._lines = 0
        self._passed_at = 0.0
        self._drawing = threading.Lock()
        """A program's calls of a model are told while it writes its output."""
        self._spacing = Spacing(0.0)
        self.folder: RunFolder | None = None
        self.steps = 0

    def started(self, folder: RunFolder) -> None:
        """The run's folder is there; from now on the run can be resumed."""
        self.folder = folder
        head_of(self._screen, folder.request())

    def action(self, index: int, action: Action) -> None:
        self.steps = index
        self._line, self._lines = "", 0
        if not self._brief:
            self._screen.line(
                (f"{index:>4}  ", "label"), (action.name, "name"), "  ", (arguments_of(action), "dim")
            )

    def output(self, text: str) -> None:
        with self._drawing:
            self._output(text)

    def _output(self, text: str) -> None:
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            self._show(line)
        self._line = self._line[-_LONGEST_LINE:]
        now = time.monotonic()
        if now - self._passed_at >= _BETWEEN_PASSING:
            self._passed_at = now
            self._screen.passing(_last_written(self._line))

    def _show(self, line: str) -> None:
        self._lines += 1
        if self._brief or self._lines > MOST_LINES:
            return
        self._screen.line(("      " + shortened_line(_last_written(line)), "dim"))
        if self._lines == MOST_LINES:
            self._screen.line(("      … more output follows; the record keeps all of it", "dim"))

    def model(self, call: ModelCalled) -> None:
        with self._drawing:
            self._screen.line((f"      {call_in_words(call)}", "dim"))

    def waiting(self, what: str, seconds: float) -> None:
        with self._drawing:
            so_far = f" ({format_duration(seconds)})" if seconds >= 1 else ""
            shown = f"      {shortened(what, 300)}{so_far}" if what else ""
            self._screen.passing(shown)
            if self._spacing.worth_a_line(what, seconds) and not self._screen.shows_passing:
                self._screen.line((shown, "dim"))

    def step(self, step: StepTaken, replayed: bool) -> None:
        self.steps = step.index
        if self._line:
            self._show(self._line)
            self._line = ""
        self._screen.passing("")
        if replayed:
            self._screen.line(
                (f"{step.index:>4}  {step.action.name}  {arguments_of(step.action)}  (recorded)", "dim")
            )
        elif not self._brief:
            self._screen.line("      ", *result_of(step), (f"  {format_duration(step.seconds)}", "dim"))
            if step.changes:
                paths = changed_paths(change.path for change in step.changes)
                self._screen.line((f"      changed: {paths}", "dim"))

    def note(self, text: str) -> None:
        self._screen.line((text, "label"))


def result_of(step: StepTaken) -> list[Part]:
    """One line of what came of a step."""
    observation = step.observation
    ran = observation.execution
    text = how_it_ended(ran) if ran is not None and ran.known else shortened(observation.text, 100)
    return [("✓ ", "good") if observation.ok else ("✗ ", "bad"), text]


def shortened_line(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def _last_written(line: str) -> str:
    """What a terminal shows of a line that was written over and over."""
    return cleaned(line.rstrip("\r").rsplit("\r", 1)[-1])


@contextmanager
def resumable(watch: LiveWatch) -> Iterator[None]:
    """Turn Ctrl-C, SIGTERM and a model that cannot be had into the line that goes on with the run."""
    try:
        yield
    except ModelError as error:
        if watch.folder is None:
            raise
        place = shlex.quote(str(watch.folder.path))
        click.echo(f"mlagentbench: {error}\nGo on with:\n  mlagentbench resume {place}", err=True)
        raise click.exceptions.Exit(error.exit_status) from None
    except OSError as error:
        if watch.folder is None or error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        unwritten = (
            os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else watch.folder.path
        )
        click.echo(
            f"mlagentbench: The disk is full: {unwritten} could not be written. What the run did so far is kept. Free "
            "some of the disk (`mlagentbench gc` helps), then go on with:\n"
            f"  mlagentbench resume {shlex.quote(str(watch.folder.path))}",
            err=True,
        )
        raise click.exceptions.Exit(1) from None
    except KeyboardInterrupt:
        place = str(watch.folder.path) if watch.folder else "last" if watch.steps else ""
        if place:
            click.echo(f"\nStopped. Go on with:\n  mlagentbench resume {shlex.quote(place)}", err=True)
        else:
            click.echo("\nStopped before the run began.", err=True)
        raise click.exceptions.Exit(130) from None


def tell_end(screen: Screen, run: Run) -> None:
    """How it ended, the verdict, where it lies and what to do next."""
    summary = run.summary
    why = f": {summary.detail}" if summary.detail else ""
    screen.line(
        ("ended   ", "label"),
        (f"{summary.ended or 'not yet'}{why}", "bad" if summary.ended == "error" else ""),
        f" after {summary.steps} steps and {format_duration(summary.elapsed)}",
    )
    tell_grade(screen, run.grade)
    screen.line(("run     ", "label"), str(run.folder))


def succeeded(run: Run) -> bool:
    """Whether the run did what a run is for: it ended without a crash and left something that could be graded."""
    return run.summary.ended != "error" and run.grade is not None and run.grade.valid
