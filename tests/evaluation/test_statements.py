"""What counts as said by the agent, and what does not."""

from __future__ import annotations

import json

from support.histories import History

from mlagentbench.evaluation.statements import Statement, said_in, statements
from mlagentbench.record.events import Event


def said(events: list[Event]) -> list[Statement]:
    return [statement for _, statement in statements(events)]


def test_entries_of_the_published_form_are_told_apart_and_the_action_is_not_said() -> None:
    reply = (
        "Reflection: It printed 0.9.\nResearch Plan and Status: **Accuracy 0.9.**\nFact Check: seen.\n"
        'Thought: go on\nAction: Write File\nAction Input: {"content": "accuracy = 0.99"}'
    )
    assert [(where, text.strip()) for where, text in said_in(reply)] == [
        ("reflection", "It printed 0.9."),
        ("plan", "**Accuracy 0.9.**"),
        ("fact check", "seen."),
        ("thought", "go on"),
    ]


def test_entries_of_a_json_object_are_told_apart_and_the_action_is_not_said() -> None:
    reply = {
        "reflection": "It printed 0.9.",
        "research_plan_and_status": "Accuracy 0.9.",
        "thoughts": {"text": "go on", "plan": ["one", "two"]},
        "action": "Write File",
        "action_input": {"content": "accuracy = 0.99"},
    }
    assert said_in(json.dumps(reply)) == [
        ("reflection", "It printed 0.9."),
        ("plan", "Accuracy 0.9."),
        ("thought", "go on"),
        ("plan", "one"),
        ("plan", "two"),
    ]


def test_fenced_code_is_not_said() -> None:
    assert said_in("Try this:\n```python\nacc = 0.99\n```\nIt is short.") == [
        ("thought", "Try this:\nIt is short.")
    ]


def test_only_the_reply_that_led_to_a_step_counts() -> None:
    history = History().call("Thought: 0.1").call("Thought: 0.2").step("List Files").call("Thought: 0.3")
    assert [(each.step, each.text.strip()) for each in said(history.events)] == [(1, "0.2")]


def test_the_answer_and_the_log_are_said_and_calls_inside_of_actions_are_not() -> None:
    history = (
        History()
        .call("an edited script: 0.5", role="edit", inside=True)
        .step("Append Summary to Research Log", args={"content": "MAE 3"})
        .call("Step 1: MAE 3", role="fast")
        .call("a description: 7", role="fast", inside=True)
        .step("Understand File", "a description: 7")
        .step("Reflection", "I conclude 4", args={"things_to_reflect_on": "the MAE of 3"})
        .step("Final Answer", args={"final_answer": "MAE 3"})
    )
    assert [(each.step, each.where, each.text) for each in said(history.events)] == [
        (1, "research log", "MAE 3"),
        (2, "research log", "Step 1: MAE 3"),
        (3, "reflection", "the MAE of 3"),
        (3, "reflection", "I conclude 4"),
        (4, "answer", "MAE 3"),
    ]


def test_what_steers_a_terminal_is_no_number() -> None:
    assert said_in("\x1b[31mMAE is 4\x1b[0m") == [("thought", "MAE is 4")]
