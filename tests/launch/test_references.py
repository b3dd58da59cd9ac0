"""Verdicts that lack what a task's own code scores: completed where that can be done here, and named where not."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from support.acting import executing, play, submitting, writing
from support.tasks import replace_in

from mlagentbench.evaluation.profile import read_profile
from mlagentbench.grading.references import read_references
from mlagentbench.launch import references
from mlagentbench.launch.references import complete_verdicts
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import read_grades, remember_grades
from mlagentbench.record.request import RunRequest
from mlagentbench.task.preparation import prepare
from mlagentbench.task.registry import load_task


@pytest.fixture
def run(own_task: Path, runs: Path) -> RunFolder:
    """A run that was set against nothing but the starter."""
    return RunFolder.open(play(own_task, [executing("train.py"), submitting()], runs).folder)


def _changed(run: RunFolder, **said: object) -> None:
    """As if something else had been asked of it."""
    asked = json.loads(run.request_file.read_text())
    history, verdicts = run.history(), read_grades(run)
    run.write_request(RunRequest.model_validate(asked | said), "made")
    run.events_file.unlink()
    log = run.log()
    for event in history.events:
        log.append(event)
    log.close()
    run.grades_file.unlink()
    remember_grades(run, verdicts.values())


def test_what_runs_were_not_set_against_is_measured_once_and_enters_their_verdicts(own_task, run, runs):
    other = RunFolder.open(play(own_task, [executing("train.py"), submitting()], runs, seed=1).folder)
    said: list[str] = []
    done = complete_verdicts([runs], runs, progress=said.append)
    assert done.measured == ["plain of ball@1 (mini)", "oracle of ball@1 (mini)"] and done.judged == 2
    assert Counter(re.findall(r"the (\w+) of", " ".join(said))) == {"plain": 1, "oracle": 1}
    for each in (run, other):
        profile = read_profile(each)
        assert profile.position is not None and profile.summary.grade.over_plain is not None
    assert complete_verdicts([runs], runs, progress=said.append).measured == [] and len(said) == 2


def test_data_are_looked_at_once_however_many_runs_are_on_them(own_task, runs, monkeypatch):
    for seed in range(3):
        play(own_task, [executing("train.py"), submitting()], runs, seed=seed)
    looks: list[object] = []
    find = references.find_prepared
    monkeypatch.setattr(references, "find_prepared", lambda *a, **k: looks.append(a) or find(*a, **k))
    assert complete_verdicts([runs], runs).judged == 3
    assert len(looks) == 1


def test_nothing_is_measured_for_runs_that_left_nothing_to_grade(own_task, runs):
    play(own_task, [submitting()], runs)
    done = complete_verdicts([runs], runs)
    assert (done.measured, done.waiting, done.problems) == ([], [], [])


def test_what_may_take_hours_waits_until_it_is_asked_for(own_task, runs):
    run = RunFolder.open(play(own_task, [executing("train.py"), submitting()], runs, variant="full").folder)
    done = complete_verdicts([runs], runs)
    assert done.waiting == ["plain and oracle of ball@1 (full)"] and done.measured == []
    assert read_profile(run).position is None
    assert len(complete_verdicts([runs], runs, "all").measured) == 2
    assert read_profile(run).position is not None


def test_what_was_measured_since_enters_verdicts_though_nothing_is_to_be_measured(own_task, run, runs):
    assert complete_verdicts([runs], runs, "none").waiting == ["plain and oracle of ball@1 (mini)"]
    for kind in ("plain", "oracle"):
        references.measure(prepare(load_task(own_task)), kind, "auto", lambda line: None)
    done = complete_verdicts([runs], runs, "none")
    assert done.waiting == [] and done.judged == 1 and read_profile(run).position is not None


def test_data_that_are_not_ready_are_not_made(run, runs):
    shutil.rmtree(Path(os.environ["MLAGENTBENCH_CACHE"]) / "data")
    (problem,) = complete_verdicts([runs], runs, "all").problems
    assert "its data are not ready here; `mlagentbench prepare" in problem and "ball@1 (mini)" in problem
    assert not (Path(os.environ["MLAGENTBENCH_CACHE"]) / "data").exists()


def test_a_task_of_another_version_is_not_taken_for_it(own_task, run, runs):
    replace_in(own_task / "task.toml", "version = 1", "version = 2")
    (problem,) = complete_verdicts([runs], runs, "all").problems
    assert problem == "plain and oracle of ball@1 (mini) are not known: the task here is ball@2"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"task": "nothing@1", "task_folder": ""}, "there is no such task here"),
        ({"data_digest": "0" * 64}, "its data are others"),
        ({"data_key": "12345678"}, "--key"),
        ({"imported": {"source": "/x", "time": 1.0}}, "its runs were imported"),
    ],
)
def test_what_cannot_be_compared_here_is_passed_over_and_named(run, runs, said, why):
    _changed(run, **said)
    done = complete_verdicts([runs], runs, "all")
    assert done.measured == [] and len(done.problems) == 1 and why in done.problems[0]


def test_a_run_of_another_machine_keeps_its_verdict(own_task, run, runs):
    host = json.loads(run.request_file.read_text())["host"]
    _changed(run, host=host | {"cores": host["cores"] + 1})
    before = run.grades_file.read_bytes()
    (problem,) = complete_verdicts([runs], runs, "all").problems
    assert "made on another machine" in problem and run.grades_file.read_bytes() == before
    assert read_references(prepare(load_task(own_task))).oracle == []


def test_a_run_that_was_not_made_here_keeps_its_verdict_and_nothing_of_its_task_is_run(run, runs):
    run.signature_file.unlink()
    before = run.grades_file.read_bytes()
    (problem,) = complete_verdicts([runs], runs, "all").problems
    assert "were not made here" in problem and run.grades_file.read_bytes() == before


def test_an_interpreter_that_a_record_names_is_not_started(run, runs, tmp_path):
    trap = tmp_path / "python"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\n")
    trap.chmod(0o755)
    _changed(run, python=str(trap))
    (problem,) = complete_verdicts([runs], runs, "all").problems
    assert "an interpreter of the user's own" in problem and not (tmp_path / "sprung").exists()


def test_a_plain_model_that_crashes_is_told_and_the_oracle_is_measured_all_the_same(own_task, run, runs):
    (own_task / "plain" / "train.py").write_text("raise RuntimeError('as it is')\n")
    good = (own_task / "starter" / "train.py").read_text()
    again = play(own_task, [writing("train.py", good), executing("train.py"), submitting()], runs)
    done = complete_verdicts([runs], runs)
    assert any("plain of ball@1 (mini) could not be measured" in each for each in done.problems)
    assert done.measured == ["oracle of ball@1 (mini)"]
    assert read_profile(RunFolder.open(again.folder)).position is not None


def test_verdicts_that_are_whole_are_not_spoken_of(run, runs):
    complete_verdicts([runs], runs)
    _changed(run, task="nothing@1", task_folder="")
    assert complete_verdicts([runs], runs).problems == []
