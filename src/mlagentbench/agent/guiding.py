"""Which actions lead on from where a run stands: small models lose themselves in the others."""

from __future__ import annotations

from collections.abc import Sequence

from mlagentbench.record import Action
from mlagentbench.record.events import StepTaken

_EDITS = {"Write File", "Append File", "Copy File", "Edit Script (AI)", "Edit Script Segment (AI)"}
_END = "Final Answer"


def leading_on(shown: Sequence[str], history: Sequence[StepTaken]) -> tuple[str, ...]:
    """No action again before something was edited or, to look at it, executed; no edit upon an edit that was not run;
    no end before an edited script has run without an error. All actions where that would leave none.

    What could not be carried out may be tried again, in another way: see `failed_before`.
    """
    edited = untried = worked = False
    done: set[str] = set()
    for step in history:
        if step.observation.execution is not None:
            untried, worked = False, step.observation.ok
            done = {step.action.name}
        elif step.edits and step.changes:
            edited = untried = True
            done = set()
        elif step.observation.ok:
            done.add(step.action.name)
    if untried:
        done |= _EDITS
    if untried or not (edited and worked):
        done.add(_END)
    return tuple(name for name in shown if name not in done) or tuple(shown)


def failed_before(action: Action, history: Sequence[StepTaken]) -> str:
    """What came of exactly this action, where it failed and nothing has changed since then; else nothing."""
    for step in reversed(history):
        if step.action == action and not step.observation.ok:
            return step.observation.text
        if step.changes:
            break
    return ""
