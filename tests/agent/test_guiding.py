"""What a guided agent is offered from step to step."""

from __future__ import annotations

import pytest
from support.acting import steps_of
from telling import EDIT as CODE
from telling import Told, completion, replies

from mlagentbench import run
from mlagentbench.agent.guiding import failed_before, leading_on
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


def test_what_failed_is_known_until_something_changes() -> None:
    failed = step(EDIT, ok=False).model_copy(update={"observation": Observation(text="No.", ok=False)})
    same, other = Action(EDIT, {}), Action(EDIT, {"edit_instruction": "Something else."})
    assert failed_before(same, [failed, step(READ)]) == "No."
    assert failed_before(other, [failed]) == ""
    assert failed_before(same, [failed, step(EDIT)]) == ""
    assert failed_before(Action(READ, {}), [step(READ)]) == ""


def test_a_guided_agent_is_told_not_to_repeat_a_failure(tiny_task, runs, speak_with) -> None:
    editing = {"script_name": "train.py", "edit_instruction": "Better.", "save_name": "train.py"}
    ending = Action(EDIT, {**editing, "edit_instruction": "Take the mean."})
    story = [Action(EDIT, editing), Action(EDIT, editing), ending, Action(RUN, {"script_name": "train.py"})]
    story.append(Action(END, {"final_answer": "The mean."}))
    act = Told(replies("json", "react", story))
    speak_with(act, Told([completion("No code."), completion(CODE)]))
    done = run(tiny_task, "react", "test/told", settings={"profile": "small"}, runs=runs)
    assert [each.action for each in steps_of(done)] == [story[0], *story[2:]]
    assert "Exactly this was tried and failed" in act.asked[2][0][-1].content
