"""Scripted models drive the paper's agents through whole runs: to the end, killed and resumed, and forked."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path

import pytest
from support.acting import events_of, steps_of
from telling import EDIT, STORY, Killed, Told, completion, entries_for, replies, reply, script_line, timeless

from mlagentbench import Action, fork, load_task, resume, run
from mlagentbench.environment.models import ModelChoice
from mlagentbench.record.events import ModelCalled, Note
from mlagentbench.record.folder import RunFolder
from mlagentbench.workspace import find, read

CASES = [
    ("research", "text", {}),
    ("research", "tools", {}),
    ("research", "json", {}),
    ("research", "text", {"retrieval": True}),
    ("research", "tools", {"retrieval": True}),
    ("react", "text", {}),
    ("react", "tools", {}),
    ("react", "json", {"profile": "small", "guided": False}),
    ("act", "text", {}),
    ("act", "tools", {}),
]


def fast() -> Told:
    return Told(lambda call: completion(f"summary {call}"), name="test/fast")


def calls_of(folder: Path, role: str) -> list[ModelCalled]:
    return [event for event in events_of(folder) if isinstance(event, ModelCalled) and event.role == role]


def log_of(folder: Path) -> list[str]:
    """The research log as the last step found it."""
    store, snapshot = RunFolder.open(folder).store(), steps_of(folder)[-1].snapshot
    if find(store, snapshot, "research_log.log") is None:
        return []
    return read(store, snapshot, "research_log.log", 10_000).decode().splitlines()


@pytest.mark.parametrize(("agent", "protocol", "settings"), CASES)
def test_a_scripted_model_drives_an_agent_to_a_graded_submission(
    tiny_task, runs, speak_with, agent, protocol, settings
):
    act = Told(replies(protocol, agent))
    speak_with(act, Told([completion(EDIT)]), fast())
    done = run(tiny_task, agent, "test/told", settings={"protocol": protocol, **settings}, runs=runs)
    assert [step.action for step in steps_of(done)] == STORY
    assert done.summary.ended == "submitted" and done.grade is not None and done.grade.valid
    assert act.said == len(STORY), "one call a decision"
    retrieving = bool(settings.get("retrieval"))
    # A log entry for each step but the last, and a retrieval when steps have left the context.
    assert len(calls_of(done.folder, "fast")) == (5 + 2 if retrieving else 0)


@pytest.mark.parametrize(
    ("agent", "protocol", "settings"),
    [case for case in CASES if case[0] == "research" and case[1] != "json"] + [CASES[5], CASES[8]],
)
def test_a_file_of_completions_drives_an_agent_through_house_price(runs, tmp_path, agent, protocol, settings):
    plain = (load_task("house-price").folder / "plain" / "train.py").read_text()
    reading = {"file_name": "data_description.txt", "things_to_look_for": "columns about size"}
    story = [STORY[0], Action("Understand File", reading), *STORY[3:]]
    scripts = {
        "act": replies(protocol, agent, story),
        "edit": [completion(f"```python\n{plain}```")],
        "fast": [completion(f"summary {number}") for number in range(20)],
    }
    for name, said in scripts.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(script_line, said)))
    models = ModelChoice(*(f"mock/{tmp_path / name}.jsonl" for name in scripts))
    done = run("house-price", agent, models, settings={"protocol": protocol, **settings}, runs=runs)
    assert [step.action for step in steps_of(done)] == story
    assert done.summary.ended == "submitted" and done.grade is not None and done.grade.valid
    assert done.grade.improvement is not None and done.grade.improvement > 0


@pytest.mark.parametrize(("agent", "protocol", "settings"), CASES)
def test_a_run_killed_in_any_model_call_goes_on_to_the_same_end(
    tiny_task, tmp_path, speak_with, agent, protocol, settings
):
    chosen = {"protocol": protocol, **settings}
    reference = Told(replies(protocol, agent))
    speak_with(reference, Told([completion(EDIT)]), fast())
    whole = run(tiny_task, agent, "test/told", settings=chosen, runs=tmp_path / "whole")

    chance = random.Random(f"{agent}{protocol}{settings}")
    met: set[int] = set()

    def killing(call: int) -> None:
        """The first call is always cut off, half of the others are."""
        if call not in met:
            met.add(call)
            if call == 0 or chance.random() < 0.5:
                raise Killed

    act = Told(replies(protocol, agent), before=killing)
    reader = fast()
    reader.before = lambda call: killing(1000 + call)
    speak_with(act, Told([completion(EDIT)], before=lambda call: killing(100 + call)), reader)
    with pytest.raises(Killed):
        run(tiny_task, agent, "test/told", settings=chosen, runs=tmp_path / "runs")
    (folder,) = (found.parent for found in (tmp_path / "runs").glob("*/*/*/*/run.json"))
    again = None
    while again is None:
        with contextlib.suppress(Killed):
            again = resume(folder)
    assert [step.action for step in steps_of(folder)] == STORY
    assert [step.snapshot for step in steps_of(folder)] == [step.snapshot for step in steps_of(whole)]
    assert again.grade is not None and whole.grade is not None and again.grade.score == whole.grade.score
    assert len(calls_of(folder, "fast")) == len(calls_of(whole.folder, "fast"))
    kept = [
        line
        for index, call in enumerate((0, 1, 2, 3, 5), start=1)
        for line in (f"Step {index}:", f"summary {call}", "")
    ]
    assert log_of(folder) == log_of(whole.folder) == (kept if settings.get("retrieval") else [])
    assert not any("research_log.log" in str(step.changes) for step in steps_of(folder)), "no step wrote it"
    for (messages, sampling, tools), expected in zip(act.asked, reference.asked, strict=True):
        texts = [message.model_copy(update={"content": timeless(message.content)}) for message in messages]
        wanted = [
            message.model_copy(update={"content": timeless(message.content)}) for message in expected[0]
        ]
        assert (texts, sampling, tools) == (wanted, expected[1], expected[2])


@pytest.mark.parametrize("protocol", ["text", "tools", "json"])
def test_a_run_is_forked_at_a_step_and_goes_on_with_another_model(tiny_task, runs, speak_with, protocol):
    speak_with(Told(replies(protocol)), Told([completion(EDIT)]), fast())
    first = run(tiny_task, "research", "test/told", settings={"protocol": protocol}, runs=runs)
    ending = Action("Final Answer", {"final_answer": "The starter."})
    other = Told([reply(protocol, entries_for("research", 9), ending)], name="test/other")
    speak_with(other)
    forked = fork(first.folder, 3, model="test/other")
    assert [step.action for step in steps_of(forked)] == [*STORY[:3], ending]
    assert other.said == 1 and forked.summary.ended == "submitted"
    assert [call.model for call in calls_of(forked.folder, "act")] == ["test/told"] * 3 + ["test/other"]


def test_a_run_by_tool_calls_is_forked_to_a_model_that_has_none(tiny_task, runs, speak_with):
    speak_with(Told(replies("tools")), Told([completion(EDIT)]), fast())
    first = run(tiny_task, "research", "test/told", settings={"protocol": "auto"}, runs=runs)
    assert all(call.completion.tool_calls for call in calls_of(first.folder, "act"))
    other = Told(replies("text")[3:], name="test/other", speaks_tools=False)
    speak_with(other, Told([completion(EDIT)]), fast())
    forked = fork(first.folder, 3, model="test/other")
    assert [step.action for step in steps_of(forked)] == STORY and forked.summary.ended == "submitted"
    messages, _, tools = other.asked[0]
    assert not tools and "Action: Execute Script" in messages[-2].content
    assert messages[-1].content.startswith("Observation:")


def test_notes_are_not_repeated_by_a_resumed_run(tiny_task, runs, speak_with):
    bad = completion("no entry at all")
    armed = [True]

    def kill(call: int) -> None:
        if call == 3 and armed:
            armed.clear()
            raise Killed

    act = Told([bad, bad, *replies("text", "react")], before=kill)
    speak_with(act, Told([completion(EDIT)]), fast())
    settings = {"max_tries": 2, "lost_decisions": 2}
    with pytest.raises(Killed):
        run(tiny_task, "react", "test/told", settings=settings, runs=runs)
    (folder,) = (found.parent for found in runs.glob("*/*/*/*/run.json"))
    again = resume(folder)
    assert again.summary.ended == "submitted"
    notes = [event.text for event in events_of(folder) if isinstance(event, Note)]
    assert len([note for note in notes if "None of 2 replies" in note]) == 1
    assert steps_of(folder)[0].action.name == "No Action"


def test_the_record_keeps_every_setting_so_that_a_later_default_changes_nothing(tiny_task, runs, speak_with):
    speak_with(Told(replies("json", "react")), Told([completion(EDIT)]), fast())
    done = run(tiny_task, "react", "test/told", settings={"profile": "small"}, runs=runs)
    kept = json.loads((done.folder / "run.json").read_text())["settings"]
    assert kept == RunFolder.open(done.folder).request().settings
    assert kept["protocol"] == "json" and kept["temperature"] == 0.2 and kept["max_tries"] == 5
