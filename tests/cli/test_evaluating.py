"""Grading every step, and comparing, by commands."""

from __future__ import annotations

import json


def test_grade_every_step_tells_each_moment_and_keeps_the_verdicts(place, scripted):
    run = scripted(
        ("Execute Script", {"script_name": "train.py"}),
        ("Write File", {"file_name": "submission.csv", "content": "nonsense"}),
        ("Final Answer", {"final_answer": "Done."}),
        status=1,
    )
    told = place("grade", run, "--every-step", "--workers", 2).stdout
    assert "no success" in told and "not valid" in told
    (again,) = place.json("grade", run, "--every-step")["runs"]
    assert (again["graded"], again["reused"], again["problems"]) == (0, 0, [])
    assert [point["valid"] for point in again["points"]] == [False, True, False, False]
    assert again["best"]["step"] == 1
    assert json.loads((run / "evaluation.json").read_bytes())["every_step"]


def test_a_step_and_every_step_cannot_be_asked_for_at_once(place, scripted):
    run = scripted(("Final Answer", {"final_answer": "Done."}), status=1)
    assert (
        "either --step or --every-step" in place("grade", run, "--step", 0, "--every-step", status=2).stderr
    )


def test_two_agents_are_set_against_each_other_in_plain_words(place):
    place("run", place.task, "-a", "starter", "--runs", 2, "--experiment", "tried")
    place("run", place.task, "-a", "oracle", "--runs", 2, "--experiment", "tried")
    told = place("compare", "oracle", "starter", "--by", "category").stdout
    assert "oracle against starter" in told
    assert "2 runs against 2 over 1 task, paired by seed." in told
    assert "Improvement: decided, oracle is better than starter." in told
    assert "own tasks" in told
    found = place.json("compare", "tried", "--by", "date")
    assert found["paired"]["improvement"]["better"] == "second"
    assert found["paired"]["probability"]["value"] in (0, 1)
    assert found["by_date"] == [] and found["problems"] == []


def test_a_cutoff_that_is_none_is_refused(place):
    assert "write it like" in place("compare", "--by", "date", "--cutoff", "soon", status=2).stderr
