"""The record of one run while it goes on: what happened so far, and where the next event is written."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from mlagentbench.errors import RecordError
from mlagentbench.model.redaction import Redaction
from mlagentbench.record.events import Event, ModelCalled, Note, Resumed, RunEnded, RunStarted, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.log import EventLog

_OUR_WORDS = frozenset({"type", "role", "model", "request", "snapshot"})
"""Entries that hold names and hashes, and nothing that anybody wrote. A secret may be a word that is one of them."""


class Journal:
    """Holds the run's lock until it is closed. Several threads may append to it."""

    def __init__(self, folder: RunFolder, redaction: Redaction | None = None) -> None:
        self._redaction = redaction or Redaction()
        folder.lock()
        self._folder = folder
        self._appending = threading.Lock()
        history = folder.history()
        if problem := folder.end_problem(history):
            folder.unlock()
            raise RecordError(problem)
        self.events: list[Event] = list(history.events)
        self._log = folder.log()
        if self.events and self.ended is None:
            self.append(Resumed(step=len(self.steps()), dropped=history.dropped))

    def append(self, event: Event) -> None:
        """When this returns, the event is on disk, without the secrets of the run."""
        event = self._redaction.said(event, but=_OUR_WORDS)
        with self._appending:
            self._log.append(event)
            self.events.append(event)

    def extend(self, events: Iterable[Event]) -> None:
        for event in events:
            self.append(event)

    @property
    def started(self) -> RunStarted | None:
        first = self.events[0] if self.events else None
        return first if isinstance(first, RunStarted) else None

    @property
    def ended(self) -> RunEnded | None:
        return next((event for event in reversed(self.events) if isinstance(event, RunEnded)), None)

    def steps(self) -> list[StepTaken]:
        return [event for event in self.events if isinstance(event, StepTaken)]

    def elapsed(self) -> float:
        """Working seconds that the record tells of."""
        timed = (
            event.elapsed for event in reversed(self.events) if isinstance(event, StepTaken | ModelCalled)
        )
        return next(timed, 0.0)

    def last_snapshot(self) -> str:
        """The workspace as the record has it."""
        for event in reversed(self.events):
            if isinstance(event, StepTaken | RunStarted | RunEnded):
                return event.snapshot
        return ""

    def close(self) -> None:
        self._log.close()
        if self.ended is not None:
            self._folder.sign_end(self._log.head, len(self.events))
        self._folder.unlock()


def append_note(folder: RunFolder, note: Note) -> None:
    """Add a note to a record that this process has locked, be the run over or not."""
    history = folder.history()
    log = EventLog(folder.events_file, history)
    log.append(note)
    log.close()
    if any(isinstance(event, RunEnded) for event in history.events):
        folder.sign_end(log.head, len(history.events) + 1)
