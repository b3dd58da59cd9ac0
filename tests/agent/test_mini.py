"""An installed third-party agent, unchanged: mini-swe-agent, driven by scripted completions in the sandbox."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.acting import events_of, steps_of
from telling import SOLUTION

from mlagentbench import run, verify
from mlagentbench.record.events import ModelCalled

VARIABLES = "MSWEA_CONFIGURED=true MSWEA_COST_TRACKING=ignore_errors LITELLM_LOCAL_MODEL_COST_MAP=True"
TASK = '-t "$(cat $MLAGENTBENCH_PROBLEM)"'
COMMANDS = [
    "ls",
    f"cat > train.py <<'END'\n{SOLUTION}END",
    "python train.py; sleep 3",
    "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
]


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment of its own, as docs/agents.md says to make one."""
    folder = tmp_path_factory.mktemp("mini") / "mini"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    got = subprocess.run(
        [folder / "bin" / "pip", "install", "--quiet", "mini-swe-agent", "litellm[mcp]"],
        capture_output=True,
        text=True,
    )
    if got.returncode != 0:
        pytest.skip(f"mini-swe-agent cannot be installed here: {got.stderr.strip()[-200:]}")
    return folder


def by_tool(command: str) -> dict[str, Any]:
    return {"text": "Next.", "tool_calls": [{"name": "bash", "arguments": {"command": command}}]}


def in_text(command: str) -> dict[str, Any]:
    return {"text": f"THOUGHT: next.\n\n```mswea_bash_command\n{command}\n```"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "write"),
    [
        ("", by_tool),
        ("-c mini_textbased.yaml --model-class litellm_textbased", in_text),
    ],
    ids=["tools", "text"],
)
def test_mini_is_recorded_metered_and_graded(
    mini: Path, tiny_task: Path, runs: Path, tmp_path: Path, options: str, write: Any
) -> None:
    script = tmp_path / "said.jsonl"
    script.write_text("".join(json.dumps(write(command)) + "\n" for command in COMMANDS))
    line = f"{VARIABLES} {mini}/bin/mini -y --exit-immediately {options} -m openai/assistant {TASK}"
    settings = {"command": line, "mounts": [mini]}
    done = run(tiny_task, "command", f"mock/{script}", settings=settings, runs=runs)
    said = "".join(step.observation.text for step in steps_of(done))
    assert done.summary.ended == "submitted", said
    assert done.grade is not None and done.grade.valid
    calls = [event for event in events_of(done) if isinstance(event, ModelCalled)]
    assert [call.role for call in calls] == ["tool"] * len(COMMANDS)
    assert done.summary.tokens_in > 0 and done.summary.execution_cpu > 0
    assert len(steps_of(done)) >= 2
    assert {"train.py", "submission.csv"} == {
        change.path for step in steps_of(done) for change in step.changes
    }
    assert verify(done.folder).ok
