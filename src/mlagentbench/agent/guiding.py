"""Which actions lead on from where a run stands: small models lose themselves in the others."""

from __future__ import annotations

from collections.abc import Sequence

from mlagentbench.record.events import StepTaken

_EDITS = {"Write File", "Append File", "Copy File", "Edit Script (AI)", "Edit Script Segment (AI)"}
_END = "Final Answer"


def leading_on(shown: Sequence[str], history: Sequence[StepTaken]) -> tuple[str, ...]:
    """No action twice in a row, unless it could not be carried out; no edit upon an edit that was not run; no end
    before an edited script has run without an error. All actions where that would leave none."""
    edited = untried = worked = False
    last = ""
    for step in history:
        executed = step.observation.execution is not None
        last = step.action.name if step.observation.ok or executed else ""
        if executed:
            untried, worked = False, step.observation.ok
        elif step.edits and step.changes:
            edited = untried = True
    too_early = (
        {last} | (_EDITS if untried else set()) | (set() if edited and worked and not untried else {_END})
    )
    return tuple(name for name in shown if name not in too_early) or tuple(shown)
