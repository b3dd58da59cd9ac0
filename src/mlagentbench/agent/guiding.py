"""Which actions lead on from where a run stands: small models lose themselves in the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from mlagentbench.agent.measuring import validation_score
from mlagentbench.agent.prompting import prompt
from mlagentbench.record import Action
from mlagentbench.record.events import StepTaken

_EDITS = {"Write File", "Append File", "Copy File", "Edit Script (AI)", "Edit Script Segment (AI)"}
_READ = "Read File"
_RUN, _UNDO, _END = "Execute Script", "Undo Edit Script", "Final Answer"
_REPAIRS = 2
"""Edited scripts in a row that may fail before they are set back to what worked."""
_LONGEST_ERROR = 600
_LONGEST_READING = 1_200

_Version = Literal["not run", "ran", "failed"]


def leading_on(shown: Sequence[str], history: Sequence[StepTaken]) -> tuple[str, ...]:
    """No edit before a first run, which is the baseline; no action again before something was edited or, to look at it,
    executed; after an edit, the script is run; edits are undone only where they failed, and must be, down to what
    worked, when repairs failed too; no end before an edited script has run without an error and, if it prints one, with
    another score. Where that would leave none, edits; and where there are none of these, all.

    What could not be carried out may be tried again, in another way: see `failed_before`.
    """
    versions: list[_Version] = ["not run"]
    measured = False
    done: set[str] = set()
    for step in history:
        name = step.action.name
        if step.observation.execution is not None:
            versions[-1] = "ran" if step.observation.ok else "failed"
            measured, done = True, {name}
        elif step.edits and step.changes:
            versions.append("not run")
            done = set()
        elif name == _UNDO and step.observation.ok and len(versions) > 1:
            versions.pop()
            done = {_RUN} if versions[-1] == "ran" else set()
        elif step.observation.ok:
            done.add(name)
    edited = len(versions) > 1
    untried = edited and versions[-1] == "not run"
    failed = edited and versions[-1] == "failed"
    if untried and _RUN in shown:
        return (_RUN,)
    given_up = versions[-_REPAIRS:] == ["failed"] * _REPAIRS or (history and history[-1].action.name == _UNDO)
    if failed and given_up and _UNDO in shown:
        return (_UNDO,)
    if untried or (not measured and _RUN in shown):
        done |= _EDITS
    if not failed:
        done.add(_UNDO)
    scores = [
        _score(step) for step in history if step.observation.execution is not None and step.observation.ok
    ]
    if not (edited and versions[-1] == "ran") or (scores[-1] is not None and len(set(scores)) == 1):
        done.add(_END)
    edits = tuple(name for name in shown if name in _EDITS)
    return tuple(name for name in shown if name not in done) or edits or tuple(shown)


def direction(offered: Sequence[str], history: Sequence[StepTaken]) -> str:
    """The kind of change that the next edit should make, where one is offered that is not a repair: one kind after the
    other."""
    ideas, failed = 0, False
    for step in history:
        if step.observation.execution is not None:
            failed = not step.observation.ok
        elif step.edits and step.changes:
            ideas += not failed
        elif step.action.name == _UNDO:
            failed = False
    return "" if failed or not _EDITS.intersection(offered) else kind_of_change(ideas)


def kind_of_change(ideas: int) -> str:
    """What the next idea should change, after so many others."""
    kinds = prompt("directions").splitlines()
    return kinds[ideas % len(kinds)]


def informing(history: Sequence[StepTaken], editing: Action) -> str:
    """What helps to edit a script and is not in it: the beginning of the other file that was read last, and the end of
    what the script printed when it failed, where it was not edited since."""
    told = []
    script = editing.args.get("script_name")
    for step in reversed(history):
        name = step.action.args.get("file_name")
        if step.action.name == _READ and step.observation.ok and name != script:
            told.append(prompt("read_before", name=str(name), text=step.observation.text[:_LONGEST_READING]))
            break
    if error := _last_error(history):
        told.append(prompt("failed_run", error=error))
    return "\n\n".join(told)


def _last_error(history: Sequence[StepTaken]) -> str:
    for step in reversed(history):
        if step.observation.execution is not None:
            return "" if step.observation.ok else step.observation.text.strip()[-_LONGEST_ERROR:]
        if step.edits and step.changes:
            break
    return ""


def failed_before(action: Action, history: Sequence[StepTaken]) -> str:
    """What came of exactly this action, where it failed, or was an edit that changed nothing, and nothing has changed
    since then; else nothing. The model that edits may do better at a second try, so edits are known by two failures."""
    tries = 2 if action.name in _EDITS else 1
    for step in reversed(history):
        if step.action == action and (not step.observation.ok or (step.edits and not step.changes)):
            tries -= 1
            if not tries:
                return step.observation.text
        if step.changes:
            break
    return ""


def without_effect(history: Sequence[StepTaken]) -> str:
    """A remark on the last step, where it ran what was edited and the validation score is what it was before."""
    *before, last = history
    score = _score(last)
    if score is None:
        return ""
    earlier = next((step for step in reversed(before) if _score(step) is not None), None)
    if earlier is None or _score(earlier) != score or not any(step.edits for step in before[earlier.index :]):
        return ""
    return "The score is exactly what it was before the edit. Edit something that the score depends on."


def _score(step: StepTaken) -> float | None:
    ran = step.observation.execution is not None and step.observation.ok
    return validation_score(step.observation.text) if ran else None
