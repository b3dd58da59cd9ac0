"""Grading every step, and comparing, by commands."""

from __future__ import annotations

import csv
import json
import shutil
from dataclasses import replace


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


def test_after_a_run_a_report_measures_what_it_needs_unless_it_is_told_not_to(place, tmp_path):
    task = shutil.copytree(place.task, tmp_path / "ball")
    cache = {"MLAGENTBENCH_CACHE": str(tmp_path / "cache")}
    own = replace(place, task=task, environment=place.environment | cache)
    own("run", task, "-a", "starter", "--experiment", "mine")
    told = own("report", "mine", "-o", "out", "--no-references").stdout
    assert "plain and oracle of ball@1 (mini): not measured." in told
    assert "mlagentbench report mine -o out --references" in told and "Measuring" not in told
    assert not _position(own.folder / "out")
    told = own("report", "mine", "-o", "out").stdout
    assert "Measuring the plain of ball@1" in told and "Measuring the oracle of ball@1" in told
    assert "not measured" not in told
    assert _position(own.folder / "out")
    again = own.json("report", "mine", "-o", "out")
    assert again["references"] == {"measured": [], "judged": 0, "waiting": [], "problems": []}


def _position(report):
    with (report / "runs.csv").open(encoding="utf-8", newline="") as stream:
        (row,) = csv.DictReader(stream)
    return row["position"]
