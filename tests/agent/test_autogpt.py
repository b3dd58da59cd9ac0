"""The loop of AutoGPT: its JSON commands, its memory, and whole runs, killed and resumed too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.acting import events_of, steps_of
from telling import EDIT, STORY, Told, completion, killed_and_resumed, killer, script_line

from mlagentbench import Action, load_task, resume, run
from mlagentbench.agent.autogpt import AutoGptAgent, AutoGptSettings, CommandSpeech
from mlagentbench.agent.protocol import Decision, FormatError, Vocabulary
from mlagentbench.agent.settings import settings_table
from mlagentbench.environment.models import ModelChoice
from mlagentbench.model.spec import Completion
from mlagentbench.record.events import ModelCalled

SHOWN = ("List Files", "Edit Script (AI)", "Final Answer")
SPEECH = CommandSpeech(Vocabulary(AutoGptAgent.entries, SHOWN, SHOWN), constrained=True)


def written(action: Action, number: int = 0) -> str:
    thoughts = {entry.lower(): f"{entry} {number}" for entry in AutoGptAgent.entries}
    return json.dumps({"thoughts": thoughts, "command": {"name": action.name, "args": action.args}})


REPLIES = [completion(written(action, number)) for number, action in enumerate(STORY, start=1)]


def fast() -> Told:
    return Told(lambda call: completion(f"memory {call}"), name="test/fast")


@pytest.mark.parametrize("settings", [{}, {"profile": "small", "guided": False}])
def test_a_scripted_model_drives_it_to_a_graded_submission(tiny_task, runs, speak_with, settings):
    act = Told(REPLIES)
    speak_with(act, Told([completion(EDIT)]), fast())
    done = run(tiny_task, "autogpt", "test/told", settings={"steps_in_context": 2, **settings}, runs=runs)
    assert [step.action for step in steps_of(done)] == STORY
    assert done.summary.ended == "submitted" and done.grade is not None and done.grade.valid
    messages, sampling, _ = act.asked[-1]
    assert "Constraints:" in messages[0].content and "Goals:" in messages[0].content
    assert "memory 2" in messages[1].content, "of the three steps that have left the context"
    assert (sampling.json_schema is not None) == bool(settings)


def test_a_file_of_completions_drives_it_through_house_price(runs, tmp_path):
    plain = (load_task("house-price").folder / "plain" / "train.py").read_text()
    scripts = {
        "act": REPLIES,
        "edit": [completion(f"```python\n{plain}```")],
        "fast": [completion(f"memory {number}") for number in range(9)],
    }
    for name, said in scripts.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(script_line, said)))
    models = ModelChoice(*(f"mock/{tmp_path / name}.jsonl" for name in scripts))
    done = run("house-price", "autogpt", models, runs=runs)
    assert done.summary.ended == "submitted" and done.grade is not None
    assert done.grade.improvement is not None and done.grade.improvement > 0


def test_killed_in_any_model_call_it_goes_on_to_the_same_end(tiny_task, tmp_path, speak_with):
    settings = {"steps_in_context": 1}
    speak_with(Told(REPLIES), Told([completion(EDIT)]), fast())
    whole = run(tiny_task, "autogpt", "test/told", settings=settings, runs=tmp_path / "whole")
    killing = killer()
    reader = fast()
    reader.before = lambda call: killing(1000 + call)
    speak_with(
        Told(REPLIES, before=killing),
        Told([completion(EDIT)], before=lambda call: killing(100 + call)),
        reader,
    )
    again = killed_and_resumed(
        lambda: run(tiny_task, "autogpt", "test/told", settings=settings, runs=tmp_path / "runs"),
        resume,
        tmp_path / "runs",
    )
    folder = again.folder
    assert [step.snapshot for step in steps_of(folder)] == [step.snapshot for step in steps_of(whole)]
    calls = [
        sum(isinstance(event, ModelCalled) for event in events_of(each)) for each in (folder, whole.folder)
    ]
    assert calls[0] == calls[1]


def read(text: str) -> Decision | FormatError:
    return SPEECH.read(Completion.model_validate(completion(text).model_dump()))


@given(
    thought=st.text(),
    args=st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())),
    before=st.text(alphabet=st.characters(exclude_characters="{`~")),
    fenced=st.booleans(),
)
def test_what_a_model_writes_comes_back_exactly(thought, args, before, fenced):
    action = Action("Edit Script (AI)", args)
    reply = json.dumps({"thoughts": {"text": thought}, "command": {"name": action.name, "args": action.args}})
    decision = read(f"{before}\n```json\n{reply}\n```\nDone." if fenced else f"{before}{reply}")
    assert isinstance(decision, Decision)
    assert decision.action == action and decision.entries == {"Text": thought}


@given(st.text() | st.text().map(lambda text: '{"thoughts": ' + text))
def test_whatever_a_model_writes_is_read_or_refused(text):
    assert isinstance(read(text), Decision | FormatError)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("I cannot do that.", "no JSON object"),
        ('{"command": {"name": "List Files"}}', "'thoughts' and 'command'"),
        ('{"thoughts": {}, "command": "List Files"}', "'thoughts' and 'command'"),
        ('{"thoughts": {}, "command": {"name": 3}}', "'name'"),
        ('{"thoughts": {}, "command": {"name": "List Files", "args": []}}', "'args'"),
        ('{"thoughts": {}, "command": {"name": "google", "args": {}}}', "no action 'google'"),
        ('{"thoughts": {"text": "a', "cut off"),
    ],
)
def test_replies_that_cannot_be_used_say_why(text, told):
    error = read(text)
    assert isinstance(error, FormatError) and told in error.sentence


def test_a_plan_may_be_a_list():
    decision = read('{"thoughts": {"plan": ["a", "b"]}, "command": {"name": "List Files"}}')
    assert isinstance(decision, Decision) and decision.entries == {"Plan": '["a", "b"]'}


def test_its_settings_are_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    assert settings_table(AutoGptSettings) in page
