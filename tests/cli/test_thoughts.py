"""What an agent thought is there for people, in the list of steps and with each step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.acting import executing, play, submitting

from mlagentbench import run, show
from mlagentbench.environment.models import ModelChoice


def reply(reflection: str, plan: str, thought: str, action: str, **arguments: str) -> str:
    return (
        f"Reflection: {reflection}\nResearch Plan and Status:\n{plan}\nFact Check: all of it was observed\n"
        f"Thought: {thought}\nAction: {action}\nAction Input: {json.dumps(arguments)}"
    )


REPLIES = [
    reply("Nothing yet.", "1. Look\n2. Measure", "I look first.", "List Files", dir_path="."),
    reply(
        "There is a train.py.",
        "1. Look: **done**\n2. Measure",
        "I\nmeasure.",
        "Execute Script",
        script_name="train.py",
    ),
    reply("It runs.", "1. Look: done\n2. Measure", "I stop.\x1b[31m", "Final Answer", final_answer="Done."),
]


@pytest.fixture
def thinker(tiny_task: Path, runs: Path, tmp_path: Path) -> Path:
    script = tmp_path / "replies.jsonl"
    script.write_text("".join(json.dumps(each) + "\n" for each in REPLIES))
    return run(tiny_task, "research", ModelChoice(act=f"mock/{script}"), runs=runs).folder


def test_a_run_is_shown_with_what_was_thought_and_what_changed_in_the_plan(thinker: Path) -> None:
    lines = show(thinker).splitlines()
    steps = [number for number, line in enumerate(lines) if line.lstrip()[:3] in ("1  ", "2  ", "3  ")]
    first, second, third = (lines[start : start + 6] for start in steps[:3])
    assert first[1] == "      reflection: Nothing yet."
    assert first[2:4] == ["      plan: + 1. Look", "      plan: + 2. Measure"]
    assert first[4:6] == ["      fact check: all of it was observed", "      thought: I look first."]
    assert second[2:4] == ["      plan: - 1. Look", "      plan: + 1. Look: done"]
    assert second[5] == "      thought: I measure."
    assert third[2] == "      fact check: all of it was observed", "a plan that stays is not shown again"
    assert third[3] == "      thought: I stop."


def test_a_step_is_shown_with_every_entry_in_full(thinker: Path) -> None:
    text = show(thinker, 2)
    assert "reflection:\n  There is a train.py.\n" in text
    assert "plan:\n  - 1. Look\n  + 1. Look: done\n    2. Measure\n" in text
    assert "thought:\n  I\n  measure.\n" in text
    assert text.index("thought:") < text.index("Execute Script"), "it came before the action"


def test_steps_that_no_model_decided_on_have_no_thoughts(tiny_task: Path, runs: Path) -> None:
    done = play(tiny_task, [executing("train.py"), submitting()], runs)
    assert "thought" not in show(done.folder) and "thought" not in show(done.folder, 1)
