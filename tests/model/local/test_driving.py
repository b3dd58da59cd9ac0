"""A real model drives an agent through a whole run by the command, its decoding constrained to what can be done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.model.spec import Request
from mlagentbench.record.events import LimitHit, ModelCalled, Note, StepTaken
from mlagentbench.record.folder import RunFolder

pytestmark = pytest.mark.xdist_group("local-model")

COMMAND = str(Path(sys.executable).with_name("mlagentbench"))
STEPS = 5
BUDGET = 250
ACTIONS = ["List Files", "Read File", "Execute Script"]
"""Without a final answer, so that nothing but the limit ends the run."""


def test_a_real_model_takes_five_steps_that_all_parse_and_is_graded(
    smollm2: Path, shared_cache: Path, tmp_path: Path
) -> None:
    """At a temperature that makes gibberish of free text, and keeps so small a model from saying one thing for ever."""
    command = [COMMAND, "run", "house-price", "-a", "react", "-m", "local/smollm2-135m", "--json"]
    command += ["--profile", "small", "--protocol", "json", "--max-steps", str(STEPS)]
    command += ["--model-option", "context=4096", "--model-option", "reuse_prompts=true"]
    command += ["-c", f"actions={json.dumps(ACTIONS)}", "-c", "temperature=2.0"]
    command += [
        "-c",
        "guided=false",
        "-c",
        f"max_tokens={BUDGET}",
        "-c",
        "entry_limit=60",
        "-c",
        "observation_limit=300",
    ]
    environment = dict(os.environ) | {"MLAGENTBENCH_CACHE": str(shared_cache)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    # It is hardly a researcher: that it leaves nothing to grade (1) is a verdict, too.
    assert done.returncode in (0, 1), done.stderr
    (told,) = json.loads(done.stdout)["runs"]
    summary = told["summary"]
    assert (summary["ended"], summary["steps"]) == ("limit", STEPS)
    assert summary["grade"]["valid"] or summary["grade"]["reason"]

    folder = RunFolder.open(told["folder"])
    events = folder.history().events
    steps = [event for event in events if isinstance(event, StepTaken)]
    calls = [event for event in events if isinstance(event, ModelCalled)]
    assert len(steps) == STEPS and summary["model_calls"] == len(calls)
    assert [event.name for event in events if isinstance(event, LimitHit)] == ["steps"]
    assert not [event.text for event in events if isinstance(event, Note)], "no decision was lost"
    # Names of files have no longest length, so that a reply may be cut at its budget. All others are decisions.
    whole = [call.completion for call in calls if call.completion and call.completion.stop_reason != "length"]
    for step, completion in zip(steps, whole, strict=True):
        assert step.action.name in ACTIONS
        all_actions()[step.action.name].arguments.model_validate(step.action.args)
        written = json.loads(completion.text)
        assert (written["action"], written["action_input"]) == (step.action.name, step.action.args)
    for call in calls:
        assert call.completion is not None
        assert call.completion.usage.input > 0 and 0 < call.completion.usage.output <= BUDGET
        asked = Request.model_validate_json(folder.store().get(call.request))
        assert asked.sampling.json_schema is not None and asked.messages
    usages = [call.completion.usage for call in calls if call.completion]
    assert summary["tokens_in"] == sum(usage.input for usage in usages)
    assert summary["tokens_out"] == sum(usage.output for usage in usages)
    assert summary["cost"] == 0
