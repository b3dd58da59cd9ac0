"""Actions that are made of model calls, with a scripted model: nothing is cut, nothing is guessed, all is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.acting import content, undoing, writing

from mlagentbench import Action, Environment
from mlagentbench.environment.actions.fences import NoSingleBlockError, only_block
from mlagentbench.environment.models import ModelChoice
from mlagentbench.record.events import Denied, ModelCalled

Thinker = Callable[..., Environment]


@pytest.fixture
def thinker(open_env: Callable[..., Environment], tmp_path: Path) -> Thinker:
    """An environment whose model gives these answers, in this order."""

    def start(*answers: str | dict[str, Any], **options: Any) -> Environment:
        script = tmp_path / "answers.jsonl"
        script.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
        return open_env(models=ModelChoice(act=f"mock/{script}"), **options)

    return start


def edit(instruction: str = "as told", script: str = "a.py", save: str = "a.py") -> Action:
    return Action(
        "Edit Script (AI)", {"script_name": script, "edit_instruction": instruction, "save_name": save}
    )


def edit_lines(first: int, last: int, script: str = "a.py") -> Action:
    return Action(
        "Edit Script Segment (AI)",
        {
            "script_name": script,
            "start_line_number": first,
            "end_line_number": last,
            "edit_instruction": "as told",
            "save_name": script,
        },
    )


def understand(file: str) -> Action:
    return Action("Understand File", {"file_name": file, "things_to_look_for": "everything"})


def calls(env: Environment) -> list[ModelCalled]:
    return [event for event in env.folder.history().events if isinstance(event, ModelCalled)]


def fenced(code: str, fence: str = "```") -> str:
    return f"Here it is.\n{fence}python\n{code}{fence}\n"


def test_the_published_actions_are_shown_when_there_is_a_model(thinker: Thinker) -> None:
    assert thinker().actions == (
        "List Files", "Copy File", "Inspect Script Lines", "Undo Edit Script", "Execute Script", "Final Answer",
        "Understand File", "Edit Script (AI)",
    )  # fmt: skip


def test_without_a_model_they_say_so(env: Environment) -> None:
    for action in (edit(), understand("train.py")):
        said = env.step(action)
        assert not said.ok and "needs a language model" in said.text


def test_an_edit_saves_exactly_what_stands_in_the_fence_and_shows_the_difference(thinker: Thinker) -> None:
    env = thinker(fenced("x = 2\nprint(x)\n"))
    env.step(writing("a.py", "x = 1\nprint(x)\n"))
    said = env.step(edit())
    assert content(env, "a.py") == "x = 2\nprint(x)\n"
    assert "-x = 1\n+x = 2" in said.text
    env.step(undoing("a.py"))
    assert content(env, "a.py") == "x = 1\nprint(x)\n"


def test_a_missing_script_starts_empty_and_a_save_name_leaves_the_source_alone(thinker: Thinker) -> None:
    env = thinker(fenced("new = 1\n"), fenced("new = 2\n"))
    assert env.step(edit(script="new.py", save="new.py")).ok
    assert env.step(edit(script="new.py", save="sub/other.py")).ok
    assert (content(env, "new.py"), content(env, "sub/other.py")) == ("new = 1\n", "new = 2\n")


@pytest.mark.parametrize(
    "answer",
    [
        "x = 2",
        {"text": "```python\nx = 2\n", "stop_reason": "refused"},
        "```python\nx = 2\n```\nor\n```python\nx = 3\n```\n",
    ],
)
def test_an_edit_without_one_whole_block_is_refused_and_the_file_stays(thinker: Thinker, answer: Any) -> None:
    env = thinker(answer)
    env.step(writing("a.py", "x = 1\n"))
    said = env.step(edit())
    assert not said.ok and "a.py is as it was" in said.text
    assert content(env, "a.py") == "x = 1\n"


def test_a_block_without_its_closing_fence_ends_with_the_reply(thinker: Thinker) -> None:
    env = thinker("Sure.\n```python\nx = 2\n\n")
    env.step(writing("a.py", "x = 1\n"))
    assert env.step(edit()).ok
    assert content(env, "a.py") == "x = 2\n"


def test_a_completion_of_an_action_ends_where_an_observation_would_begin(thinker: Thinker) -> None:
    env = thinker("described", fenced("x = 2\n"), fenced("print('Observation:')\n"))
    env.step(writing("a.py", "x = 1\n"))
    env.step(understand("a.py"))
    env.step(edit())
    env.step(edit("print 'Observation:'"))
    stops = [json.loads(env.folder.store().get(call.request))["sampling"]["stop"] for call in calls(env)]
    assert stops == [["Observation:"], ["Observation:"], []], "a script that holds it is not cut off there"


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ("x = 1", "x = 2\n", "-x = 1\n\\ No newline at end of file\n+x = 2\n"),
        ("a\nb", "a\nb\nc\n", " a\n-b\n\\ No newline at end of file\n+b\n+c\n"),
        ("x = '\f\u2028'\ny = 1\n", "x = '\f\u2028'\ny = 2\n", " x = '\f\u2028'\n-y = 1\n+y = 2\n"),
    ],
)
def test_the_difference_has_one_line_for_each_line_of_the_files(
    thinker: Thinker, before: str, after: str, shown: str
) -> None:
    env = thinker(fenced(after))
    env.step(writing("a.py", before))
    assert env.step(edit()).text.endswith(f" @@\n{shown}")


def test_an_edit_that_would_break_a_script_is_asked_for_once_more(thinker: Thinker) -> None:
    env = thinker(fenced('"""A\nx = 2\n'), fenced("x = 2\n"))
    env.step(writing("a.py", "x = 1\n"))
    assert env.step(edit()).ok
    assert content(env, "a.py") == "x = 2\n"
    assert len(calls(env)) == 2


def test_a_script_that_is_broken_again_is_refused_and_the_file_stays(thinker: Thinker) -> None:
    env = thinker(*[fenced("if x:\n")] * 2, *[fenced("(" * 100_000 + "\n")] * 2)
    env.step(writing("a.py", "x = 1\n"))
    for _ in range(2):
        said = env.step(edit())
        assert not said.ok and "not valid Python" in said.text and "a.py is as it was" in said.text
    assert content(env, "a.py") == "x = 1\n"


def test_what_was_no_python_before_is_saved_as_the_model_writes_it(thinker: Thinker) -> None:
    env = thinker(fenced("if y:\n"), fenced("not python\n"))
    env.step(writing("a.py", "if x:\n"))
    assert env.step(edit()).ok and content(env, "a.py") == "if y:\n"
    assert env.step(edit(script="a.txt", save="a.txt")).ok and content(env, "a.txt") == "not python\n"


def test_a_reply_that_reaches_its_budget_is_gone_on_with(thinker: Thinker) -> None:
    env = thinker(
        {"text": "```python\nlong_name = 'begi", "stop_reason": "length"}, {"text": "n'\nend = 1\n```\n"}
    )
    assert env.step(edit(script="new.py", save="new.py")).ok
    assert content(env, "new.py") == "long_name = 'begin'\nend = 1\n"


def test_a_reply_that_never_ends_is_refused(thinker: Thinker) -> None:
    env = thinker(
        *[{"text": "```python\nx = 1\n" if not n else "y\n", "stop_reason": "length"} for n in range(9)]
    )
    said = env.step(edit(script="new.py", save="new.py"))
    assert not said.ok and "longer than the model may write" in said.text


def test_a_reply_that_goes_in_circles_is_not_gone_on_with(thinker: Thinker) -> None:
    circling = "```python\n" + "columns += ['one', 'two', 'three']\n" * 60
    env = thinker({"text": circling, "stop_reason": "length"})
    said = env.step(edit(script="new.py", save="new.py"))
    assert not said.ok and "come again and again" in said.text


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1, 1, "NEW\ntwo\nthree\n"),
        (2, 2, "one\nNEW\nthree\n"),
        (3, 3, "one\ntwo\nNEW\n"),
        (1, 3, "NEW\n"),
        (2, 99, "one\nNEW\n"),
    ],
)
def test_a_segment_edit_replaces_these_lines_and_no_other(
    thinker: Thinker, first: int, last: int, expected: str
) -> None:
    env = thinker(fenced("NEW\n"))
    env.step(writing("a.py", "one\ntwo\nthree\n"))
    assert env.step(edit_lines(first, last)).ok
    assert content(env, "a.py") == expected


def test_a_segment_edit_keeps_a_missing_last_line_end(thinker: Thinker) -> None:
    env = thinker(fenced("NEW\n"))
    env.step(writing("a.py", "one\ntwo"))
    assert env.step(edit_lines(2, 2)).ok
    assert content(env, "a.py") == "one\nNEW"


@pytest.mark.parametrize(("first", "last"), [(4, 5), (3, 2), (0, 1)])
def test_lines_that_are_not_there_are_told(thinker: Thinker, first: int, last: int) -> None:
    env = thinker()
    env.step(writing("a.py", "one\ntwo\nthree\n"))
    assert not env.step(edit_lines(first, last)).ok
    assert content(env, "a.py") == "one\ntwo\nthree\n" and not calls(env)


def test_a_long_file_is_described_in_parts_and_then_as_a_whole(thinker: Thinker) -> None:
    text = "".join(f"line {number}\n" for number in range(2500))
    parts = -(-len(text) // 10_000)
    env = thinker(*[f"part {number}" for number in range(parts)], "the whole")
    env.step(writing("long.txt", text))
    assert env.step(understand("long.txt")).text == "the whole"
    store = env.folder.store()
    asked = [json.loads(store.get(call.request))["messages"][0]["content"] for call in calls(env)]
    assert len(asked) == parts + 1 and all(call.inside and call.role == "fast" for call in calls(env))
    in_order = sorted(asked[:-1], key=lambda prompt: int(prompt.split("(characters ")[1].split()[0]))
    assert "".join(prompt.split("==========\n")[1].removesuffix("\n") for prompt in in_order) == text


def test_an_error_of_the_model_is_an_observation_and_changes_nothing(thinker: Thinker) -> None:
    env = thinker()
    env.step(writing("a.py", "x = 1\n"))
    said = env.step(edit())
    assert not said.ok and "nothing was changed" in said.text
    assert calls(env)[0].error and content(env, "a.py") == "x = 1\n"


def test_the_log_takes_summaries_of_any_length_and_is_retrieved_with_the_problem(thinker: Thinker) -> None:
    env = thinker("what matters")
    second = "x" * 501
    assert env.step(Action("Append Summary to Research Log", {"content": "first"})).ok
    assert env.step(Action("Append Summary to Research Log", {"content": second})).ok
    assert content(env, "research_log.log") == f"first\n{second}\n"
    assert env.step(Action("Retrieval from Research Log", {"current_plan": "none"})).text == "what matters"
    asked = json.loads(env.folder.store().get(calls(env)[-1].request))["messages"][0]["content"]
    assert f"first\n{second}" in asked and env.problem in asked


def test_what_models_used_counts_against_the_run(thinker: Thinker) -> None:
    env = thinker({"text": "a description", "usage": {"input": 4990, "output": 20}}, limits={"tokens": 5000})
    assert not env.done
    env.step(understand("train.py"))
    assert env.done and env.truncated


CODE = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=200)


@given(CODE, st.text(alphabet="abc `~", max_size=20).filter(lambda t: "```" not in t and "~~~" not in t))
def test_a_block_comes_out_as_it_was_put_in(code: str, prose: str) -> None:
    longest = max([len(run) for run in code.split("\n") if run.strip("`") == ""] or [0])
    fence = "`" * max(3, longest + 1)
    assert only_block(f"{prose}\n{fence}python\n{code}\n{fence}\n{prose}") == f"{code}\n"


@given(st.text(max_size=300))
def test_any_reply_is_one_block_or_refused_in_words(reply: str) -> None:
    try:
        assert isinstance(only_block(reply), str)
    except NoSingleBlockError as problem:
        assert str(problem)


def test_an_entry_beside_the_steps_is_in_the_log_and_a_change_of_no_step(thinker: Thinker) -> None:
    env = thinker()
    env.log("first")
    env.step(writing("a.py", "x = 1\n"))
    env.log("second \ud800")
    env.step(Action("Append Summary to Research Log", {"content": "third"}))
    assert [change.path for change in env.history[0].changes] == ["a.py"] and len(env.history) == 2
    assert content(env, "research_log.log") == "first\nsecond ?\nthird\n"


def test_a_log_that_cannot_be_written_is_told_once_and_ends_nothing(thinker: Thinker) -> None:
    env = thinker()
    env.step(writing("research_log.log/a.txt", "a folder where the log is to be"))
    env.log("first")
    env.log("second")
    assert env.step(writing("a.py", "x = 1\n")).ok
    denied = [event.text for event in env.folder.history().events if isinstance(event, Denied)]
    assert len(denied) == 1 and "research log" in denied[0]
