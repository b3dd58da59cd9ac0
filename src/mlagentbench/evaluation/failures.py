"""Why a run did not succeed: one failure mode, from rules that are tried in a fixed order, with what was seen.

`docs/process.md` states the rules in the same order. A person can correct the outcome with `mlagentbench annotate`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from mlagentbench.evaluation.claims import Claim, Claims
from mlagentbench.evaluation.process import Process
from mlagentbench.grading import Grade
from mlagentbench.record.annotations import FailureMode, read_annotations
from mlagentbench.record.events import Event, LimitHit, ModelCalled, Note, RunEnded, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.request import RunRequest

RULES = 4
"""Raised when what is said of a run can change, so that what was kept is made anew."""
_LONGEST_EVIDENCE = 500
_LONGEST_QUOTE = 160
_OFTEN = 3
"""So many times is no accident: failures in a row, repetitions of a claim."""
_CIRCLE = 6
"""Steps at the end of a run that are looked at for going round in circles."""


class Failure(BaseModel):
    model_config = ConfigDict(frozen=True)
    mode: FailureMode
    evidence: str
    """What was seen, in a sentence or two."""
    step: int | None = None
    by: Literal["rules", "person"] = "rules"
    ruled: FailureMode | None = None
    """What the rules said, where a person corrected it."""


_NOT_GRADED = Failure(
    mode="none",
    evidence="It was imported and is not graded here, so that nobody knows whether it succeeded. `mlagentbench show` "
    "says why; `mlagentbench grade` grades it once that can be done.",
)


@dataclass(frozen=True)
class _Run:
    """What the rules look at."""

    events: Sequence[Event]
    steps: list[StepTaken]
    ended: RunEnded
    grade: Grade | None
    process: Process
    claims: Claims


_Rule = Callable[[_Run], Failure | None]


def find_failure(
    folder: RunFolder,
    request: RunRequest,
    events: Sequence[Event],
    grade: Grade | None,
    process: Process,
    claims: Claims,
) -> Failure:
    """The failure mode of a run, as a person corrected it if one did."""
    if request.own is not None:
        return Failure(
            mode="none", evidence="A project of one's own has no grade, so that nothing failed or succeeded."
        )
    ruled = _NOT_GRADED if _untold(request, events, grade) else rule(events, grade, process, claims)
    said = read_annotations(folder).failure
    if said is None:
        return ruled
    note = f": {said.note}" if said.note else ""
    evidence = f"{said.name or 'A person'} says so{note} (the rules: {ruled.mode}; {ruled.evidence})"
    return Failure(
        mode=said.mode,
        evidence=_cut(evidence, _LONGEST_EVIDENCE),
        step=ruled.step,
        by="person",
        ruled=ruled.mode,
    )


def _untold(request: RunRequest, events: Sequence[Event], grade: Grade | None) -> bool:
    """Whether nobody knows if the run succeeded: another program made it, and it was not graded here."""
    over = any(isinstance(event, RunEnded) for event in events)
    return request.imported is not None and grade is None and over


def rule(events: Sequence[Event], grade: Grade | None, process: Process, claims: Claims) -> Failure:
    """The failure mode by the rules alone: the first of them that fits."""
    ended = next((event for event in reversed(events) if isinstance(event, RunEnded)), None)
    if ended is None:
        return Failure(mode="none", evidence="The run has not ended.")
    if grade is not None and grade.valid and grade.success:
        gain = f" by {100 * grade.improvement:.1f} %" if grade.improvement is not None else ""
        return Failure(mode="none", evidence=f"The run succeeded: better than the baseline{gain}.")
    steps = [event for event in events if isinstance(event, StepTaken)]
    run = _Run(events, steps, ended, grade, process, claims)
    for attempt in (_infrastructure, _token_length, _hallucination, _debugging, _circles, _limit):
        if (found := attempt(run)) is not None:
            return found.model_copy(update={"evidence": _cut(found.evidence, _LONGEST_EVIDENCE)})
    return Failure(mode="bad plan", evidence=_cut(_outcome(run), _LONGEST_EVIDENCE), step=_last_step(run))


def _infrastructure(run: _Run) -> Failure | None:
    """Not the agent's work failed: its program crashed, its model was out of reach, or there is no verdict."""
    if run.ended.reason in ("error", "died"):
        what = "The agent's program crashed" if run.ended.reason == "error" else "The run's process died"
        detail = run.ended.detail.strip().splitlines()[-1:] or [""]
        return Failure(
            mode="infrastructure",
            evidence=f"{what} after step {_last_step(run) or 0}: {_quote(detail[0])}",
            step=_last_step(run),
        )
    calls = _deciding(run)
    if calls and calls[-1].error and calls[-1].error_kind not in ("TooLongError", "OverLimitError"):
        return Failure(
            mode="infrastructure",
            evidence=f"The last call of the model failed ({calls[-1].error_kind}): {_quote(calls[-1].error)}",
            step=_last_step(run),
        )
    if run.grade is None:
        return Failure(
            mode="infrastructure", evidence="The run ended and has no grade.", step=_last_step(run)
        )
    return None


def _token_length(run: _Run) -> Failure | None:
    """The model's context or output budget was what it came to grief by."""
    calls = _deciding(run)
    if calls and calls[-1].error_kind == "TooLongError" and run.ended.reason == "stopped":
        return Failure(
            mode="token length",
            evidence=f"The prompt no longer fitted the model, and the agent stopped: {_quote(calls[-1].error)}",
            step=_last_step(run),
        )
    last = calls[-_OFTEN:]
    cut = [call for call in last if call.completion and call.completion.stop_reason == "length"]
    if run.ended.reason == "stopped" and len(last) >= 2 and len(cut) == len(last):
        return Failure(
            mode="token length",
            evidence=f"The last {len(cut)} replies were cut off at the output budget, and the agent stopped.",
            step=_last_step(run),
        )
    all_cut = sum(bool(call.completion and call.completion.stop_reason == "length") for call in calls)
    if run.process.lost_decisions and all_cut and 2 * all_cut >= len(calls):
        return Failure(
            mode="token length",
            evidence=f"{all_cut} of {len(calls)} replies were cut off at the output budget; "
            f"{run.process.lost_decisions} steps were lost.",
            step=next((step.index for step in run.steps if step.action.name == "No Action"), None),
        )
    return None


def _hallucination(run: _Run) -> Failure | None:
    """It reported what it had not seen, or built on a number that nothing showed."""
    told = [claim for claim in run.claims.unsupported if claim.where == "answer"]
    if told:
        return Failure(
            mode="hallucination", evidence=f"The final answer claims {_told(told[0])}", step=told[0].step
        )
    built_on = [claim for claim in run.claims.unsupported if claim.times >= _OFTEN]
    if built_on:
        claim = max(built_on, key=lambda each: each.times)
        return Failure(
            mode="hallucination",
            evidence=f"From step {claim.step} on, {claim.times} times, the agent claims {_told(claim)}",
            step=claim.step,
        )
    return None


def _debugging(run: _Run) -> Failure | None:
    """Stuck on errors: programs that fail again and again, actions that are refused, replies that cannot be read."""
    ran = [step for step in run.steps if step.observation.execution is not None]
    ends_failing = bool(ran) and not ran[-1].observation.ok
    if run.process.longest_failing >= _OFTEN and (ends_failing or not (run.grade and run.grade.valid)):
        first = _start_of_longest(ran)
        return Failure(
            mode="debugging",
            evidence=f"{run.process.longest_failing} executions in a row failed, from step {first.index} on; "
            f"{run.process.failed_experiments} of {run.process.experiments} failed in all. "
            f"There: {_quote(_last_line(first))}",
            step=first.index,
        )
    refused = [step for step in run.steps if not step.observation.ok]
    if len(refused) >= _OFTEN and 2 * len(refused) > len(run.steps):
        return Failure(
            mode="debugging",
            evidence=f"{len(refused)} of {len(run.steps)} steps failed, {run.process.repeated_errors} of them as "
            f"others had before. The last: {_quote(_last_line(refused[-1]))}",
            step=refused[-1].index,
        )
    gave_up = run.ended.reason == "stopped" and run.process.format_errors >= 2
    if gave_up and any(isinstance(event, Note) and "could be used" in event.text for event in run.events):
        return Failure(
            mode="debugging",
            evidence=f"{run.process.format_errors} replies of the model could not be read as an action, and the agent "
            f"stopped.",
            step=_last_step(run),
        )
    return None


def _circles(run: _Run) -> Failure | None:
    """It did the same over and over until a limit came."""
    if run.ended.reason != "limit" or len(run.steps) < _CIRCLE:
        return None
    done: set[tuple[str, str, str]] = set()
    again = []
    for step in run.steps:
        what = (step.action.name, repr(sorted(step.action.args.items())), _result(step))
        if what in done:
            again.append(step)
        done.add(what)
    late = [step for step in again if step.index > len(run.steps) - _CIRCLE]
    if 2 * len(late) >= _CIRCLE and 3 * len(again) >= len(run.steps):
        return Failure(
            mode="bad plan",
            evidence=f"It went round in circles until the limit: {len(again)} of {len(run.steps)} steps repeated an "
            f"earlier one with the same outcome, {len(late)} of the last {_CIRCLE}. {_outcome(run)}",
            step=again[0].index,
        )
    return None


def _limit(run: _Run) -> Failure | None:
    """A limit of the run came before it was done."""
    if run.ended.reason != "limit":
        return None
    hit = next((event for event in run.events if isinstance(event, LimitHit)), None)
    name = f"{hit.name} ({hit.value:g}{' s' if hit.name == 'time' else ''})" if hit else "a limit"
    return Failure(
        mode="limit",
        evidence=f"The limit of {name} was reached after step {_last_step(run) or 0}. {_outcome(run)}",
        step=_last_step(run),
    )


def _outcome(run: _Run) -> str:
    """What a run that did its work came to."""
    process, grade = run.process, run.grade
    did = f"{process.steps} steps, {process.edits} edits, {process.experiments} executions"
    if grade is None or not grade.valid:
        return f"It left nothing that can be graded ({did}): {_quote(grade.reason if grade else 'no grade')}"
    gain = f"{100 * grade.improvement:+.1f} %" if grade.improvement is not None else "no known improvement"
    withheld = f" {grade.withheld}" if grade.withheld else ""
    return f"What it left is worth {gain} against the baseline ({did}).{withheld}"


def _deciding(run: _Run) -> list[ModelCalled]:
    """What the agent itself asked for; `tree` decides by whole scripts, which the edit model writes."""
    calls = [event for event in run.events if isinstance(event, ModelCalled) and not event.inside]
    return [call for call in calls if call.role == "act"] or [call for call in calls if call.role == "edit"]


def _start_of_longest(ran: list[StepTaken]) -> StepTaken:
    best: list[StepTaken] = []
    row: list[StepTaken] = []
    for step in ran:
        row = [] if step.observation.ok else [*row, step]
        if len(row) > len(best):
            best = row
    return best[0]


def _result(step: StepTaken) -> str:
    """The observation without how long it took."""
    return "\n".join(step.observation.output_lines)


def _last_line(step: StepTaken) -> str:
    lines = [line for line in _result(step).splitlines() if line.strip()]
    return lines[-1] if lines else step.observation.text


def _last_step(run: _Run) -> int | None:
    return run.steps[-1].index if run.steps else None


def _told(claim: Claim) -> str:
    near = (
        f"; nearest to it is {claim.nearest:.6g} at step {claim.nearest_step}"
        if claim.nearest is not None
        else ""
    )
    return f"what nothing before it shows{near}: {_quote(claim.text)}"


def _quote(text: str) -> str:
    return f"‘{_cut(' '.join(text.split()), _LONGEST_QUOTE)}’"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
