"""What a new user stumbled over: a damaged run among others, plans and names with odd paths, commands to paste."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest


@pytest.fixture
def damaged(place) -> Path:
    """The second of two runs, of which nobody can tell any more what was asked."""
    made = place.json("run", place.task, "-a", "starter", "--runs", 2, "--max-steps", 3)["runs"]
    folder = Path(made[1]["folder"])
    (folder / "run.json").write_text("{")
    return folder


@pytest.mark.parametrize("derived", ["kept", "removed"])
def test_list_compare_and_report_go_on_with_the_others_and_name_it(place, damaged, derived):
    if derived == "removed":
        for name in ("summary.json", "evaluation.json"):
            (damaged / name).unlink(missing_ok=True)
    problem = f"{damaged}/run.json is damaged"
    listed = place("list", "--runs")
    assert f"A run is left out: {problem}" in (listed.stdout + listed.stderr).replace("\n", " ")
    whole, broken = place.json("list", "--runs")
    assert whole["summary"]["ended"] == "submitted"
    assert broken["folder"] == str(damaged) and broken["summary"] is None and problem in broken["problem"]
    compared = place("compare", "--json")
    assert [group["runs"] for group in json.loads(compared.stdout)["groups"]] == [1]
    assert [problem in each for each in json.loads(compared.stdout)["problems"]] == [True]
    for by in ([], ["--by", "category"]):
        assert place("compare", *by).stdout.count("A run is left out: ") == 1
    for what in ("runs", "starter"):
        written = place.json("report", what, "--no-references")
        assert written["runs"] == 1
        (sentence,) = written["left_out"]
        assert sentence.startswith(
            f"{damaged.name}: nobody can tell what it is a run of (run.json is damaged"
        )


def test_the_command_that_checks_an_unpacked_run_can_be_pasted(place, scripted):
    folder = scripted(("Final Answer", {"final_answer": "Done."}), status=1)
    place("pack", folder, "one.mlab.tar.gz")
    told = place("unpack", "one.mlab.tar.gz", "--folder", "my runs").stdout.replace("\n", " ")
    command = told.partition("Check it with: ")[2].split(" ", 1)[1]
    assert "my runs/" in command
    assert "sound" in place(*shlex.split(command)).stdout


def test_a_task_by_a_relative_path_is_the_same_one_when_the_plan_is_read_again(place):
    shutil.copytree(place.task, place.folder / "my-task", ignore=shutil.ignore_patterns("__pycache__"))
    for said, name in (("./my-task", "dot"), ("my-task", "bare")):
        both = ("experiment", "-t", said, "-a", "starter,oracle", "--runs", 1, "-w", name)
        place(*both)
        file = place.folder / "runs" / name / "experiment.yaml"
        assert f"task: {place.folder}/my-task\n" in file.read_text()
        kept = file.read_bytes()
        fewer = place("experiment", "-t", said, "-a", "starter", "--runs", 1, "-w", name, status=2)
        assert "holds the experiment of another plan" in fewer.stderr
        assert file.read_bytes() == kept
        looked = place.json("experiment", file, "-w", name, "--dry-run")
        assert [run["state"] for run in looked["runs"]] == ["ended", "ended"]


def test_a_run_cannot_be_put_outside_of_the_folder_of_runs(place):
    for name in ("../../evil", "/tmp/evil", "..", ".store"):
        told = place("run", place.task, "-a", "starter", "-w", name, status=2).stderr
        assert f"{name!r} is no plain name for an experiment; use letters, digits" in told
    assert not list((place.folder / "runs").glob("*/*")) and not (place.folder.parent / "evil").exists()


def test_an_experiment_cannot_either_not_even_a_dry_one(place):
    for name in ("../../evil", "/tmp/evil", ".store"):
        for more in ([], ["--dry-run"]):
            told = place("experiment", "-t", place.task, "-a", "starter", "-w", name, *more, status=2).stderr
            assert f"{name!r} is no plain name for an experiment; use letters, digits" in told
    assert not (place.folder / "runs").exists()


def test_commands_for_what_is_next_can_be_pasted(place):
    told = place("run", place.task, "-a", "starter", "--folder", "my runs").stdout.replace("\n", " ")
    command = told.partition("next    mlagentbench ")[2]
    assert "starter" in place(*shlex.split(command)).stdout


def test_a_long_diff_is_cut_unless_all_is_asked_for(place, scripted):
    long = "".join(f"{row},{row}\n" for row in range(1210))
    scripted(("Write File", {"file_name": "long.csv", "content": long}), status=1)
    cut = place("show", "last", 1).stdout
    assert "+196,196" in cut and "+1209,1209" not in cut
    assert "… 1,013 more lines of the diff of long.csv; --all shows them" in cut
    whole = place("show", "last", 1, "--all").stdout
    assert "+1209,1209" in whole and "more lines" not in whole
    assert "+1209,1209" in place.json("show", "last", 1)["diff"]
