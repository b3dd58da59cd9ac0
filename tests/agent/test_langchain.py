"""The agent on LangChain and LangGraph: driven by a script to a submission, killed, resumed, and misused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from support.acting import events_of, steps_of
from telling import EDIT, STORY, Told, completion, killed_and_resumed, killer, replies, script_line

from mlagentbench import Action, load_task, resume, run
from mlagentbench.agent.spec import build_agent
from mlagentbench.environment.models import ModelChoice
from mlagentbench.errors import UsageError
from mlagentbench.model.errors import TooLongError
from mlagentbench.model.spec import ToolCall
from mlagentbench.record.events import ModelCalled

TOOLS = replies("tools", "act")


def call(name: str, number: int = 0, **arguments: object) -> ToolCall:
    return ToolCall(id=f"call{number}", name=name, arguments=json.dumps(arguments))


def test_a_scripted_model_drives_it_to_a_graded_submission(tiny_task, runs, speak_with):
    act = Told(TOOLS)
    speak_with(act, Told([completion(EDIT)]))
    done = run(tiny_task, "langchain", "test/told", runs=runs)
    assert [step.action for step in steps_of(done)] == STORY
    assert done.summary.ended == "submitted" and done.grade is not None and done.grade.valid
    messages, _, tools = act.asked[-1]
    assert [message.role for message in messages[:4]] == ["system", "user", "assistant", "tool"]
    assert messages[2].tool_calls[0].signature == "sig-1", "what a provider wants back comes back"
    assert {tool.name for tool in tools} >= {"edit_script_ai", "final_answer"}
    assert "read_file" not in {tool.name for tool in tools}, "hidden, and accepted all the same"


def test_a_file_of_completions_drives_it_through_house_price(runs, tmp_path):
    plain = (load_task("house-price").folder / "plain" / "train.py").read_text()
    scripts = {"act": TOOLS, "edit": [completion(f"```python\n{plain}```")]}
    for name, said in scripts.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(script_line, said)))
    models = ModelChoice(*(f"mock/{tmp_path / name}.jsonl" for name in scripts))
    done = run("house-price", "langchain", models, runs=runs)
    assert done.summary.ended == "submitted" and done.grade is not None
    assert done.grade.improvement is not None and done.grade.improvement > 0


def test_killed_in_any_model_call_it_goes_on_to_the_same_end(tiny_task, tmp_path, speak_with):
    speak_with(Told(TOOLS), Told([completion(EDIT)]))
    whole = run(tiny_task, "langchain", "test/told", runs=tmp_path / "whole")
    killing = killer()
    speak_with(Told(TOOLS, before=killing), Told([completion(EDIT)], before=lambda call: killing(100 + call)))
    again = killed_and_resumed(
        lambda: run(tiny_task, "langchain", "test/told", runs=tmp_path / "runs"), resume, tmp_path / "runs"
    )
    folder = again.folder
    assert [step.snapshot for step in steps_of(folder)] == [step.snapshot for step in steps_of(whole)]
    assert again.grade is not None and whole.grade is not None and again.grade.score == whole.grade.score


def test_a_reply_without_a_call_is_the_final_answer(tiny_task, runs, speak_with):
    speak_with(
        Told([completion("", call("execute_script", script_name="train.py")), completion("All done.")])
    )
    done = run(tiny_task, "langchain", "test/told", runs=runs)
    assert steps_of(done)[-1].action == Action("Final Answer", {"final_answer": "All done."})
    assert done.summary.ended == "submitted"


def test_of_several_calls_the_first_is_carried_out_and_the_model_is_told(tiny_task, runs, speak_with):
    both = completion(
        "", call("list_files", 1, dir_path="."), call("execute_script", 2, script_name="train.py")
    )
    act = Told([both, completion("Done.")])
    speak_with(act)
    done = run(tiny_task, "langchain", "test/told", runs=runs)
    assert [step.action.name for step in steps_of(done)] == ["List Files", "Final Answer"]
    assert "Only the first of the 2 calls" in act.asked[-1][0][-1].content


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (ToolCall(id="c", name="list_files", arguments='{"dir_path": '), "dir_path"),
        (ToolCall(id="c", name="list_files", arguments="[1]"), "dir_path"),
        (ToolCall(id="c", name="launch_rocket", arguments="{}"), "launch_rocket"),
    ],
)
def test_calls_that_are_wrong_are_answered_in_words(tiny_task, runs, speak_with, bad, told):
    act = Told([completion("", bad), completion("Done.")])
    speak_with(act)
    done = run(tiny_task, "langchain", "test/told", runs=runs)
    assert done.summary.ended == "submitted"
    assert told in act.asked[-1][0][-1].content


def test_a_limit_ends_it_and_what_is_there_is_graded(tiny_task, runs, speak_with):
    speak_with(Told(lambda number: completion("", call("list_files", number, dir_path="."))))
    done = run(tiny_task, "langchain", "test/told", runs=runs, limits={"steps": 4})
    assert len(steps_of(done)) == 4 and done.summary.ended == "limit" and done.grade is not None


def test_a_conversation_that_is_too_long_loses_its_oldest_turns(tiny_task, runs, speak_with):
    looking = [completion("", call("list_files", number, dir_path=".")) for number in range(4)]
    act = Told([*looking, TooLongError("too long"), TooLongError("too long"), completion("Done.")])
    speak_with(act)
    done = run(tiny_task, "langchain", "test/told", runs=runs)
    assert done.summary.ended == "submitted"
    assert [len(messages) for messages, _, _ in act.asked] == [2, 4, 6, 8, 10, 6, 4]
    assert sum(isinstance(event, ModelCalled) for event in events_of(done.folder)) == 7


def test_without_the_library_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "langchain.agents", None)
    monkeypatch.delitem(sys.modules, "mlagentbench.agent.langchain", raising=False)
    with pytest.raises(UsageError, match=r"pip install 'mlagentbench\[langchain\]'"):
        build_agent("langchain", {})


def test_its_settings_are_in_the_documentation():
    from mlagentbench.agent.langchain import LangChainSettings
    from mlagentbench.agent.settings import settings_table

    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    assert settings_table(LangChainSettings, {}) in page


def test_the_papers_text_protocol_has_every_step_in_one_prompt(tiny_task, runs, speak_with):
    act = Told(
        [
            completion(' I look.\nAction: List Files\nAction Input: {"dir_path": "."}\nObservation: made up'),
            completion("I have no idea."),
            completion("Again.\nAction: List Files\nAction Input: here"),
            completion('Run.\nAction: Execute Script\nAction Input: {"script_name": """train.py"""}'),
            completion('Both.\nFinal Answer: x\nAction: List Files\nAction Input: {"dir_path": "."}'),
            completion("I am done.\nFinal Answer: The mean,\nand more."),
        ]
    )
    speak_with(act)
    done = run(tiny_task, "langchain", "test/told", settings={"protocol": "text"}, runs=runs)
    names = [step.action.name for step in steps_of(done)]
    assert names == ["List Files", "No Action", "List Files", "Execute Script", "No Action", "Final Answer"]
    assert steps_of(done)[-1].action.args == {"final_answer": "The mean,\nand more."}
    assert done.summary.ended == "submitted"
    (message,) = act.asked[-1][0]
    assert act.asked[-1][1].stop == ("Observation:",) and not act.asked[-1][2], "no tools"
    assert message.role == "user" and message.content.endswith("\nThought:")
    assert "Predict how far a ball flies" in message.content and "made up" not in message.content
    parts = message.content.partition("Question: # ")[2].split("\nObservation: ")[1:]
    told = ["train.py", "'Action' is missing", "JSON object", "validation", "both an Action"]
    assert len(parts) == len(told) and all(each in part for each, part in zip(told, parts, strict=True))


def test_a_model_without_tools_is_spoken_with_in_text(tiny_task, runs, speak_with):
    act = Told([completion("Final Answer: nothing")], speaks_tools=False)
    speak_with(act)
    assert run(tiny_task, "langchain", "test/told", runs=runs).summary.ended == "submitted"
    with pytest.raises(UsageError, match="protocol text or auto"):
        run(tiny_task, "langchain", "test/told", settings={"protocol": "tools"}, runs=runs)
