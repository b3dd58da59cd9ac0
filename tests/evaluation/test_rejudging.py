"""Verdicts that follow what was measured since."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.acting import executing, play, submitting, writing

from mlagentbench.evaluation.profile import read_profile
from mlagentbench.evaluation.rejudging import judge_again
from mlagentbench.grading.references import BASELINE_RUNS, Measurement, add_reference
from mlagentbench.record import RunFolder
from mlagentbench.task.preparation import prepare
from mlagentbench.task.registry import load_task


def test_an_oracle_that_is_measured_later_gives_a_position_without_grading_again(own_task, runs):
    run = RunFolder.open(play(own_task, [executing("train.py"), submitting()], runs).folder)
    prepared = prepare(load_task(own_task))
    before = read_profile(run)
    assert before.position is None
    assert not judge_again(run, prepared)
    starter = before.summary.grade.baseline.mean
    oracle = Measurement(score=starter / 2, seed=0, wall_seconds=1, cpu_seconds=1, peak_memory=1)
    add_reference(prepared, "oracle", oracle)
    assert judge_again(run, prepared)
    after = read_profile(run)
    assert after.position == pytest.approx((before.summary.grade.score - starter) / (starter / 2 - starter))
    assert after.summary.grade.score == before.summary.grade.score
    assert not judge_again(run, prepared)


def test_what_is_not_remembered_any_more_stays_in_the_verdict(own_task, runs):
    run = RunFolder.open(play(own_task, [executing("train.py"), submitting()], runs).folder)
    prepared = prepare(load_task(own_task))
    measured = Measurement(score=1.0, seed=0, wall_seconds=1, cpu_seconds=1, peak_memory=1)
    add_reference(prepared, "plain", measured)
    assert judge_again(run, prepared)
    before = read_profile(run).summary.grade
    (file,) = (Path(os.environ["MLAGENTBENCH_CACHE"]) / "references").rglob("*.json")
    file.unlink()
    add_reference(prepared, "starter", measured)  # one of three: not a baseline to judge by
    add_reference(prepared, "oracle", measured.model_copy(update={"score": before.baseline.mean / 2}))
    assert judge_again(run, prepared)
    after = read_profile(run).summary.grade
    assert before.position is None and after.position is not None
    assert (after.baseline, after.over_plain) == (before.baseline, before.over_plain)


def test_a_verdict_without_a_baseline_gets_one_when_there_is_one(own_task, runs):
    good = (own_task / "starter" / "train.py").read_text()
    (own_task / "starter" / "train.py").write_text("raise RuntimeError('as it is')\n")
    story = [writing("train.py", good), executing("train.py"), submitting()]
    run = RunFolder.open(play(own_task, story, runs).folder)
    assert "There is no baseline" in read_profile(run).summary.grade.notes[0]
    (own_task / "starter" / "train.py").write_text(good)
    prepared = prepare(load_task(own_task))
    for seed in range(BASELINE_RUNS):
        one = Measurement(score=9.0, seed=seed, wall_seconds=1, cpu_seconds=1, peak_memory=1)
        add_reference(prepared, "starter", one)
    assert judge_again(run, prepared)
    grade = read_profile(run).summary.grade
    assert grade.baseline.mean == 9.0 and grade.improvement is not None and grade.notes == ()
