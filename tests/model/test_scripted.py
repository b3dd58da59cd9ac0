"""Models without a model: a script, a function, a person."""

from __future__ import annotations

import io
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.model import (
    Message,
    MockModel,
    Sampling,
    Scripted,
    ScriptedCall,
    ScriptEndedError,
    load_model,
    tell_replayed,
)
from mlagentbench.model.human import HumanModel


def say(text: str) -> list[Message]:
    return [Message(role="user", content=text)]


def test_a_script_of_plain_texts_is_answered_in_its_order(tmp_path):
    (tmp_path / "s.txt").write_text("Thought: one\nAction: x\n%%%\nline\n---\n%% not this\n%%%%\nthree")
    model = load_model(f"mock/{tmp_path / 's.txt'}")
    texts = [model.complete(say("x"), Sampling()).text for _ in range(3)]
    assert texts == ["Thought: one\nAction: x", "line\n---\n%% not this", "three"]


def test_a_script_of_json_lines_has_tool_calls_and_answers_for_some_calls_only(tmp_path):
    lines = [
        "just text",
        {"text": "for editing", "match": "Edit this"},
        {"tool_calls": [{"name": "List Files", "arguments": {"dir_path": "."}}]},
        {"tool_calls": [{"name": "List Files", "arguments": "{broken"}], "stop_reason": "length"},
    ]
    (tmp_path / "s.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    model = load_model(f"mock/{tmp_path / 's.jsonl'}")
    assert model.complete(say("go"), Sampling()).text == "just text"
    called = model.complete(say("go"), Sampling())
    assert called.stop_reason == "tool_calls"
    assert json.loads(called.tool_calls[0].arguments) == {"dir_path": "."}
    assert model.complete(say("Edit this file"), Sampling()).text == "for editing"
    last = model.complete(say("go"), Sampling())
    assert (last.tool_calls[0].arguments, last.stop_reason) == ("{broken", "length")


def test_the_end_of_a_script_is_told_and_is_not_tried_again(naps):
    model = MockModel(["one"])
    model.complete(say("x"), Sampling())
    with pytest.raises(ScriptEndedError, match="come to its end: all of its 1 completions"):
        model.complete(say("x"), Sampling())


def test_a_resumed_script_goes_on_after_what_was_replayed(tmp_path):
    (tmp_path / "s.txt").write_text("one\n%%%\ntwo Observation: cut\n%%%\nthree")
    name = f"mock/{tmp_path / 's.txt'}"
    before = load_model(name)
    recorded = [before.complete(say("x"), Sampling(stop=("Observation:",))) for _ in range(2)]
    after = load_model(name)
    for completion in recorded:
        tell_replayed(after, completion)
    assert after.complete(say("x"), Sampling()).text == "three"


def test_telling_a_model_that_keeps_no_count_does_nothing():
    tell_replayed(HumanModel(), MockModel(["x"]).complete([], Sampling()))


def test_each_answer_is_given_once_to_threads_that_ask_at_once():
    model = MockModel([str(number) for number in range(200)])
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda _: model.complete(say("x"), Sampling()).text, range(200)))
    assert sorted(texts, key=int) == [str(number) for number in range(200)]


def test_stop_sequences_hold_for_scripts_too():
    assert MockModel(["a STOP b"]).complete([], Sampling(stop=("STOP",))).text == "a "


def test_a_function_may_be_the_script():
    model = MockModel(
        lambda messages, sampling, tools: Scripted(tool_calls=(ScriptedCall(name=messages[0].content),))
    )
    assert model.complete(say("Final Answer"), Sampling()).tool_calls[0].name == "Final Answer"


@pytest.mark.parametrize("line", ["{", "[1]", '{"texts": "x"}', '{"tool_calls": 3}'])
def test_a_wrong_line_of_a_script_is_told_with_its_number(line, tmp_path):
    (tmp_path / "s.jsonl").write_text(f'"fine"\n{line}\n')
    with pytest.raises(UsageError, match=r"s\.jsonl, line 2"):
        load_model(f"mock/{tmp_path / 's.jsonl'}")


def test_a_script_that_is_not_there_is_told():
    with pytest.raises(UsageError, match="cannot be read"):
        load_model("mock/nowhere.txt")


def test_a_person_sees_what_is_new_and_answers_up_to_a_dot():
    writes = io.StringIO()
    model = HumanModel(reads=io.StringIO("Thought: hm\nAction: x\n.\nsecond\n..\n.\n"), writes=writes)
    first = model.complete(say("What now?"), Sampling())
    assert first.text == "Thought: hm\nAction: x"
    more = [*say("What now?"), Message(role="assistant", content=first.text), *say("And now?")]
    assert model.complete(more, Sampling()).text == "second\n.."
    assert writes.getvalue().count("What now?") == 1
    assert "And now?" in writes.getvalue()


def test_a_person_who_leaves_is_told():
    with pytest.raises(ScriptEndedError, match="nobody is there"):
        HumanModel(reads=io.StringIO("half an answer\n"), writes=io.StringIO()).complete(say("x"), Sampling())
