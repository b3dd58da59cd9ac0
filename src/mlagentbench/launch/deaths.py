"""Runs whose process died: the record keeps each death, and after so many of them the run is ended as what it is."""

from __future__ import annotations

from mlagentbench.errors import MLAgentBenchError
from mlagentbench.evaluation.verdicts import grade
from mlagentbench.record.events import Note, RunEnded, RunStarted
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.journal import Journal, append_note
from mlagentbench.record.summary import summarise
from mlagentbench.workspace import remove_tree

_MARK = "died"
_LONGEST = 4_000


def deaths(folder: RunFolder) -> int:
    """How often the record says that the process of this run died."""
    return sum(isinstance(event, Note) and _MARK in event.data for event in folder.history().events)


def note_death(folder: RunFolder, how: str) -> int:
    """Keep that it died; how often it has by now."""
    folder.lock()
    try:
        text = how[-_LONGEST:]
        append_note(folder, Note(text=f"The process of this run died: {text}", data={_MARK: text}))
    finally:
        folder.unlock()
    return deaths(folder)


def give_up(folder: RunFolder, why: str, *, key: str | None = None) -> str:
    """End the run as one that died. What its last step left is graded, as that of every run is; should that fail too,
    it says why."""
    journal = Journal(folder)
    try:
        if journal.ended is None:
            journal.append(
                RunEnded(
                    reason="died",
                    detail=why[-_LONGEST:],
                    snapshot=journal.last_snapshot(),
                    elapsed=journal.elapsed(),
                )
            )
        began = any(isinstance(event, RunStarted) for event in journal.events)
    finally:
        journal.close()
    for left in (folder.workspace, folder.scratch):
        if left.exists():
            remove_tree(left)
    summarise(folder)
    if began:
        try:
            grade(folder.path, key=key)
        except MLAgentBenchError as error:
            return f"It could not be graded: {error}"
    return ""
