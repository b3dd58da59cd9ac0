"""What a guided agent is offered from step to step."""

from __future__ import annotations

import pytest
from support.acting import steps_of
from telling import EDIT as CODE
from telling import Told, completion, replies

from mlagentbench import run
from mlagentbench.agent.guiding import direction, failed_before, leading_on, without_effect
from mlagentbench.record import Action
from mlagentbench.record.events import Edit, PathChange, StepTaken
from mlagentbench.record.steps import Execution, Observation

SHOWN = ("Read File", "Edit Script (AI)", "Execute Script", "Final Answer")
READ, EDIT, RUN, END = SHOWN
UNDO = "Undo Edit Script"


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
        ([], (READ, RUN)),
        ([step(READ)], (RUN,)),
        ([step(READ, ok=False)], (READ, RUN)),
        ([step(RUN)], (READ, EDIT)),
        ([step(RUN, ok=False)], (READ, EDIT)),
        ([step(RUN), step(EDIT)], (RUN,)),
        ([step(RUN), step(EDIT), step(READ)], (RUN,)),
        ([step(RUN), step(EDIT, ok=False)], (READ, EDIT)),
        ([step(RUN), step(EDIT, changed=False)], (READ,)),
        ([step(RUN), step(READ)], (EDIT,)),
        ([step(RUN), step(EDIT), step(RUN, ok=False)], (READ, EDIT)),
        ([step(RUN), step(EDIT), step(RUN, ok=False), step(EDIT)], (RUN,)),
        ([step(RUN), step(EDIT), step(RUN)], (READ, EDIT, END)),
        ([step(RUN), step(EDIT), step(RUN), step(EDIT)], (RUN,)),
        ([step(RUN), step(EDIT), step(RUN), step(READ)], (EDIT, END)),
        ([step(RUN, ok=False), step(EDIT, changed=False), step(READ)], (EDIT,)),
    ],
)
def test_only_what_leads_on_is_offered(history: list[StepTaken], offered: tuple[str, ...]) -> None:
    assert leading_on(SHOWN, history) == offered


def test_where_nothing_can_be_run_there_are_edits() -> None:
    assert leading_on((READ, EDIT), []) == (READ, EDIT)


def test_where_nothing_is_left_everything_is_offered() -> None:
    assert leading_on((READ,), [step(READ)]) == (READ,)


def test_what_failed_is_known_until_something_changes() -> None:
    failed = step(EDIT, ok=False).model_copy(update={"observation": Observation(text="No.", ok=False)})
    same, other = Action(EDIT, {}), Action(EDIT, {"edit_instruction": "Something else."})
    assert failed_before(same, [failed, step(READ)]) == "", "the model that edits may do better"
    assert failed_before(same, [failed, failed, step(READ)]) == "No."
    assert failed_before(other, [failed, failed]) == ""
    assert failed_before(same, [failed, failed, step(EDIT)]) == ""
    missing = step(READ, ok=False).model_copy(update={"observation": Observation(text="No file.", ok=False)})
    assert failed_before(Action(READ, {}), [missing]) == "No file."
    assert failed_before(Action(READ, {}), [step(READ)]) == ""
    idle = step(EDIT, changed=False).model_copy(update={"observation": Observation(text="Unchanged.")})
    assert failed_before(same, [idle, idle]) == "Unchanged."


def test_a_guided_agent_is_told_not_to_repeat_a_failure(tiny_task, runs, speak_with) -> None:
    editing = {"script_name": "train.py", "edit_instruction": "Better.", "save_name": "train.py"}
    ending = Action(EDIT, {**editing, "edit_instruction": "Take the mean."})
    running = Action(RUN, {"script_name": "train.py"})
    story = [running, *[Action(EDIT, editing)] * 3, ending, running]
    story.append(Action(END, {"final_answer": "The mean."}))
    act = Told(replies("json", "react", story))
    speak_with(act, Told([completion("No code."), completion("No code."), completion(CODE)]))
    done = run(tiny_task, "react", "test/told", settings={"profile": "small"}, runs=runs)
    assert [each.action for each in steps_of(done)] == [*story[:3], *story[4:]]
    last = act.asked[4][0][-1].content
    assert f'{EDIT} {{"script_name": "train.py"' in last and "was tried, and led nowhere" in last
    assert act.asked[4][0][:-1] == act.asked[3][0][:-1], "its reply is not shown to it: it would say it again"


def test_what_misled_twice_is_not_offered_again_for_the_decision(tiny_task, runs, speak_with) -> None:
    missing, running = Action(READ, {"file_name": "notes.md"}), Action(RUN, {"script_name": "train.py"})
    edit = Action(EDIT, {"script_name": "train.py", "edit_instruction": "Better.", "save_name": "train.py"})
    act = Told(replies("json", "react", [running, missing, missing, missing, edit]))
    speak_with(act, Told([completion(CODE)]))
    run(tiny_task, "react", "test/told", settings={"profile": "small"}, runs=runs, limits={"steps": 3})
    offers = ["\n".join(message.content for message in call[0]) for call in act.asked]
    assert [f"among these: {READ}, {EDIT}." in each for each in offers[1:]] == [True, True, True, False]
    assert f"among these: {EDIT}." in offers[4]
    assert [call[1].temperature for call in act.asked] == [0.2, 0.2, 0.2, 0.8, 0.8]


def test_edits_that_fail_are_undone_when_repairs_fail_too() -> None:
    shown = (*SHOWN[:-1], UNDO, SHOWN[-1])
    failed = [step(RUN), step(EDIT), step(RUN, ok=False)]
    assert UNDO not in leading_on(shown, failed[:1]) and UNDO not in leading_on(shown, failed[:2])
    assert set(leading_on(shown, failed)) >= {EDIT, UNDO}, "to repair or to undo"
    twice = [*failed, step(EDIT), step(RUN, ok=False)]
    assert leading_on(shown, twice) == (UNDO,)
    assert UNDO in leading_on(shown, [*twice, step(UNDO)]), "the first edit stands, and is known to fail"
    back = leading_on(shown, [*twice, step(UNDO), step(UNDO)])
    assert EDIT in back and UNDO not in back and END not in back
    assert leading_on(SHOWN, twice) != (UNDO,), "where it is not shown, it cannot be done"


def test_the_editing_model_sees_how_the_script_failed(tiny_task, runs, speak_with) -> None:
    running = Action(RUN, {"script_name": "train.py"})
    edit = Action(EDIT, {"script_name": "train.py", "edit_instruction": "Better.", "save_name": "train.py"})
    edited = Told([completion("```python\nraise ValueError('no such column')\n```"), completion(CODE)])
    reading = Action(READ, {"file_name": "train.csv"})
    story = [reading, running, edit, running, edit, running, Action(END, {"final_answer": "Done."})]
    speak_with(Told(replies("json", "react", story)), edited)
    run(tiny_task, "react", "test/told", settings={"profile": "small"}, runs=runs)
    first, second = (asked[0][0].content for asked in edited.asked)
    assert "it failed" not in first and "ValueError: no such column" in second
    assert "The beginning of train.csv" in first and "id,speed,angle,wind,distance" in first
    assert [asked[1].seed for asked in edited.asked] == [3, 5], "another step, another answer"


def ran(score: float, index: int, ok: bool = True) -> StepTaken:
    observation = step(RUN, ok).observation.model_copy(update={"text": f"validation MAE: {score}"})
    return step(RUN, ok).model_copy(update={"observation": observation, "index": index})


def test_an_agent_that_changed_no_score_is_not_done() -> None:
    assert END not in leading_on(SHOWN, [ran(3.5, 1), step(EDIT), ran(3.5, 3)])
    assert END in leading_on(SHOWN, [ran(3.5, 1), step(EDIT), ran(3.4, 3)])


def test_an_edit_without_effect_is_remarked_on() -> None:
    edit = step(EDIT).model_copy(update={"index": 2})
    assert "exactly what it was" in without_effect([ran(3.5, 1), edit, ran(3.5, 3)])
    assert without_effect([ran(3.5, 1), edit, ran(3.4, 3)]) == ""
    assert without_effect([ran(3.5, 1), ran(3.5, 2)]) == "", "nothing was edited"
    assert without_effect([edit, ran(3.5, 2)]) == "", "there is nothing to compare with"
    assert without_effect([ran(3.5, 1), edit, ran(3.5, 3, ok=False)]) == ""
    assert without_effect([ran(3.5, 1), edit]) == ""


def test_what_repairs_did_not_mend_is_undone_down_to_what_worked_and_not_run_again() -> None:
    shown = (*SHOWN, UNDO)
    twice = [ran(3.5, 1), step(EDIT), ran(3.5, 3, ok=False), step(EDIT), ran(3.5, 5, ok=False)]
    assert leading_on(shown, [*twice, step(UNDO)]) == (UNDO,)
    assert RUN not in leading_on(shown, [*twice, step(UNDO), step(UNDO)])


def test_each_new_idea_has_a_direction_of_its_own_and_repairs_have_none() -> None:
    start = [ran(3.5, 1)]
    better = [*start, step(EDIT), ran(3.4, 3)]
    broken = [*start, step(EDIT), ran(3.5, 3, ok=False)]
    first, second = direction(SHOWN, start), direction(SHOWN, better)
    assert "stronger" in first and "settings" in second
    assert direction(SHOWN, [*better, step(EDIT), ran(3.3, 5), step(EDIT), ran(3.2, 7)]) == first, "and again"
    assert direction(SHOWN, broken) == ""
    assert direction(SHOWN, [*broken, step(EDIT), ran(3.4, 5)]) == second, "a repair is no idea of its own"
    assert direction(SHOWN, [*broken, step(UNDO)]) == second
    assert direction((READ, RUN), start) == "", "where nothing can be edited"
