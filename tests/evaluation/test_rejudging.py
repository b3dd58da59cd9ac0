"""Verdicts that follow what was measured since."""

from __future__ import annotations

import pytest
from support.acting import executing, play, submitting

from mlagentbench.errors import UsageError
from mlagentbench.evaluation.profile import read_profile
from mlagentbench.evaluation.rejudging import judge_again
from mlagentbench.grading.references import Measurement, add_reference
from mlagentbench.record import RunFolder
from mlagentbench.task.preparation import prepare
from mlagentbench.task.registry import load_task


def test_an_oracle_that_is_measured_later_gives_a_position_without_grading_again(own_task, runs):
    run = play(own_task, [executing("train.py"), submitting()], runs).folder
    before = read_profile(RunFolder.open(run))
    assert before.position is None
    assert not judge_again(run)
    starter = before.summary.grade.baseline.mean
    oracle = Measurement(score=starter / 2, seed=0, wall_seconds=1, cpu_seconds=1, peak_memory=1)
    add_reference(prepare(load_task(own_task)), "oracle", oracle)
    assert judge_again(run)
    after = read_profile(RunFolder.open(run))
    assert after.position == pytest.approx((before.summary.grade.score - starter) / (starter / 2 - starter))
    assert after.summary.grade.score == before.summary.grade.score
    assert not judge_again(run)
    with pytest.raises(UsageError, match="--key"):
        judge_again(run, key="another")
