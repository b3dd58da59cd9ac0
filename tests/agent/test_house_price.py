"""On a task of the benchmark: every agent's run that is killed goes on to the same end, and can be forked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import mortal
from support.acting import events_of, steps_of
from telling import STORY, completion, entries_for, replies, reply, script_line, timeless

from mlagentbench import Action, Run, fork, resume, run, verify
from mlagentbench.environment.models import ModelChoice
from mlagentbench.model.spec import Completion, Request
from mlagentbench.record.events import ModelCalled, Resumed
from mlagentbench.record.folder import RunFolder

MEAN = """import csv

prices = [float(row["SalePrice"]) for row in csv.DictReader(open("train.csv"))]
print("mean", sum(prices) / len(prices))
with open("submission.csv", "w", newline="") as stream:
    writer = csv.writer(stream)
    writer.writerow(["Id", "SalePrice"])
    for row in csv.DictReader(open("test.csv")):
        writer.writerow([row["Id"], sum(prices) / len(prices)])
"""
READING = {"file_name": "data_description.txt", "things_to_look_for": "columns about size"}
HOUSES = [STORY[0], Action("Understand File", READING), *STORY[3:]]
"""Looks around, reads with the fast model, edits with the edit model, executes, submits."""
CASES = [
    pytest.param(case, marks=pytest.mark.xdist_group(f"houses-{number}"), id="-".join(map(str, case)))
    for number, case in enumerate(
        [
            ("research", "text", False),
            ("research", "tools", False),
            ("research", "text", True),
            ("research", "tools", True),
            ("react", "text", False),
            ("act", "text", False),
        ]
    )
]
DEATHS = ["before:4", "after:6"]
"""The first process dies with an answer of a model that it has not recorded, the second one amid a later step."""


@dataclass
class Told:
    """A case, the scripts of its models, and what comes of it when nobody kills it."""

    agent: str
    protocol: str
    retrieval: bool
    folder: Path
    whole: Run


def write_script(file: Path, said: list[Completion]) -> str:
    file.write_text("\n".join(map(script_line, said)))
    return f"mock/{file}"


@pytest.fixture(scope="module", params=CASES)
def told(
    request: pytest.FixtureRequest, shared_cache: Path, tmp_path_factory: pytest.TempPathFactory
) -> Told:
    os.environ["MLAGENTBENCH_CACHE"] = str(shared_cache)
    agent, protocol, retrieval = request.param
    folder = tmp_path_factory.mktemp("houses")
    models = ModelChoice(
        act=write_script(folder / "act.jsonl", replies(protocol, agent, HOUSES)),
        edit=write_script(folder / "edit.jsonl", [completion(f"```python\n{MEAN}```")]),
        # All the same: the parts of a file are read side by side, in any order.
        fast=write_script(folder / "fast.jsonl", [completion("a summary")] * 20),
    )
    settings = {"protocol": protocol} | ({"retrieval": True} if retrieval else {})
    whole = run("house-price", agent, models, settings=settings, runs=folder / "whole")
    return Told(agent, protocol, retrieval, folder, whole)


def calls_of(folder: Path) -> list[ModelCalled]:
    return [event for event in events_of(folder) if isinstance(event, ModelCalled)]


def prompts_of(folder: Path) -> list[list[str]]:
    """What the model that decides was asked, call by call."""
    store = RunFolder.open(folder).store()
    requests = [
        Request.model_validate_json(store.get(call.request))
        for call in calls_of(folder)
        if call.role == "act"
    ]
    return [[timeless(message.content) for message in request.messages] for request in requests]


def killed(death: str, *arguments: object) -> None:
    process = subprocess.Popen(
        [sys.executable, mortal.__file__, death, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said, _ = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL, said


def test_a_run_killed_and_resumed_and_killed_again_ends_as_if_nobody_had(told: Told, tmp_path: Path) -> None:
    scripts = {role: f"mock/{told.folder / role}.jsonl" for role in ("act", "edit", "fast")}
    killed(
        DEATHS[0],
        *("run", "house-price", "-a", told.agent, "--protocol", told.protocol, "-o", tmp_path / "runs"),
        *("-m", scripts["act"], "--edit-model", scripts["edit"], "--fast-model", scripts["fast"]),
        *(["--retrieval"] if told.retrieval else []),
    )
    (folder,) = (found.parent for found in (tmp_path / "runs").glob("*/*/*/*/run.json"))
    acknowledged = steps_of(folder)
    assert 0 < len(acknowledged) < len(HOUSES)
    killed(DEATHS[1], "resume", folder)
    again = resume(folder)

    steps, expected = steps_of(folder), steps_of(told.whole)
    assert len([event for event in events_of(folder) if isinstance(event, Resumed)]) == len(DEATHS)
    assert steps[: len(acknowledged)] == acknowledged
    assert [step.action for step in steps] == [step.action for step in expected] == HOUSES
    for step, other in zip(steps, expected, strict=True):
        assert timeless(step.observation.text) == timeless(other.observation.text)
        assert (step.observation.ok, step.snapshot, step.changes) == (
            other.observation.ok,
            other.snapshot,
            other.changes,
        )
    assert prompts_of(folder) == prompts_of(told.whole.folder)
    assert Counter(map(_said, calls_of(folder))) == Counter(map(_said, calls_of(told.whole.folder)))
    assert again.summary.ended == told.whole.summary.ended == "submitted"
    assert again.grade is not None and again.grade.valid and again.grade == told.whole.grade
    assert verify(folder, regrade=False).ok


def _said(call: ModelCalled) -> tuple[str, bool, str]:
    assert call.completion is not None
    return call.role, call.inside, call.completion.text


def test_a_run_forked_at_step_three_goes_on_with_another_model(told: Told) -> None:
    rest = [HOUSES[3], Action("Final Answer", {"final_answer": "The mean, by another."})]
    said = [
        reply(told.protocol, entries_for(told.agent, 9), action, number) for number, action in enumerate(rest)
    ]
    forked = fork(told.whole.folder, 3, model=write_script(told.folder / "other.jsonl", said))
    assert [step.action for step in steps_of(forked)] == [*HOUSES[:3], *rest]
    assert steps_of(forked)[:3] == steps_of(told.whole)[:3]
    deciding = [call.model.rpartition("/")[2] for call in calls_of(forked.folder) if call.role == "act"]
    assert deciding == ["act.jsonl"] * 3 + ["other.jsonl"] * 2
    assert forked.summary.ended == "submitted" and forked.grade is not None and told.whole.grade is not None
    assert forked.grade.valid and forked.grade.score == told.whole.grade.score
