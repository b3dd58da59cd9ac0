"""A run repeated without its model."""

from __future__ import annotations

import json
from pathlib import Path

from mlagentbench import run
from mlagentbench.environment.models import ModelChoice
from mlagentbench.record.events import ModelCalled
from mlagentbench.record.folder import RunFolder

ANSWERS = [
    'Thought: look\nAction: List Files\nAction Input: {"dir_path": "."}',
    'Thought: run\nAction: Execute Script\nAction Input: {"script_name": "train.py"}',
    'Thought: done\nAction: Final Answer\nAction Input: {"final_answer": "ok"}',
]


def calls(folder: Path) -> list[ModelCalled]:
    return [event for event in RunFolder.open(folder).history().events if isinstance(event, ModelCalled)]


def test_a_run_is_repeated_from_the_answers_in_its_record(
    tiny_task: Path, runs: Path, tmp_path: Path
) -> None:
    script = tmp_path / "answers.jsonl"
    script.write_text("".join(json.dumps(answer) + "\n" for answer in ANSWERS))
    first = run(tiny_task, "react", f"mock/{script}", runs=runs)
    again = run(tiny_task, "react", ModelChoice(act=f"replay/{first.folder}"), runs=runs)
    assert first.summary.ended == again.summary.ended == "submitted"
    assert first.grade and again.grade and first.grade.score == again.grade.score
    assert [c.completion.text for c in calls(again.folder) if c.completion] == ANSWERS
    assert again.summary.cost == 0.0 and again.summary.tokens_in == first.summary.tokens_in
