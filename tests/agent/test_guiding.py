"""What a guided agent is offered from step to step."""

from __future__ import annotations

import pytest

from mlagentbench.agent.guiding import leading_on
from mlagentbench.record import Action
from mlagentbench.record.events import Edit, PathChange, StepTaken
from mlagentbench.record.steps import Execution, Observation

SHOWN = ("Read File", "Edit Script (AI)", "Execute Script", "Final Answer")
READ, EDIT, RUN, END = SHOWN


def step(name: str, ok: bool = True, changed: bool = True) -> StepTaken:
    edits = (Edit(source="train.py", saved="train.py"),) if name == EDIT and ok else ()
    changes = (PathChange(path="train.py", kind="changed"),) if edits and changed else ()
    execution = (
        Execution(exit_status=0 if ok else 1, wall_seconds=0, cpu_seconds=0, peak_memory=0)
        if name == RUN
        else None
    )
    return StepTaken(
        index=1,
        action=Action(name, {}),
        observation=Observation(text="", ok=ok, execution=execution),
        snapshot="",
        changes=changes,
        edits=edits,
        seconds=0,
        elapsed=0,
    )


@pytest.mark.parametrize(
    ("history", "offered"),
    [
        ([], (READ, EDIT, RUN)),
        ([step(READ)], (EDIT, RUN)),
        ([step(READ, ok=False)], (READ, EDIT, RUN)),
        ([step(RUN)], (READ, EDIT)),
        ([step(EDIT)], (READ, RUN)),
        ([step(EDIT), step(READ)], (RUN,)),
        ([step(EDIT, ok=False)], (READ, EDIT, RUN)),
        ([step(EDIT, changed=False)], (READ, RUN)),
        ([step(READ), step(EDIT, changed=False)], (RUN,)),
        ([step(RUN), step(READ)], (EDIT,)),
        ([step(EDIT), step(RUN, ok=False)], (READ, EDIT)),
        ([step(EDIT), step(RUN, ok=False), step(EDIT)], (READ, RUN)),
        ([step(EDIT), step(RUN)], (READ, EDIT, END)),
        ([step(EDIT), step(RUN), step(EDIT)], (READ, RUN)),
        ([step(EDIT), step(RUN), step(READ)], (EDIT, END)),
    ],
)
def test_only_what_leads_on_is_offered(history: list[StepTaken], offered: tuple[str, ...]) -> None:
    assert leading_on(SHOWN, history) == offered


def test_where_nothing_is_left_everything_is_offered() -> None:
    assert leading_on((READ,), [step(READ)]) == (READ,)
