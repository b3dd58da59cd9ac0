"""The whole path of a run by commands: run, show, grade, verify, compare, fork, pack, collect."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

EXECUTE = ("Execute Script", {"script_name": "train.py"})
SUBMIT = ("Final Answer", {"final_answer": "Done."})


def write(file: str, content: str) -> tuple[str, dict[str, str]]:
    return "Write File", {"file_name": file, "content": content}


def test_a_run_tells_what_it_does_its_grade_where_it_lies_and_what_to_do_next(place):
    told = place("run", place.task, "-a", "starter", "-w", "first").stdout
    assert "1  Execute Script  train.py" in told
    assert "validation MAE" in told, "the program's output is shown live"
    assert "exit status 0" in told
    assert "changed: submission.csv" in told
    assert "score " in told and "baseline " in told and "no success" in told
    (folder,) = (place.folder / "runs" / "first").glob("*/*/*")
    assert f"mlagentbench show {folder}" in told


def test_with_json_a_machine_gets_one_document_and_people_read_standard_error(place):
    done = place("run", place.task, "-a", "oracle", "--json")
    (run,) = json.loads(done.stdout)["runs"]
    assert run["summary"]["grade"]["success"] is True
    assert (Path(run["folder"]) / "events.jsonl").is_file()
    assert "Execute Script" in done.stderr


def test_several_runs_have_seeds_one_apart_and_end_in_a_table(place):
    done = place("run", place.task, "--runs", "2", "--seed", "5", "--max-steps", "7")
    assert "improvement" in done.stdout and "95 % intervals" in done.stdout
    runs = place.json("list", "--runs")
    assert sorted(run["summary"]["seed"] for run in runs) == [5, 6]
    limits = json.loads((Path(runs[0]["folder"]) / "run.json").read_text())["limits"]
    assert limits["steps"] == 7


def test_an_environment_variable_stands_for_a_flag_and_the_flag_wins(place):
    place.environment.update(MLAGENTBENCH_MAX_STEPS="3", MLAGENTBENCH_SEED="9")
    (run,) = place.json("run", place.task, "--seed", "4")["runs"]
    limits = json.loads((Path(run["folder"]) / "run.json").read_text())["limits"]
    assert (limits["steps"], run["summary"]["seed"]) == (3, 4)


def test_nothing_to_grade_is_status_1_with_the_reason(place, scripted):
    folder = scripted(SUBMIT, status=1)
    assert "not valid" in place("show", folder).stdout
    assert "not valid" in place("grade", folder, status=1).stdout


def test_show_tells_what_was_asked_every_step_and_how_it_ended(place, scripted):
    folder = scripted(write("notes.txt", "one\ntwo\n"), ("Read File", {"file_name": "nope"}), EXECUTE, SUBMIT)
    told = place("show", "last").stdout
    assert "ball@1 (mini)" in told and "limits" in told and "scripted" in told
    assert "Write File  notes.txt, content: 2 lines" in told
    assert "✗ There is no 'nope' in the workspace." in told
    assert "validation MAE" in told
    assert "ended   submitted" in told and "score" in told
    assert place("show", folder.name[:18]).stdout == told, "the beginning of an id is enough"
    assert place.json("show", "last")["request"]["agent"] == "scripted"


def test_show_of_a_step_has_its_diff_and_its_whole_output(place, scripted):
    scripted(
        write("long.py", "print('\\n'.join(f'line {i}' for i in range(5000)))\n"),
        write("long.py", "print('\\n'.join(f'line {i}' for i in range(9000)))\n"),
        ("Execute Script", {"script_name": "long.py"}),
        SUBMIT,
        status=1,
    )
    edit = place("show", "last", 2).stdout
    assert "--- a/long.py" in edit and "+++ b/long.py" in edit
    assert "-print('\\n'.join(f'line {i}' for i in range(5000)))" in edit
    assert "+print('\\n'.join(f'line {i}' for i in range(9000)))" in edit
    output = place("show", "last", 3).stdout
    assert all(f"line {i}\n" in output for i in (0, 4500, 8999)), "nothing is left out"
    assert "there is no step 9" in place("show", "last", 9, status=2).stderr
    assert "+++ b/long.py" in place.json("show", "last", 1)["diff"]


def test_hostile_output_cannot_steer_the_terminal(place, scripted):
    evil = "print('\\x1b]0;owned\\x07\\x1b[2J\\x1b[31mred \\x08\\x08 [bold]not markup[/bold]')\n"
    folder = scripted(
        write("evil.py", evil), ("Execute Script", {"script_name": "evil.py"}), SUBMIT, status=1
    )
    live = place(
        "run", place.task, "-a", "scripted", "-c", f"file={place.folder / 'actions.jsonl'}", status=1
    )
    for told in (live.stdout, live.stderr, place("show", folder).stdout, place("show", folder, 2).stdout):
        assert "\x1b" not in told and "\x07" not in told and "\x08" not in told
    assert "red" in live.stdout and "[bold]not markup[/bold]" in live.stdout


def test_verify_is_content_with_a_sound_run_and_tells_a_changed_one(place, scripted):
    folder = scripted(EXECUTE, SUBMIT)
    assert "the same verdict when graded again" in place("verify", folder).stdout
    events = folder / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b"validation", b"verification"))
    assert "changed from outside" in place("verify", folder, status=1).stdout
    assert place.json("verify", folder, status=1)["runs"][0]["ok"] is False


def test_grading_at_an_earlier_step_looks_at_the_workspace_as_it_was_then(place, scripted):
    folder = scripted(EXECUTE, write("submission.csv", "id,distance\n"), SUBMIT, status=1)
    assert place.json("grade", folder, "--step", 1)["runs"][0]["grade"]["valid"] is True
    assert place.json("grade", folder, "--step", 0, status=1)["runs"][0]["grade"]["valid"] is False
    assert "steps 0 to 3" in place("grade", folder, "--step", 4, status=2).stderr


def test_checkout_gives_the_files_of_a_step_and_grade_file_grades_one_of_them(place, scripted):
    scripted(EXECUTE, write("train.py", "pass\n"), SUBMIT)
    place("checkout", "last", "then", "--step", 1)
    place("checkout", "last", "end")
    assert "validation" in (place.folder / "then" / "train.py").read_text()
    assert (place.folder / "end" / "train.py").read_text() == "pass\n"
    grade = place.json("grade-file", place.task, "end/submission.csv")
    assert grade["valid"] and grade["score"] == place.json("list", "--runs")[0]["summary"]["grade"]["score"]
    assert "exists already" in place("checkout", "last", "end", status=2).stderr
    refused = place.json("grade-file", place.task, "end/train.py", status=1)
    assert not refused["valid"] and refused["reason"]


def test_a_fork_shares_its_beginning_and_goes_on_with_another_agent(place, scripted):
    folder = scripted(write("train.py", "raise SystemExit(3)\n"), EXECUTE, SUBMIT, status=1)
    (forked,) = place.json("fork", folder, "--step", 0, "-a", "starter")["runs"]
    assert forked["summary"]["grade"]["valid"] is True
    assert "forked  from " + folder.name in place("show", forked["folder"]).stdout
    assert place("verify", forked["folder"], folder).returncode == 0


def test_a_fork_keeps_the_model_only_for_an_agent_that_needs_one_or_where_it_is_named(place, scripted):
    script = place.folder / "script.txt"
    script.write_text("Nothing.")
    folder = scripted(EXECUTE, SUBMIT, options=("-m", f"mock/{script}"))
    fork = ("fork", folder, "--step", 1)
    models = {}
    for flags in ((), ("-a", "starter"), ("-a", "starter", "-m", f"mock/{script}"), ("-a", "scripted")):
        (forked,) = place.json(*fork, *flags)["runs"]
        models[flags] = forked["summary"]["model"]
    assert list(models.values()) == [f"mock/{script}", "", f"mock/{script}", f"mock/{script}"]


def test_compare_says_how_many_runs_were_forked_and_counts_them_all(place, scripted):
    folder = scripted(EXECUTE, SUBMIT)
    assert "forked" not in place("compare").stdout and place.json("compare")["forked"] == 0
    place("fork", folder, "--step", 0, "-a", "starter")
    told = place("compare").stdout
    assert "1 of these runs was forked from another: it began with that one's steps." in " ".join(
        told.split()
    )
    place("fork", folder, "--step", 1)
    assert "2 of these runs were forked from others" in place("compare").stdout
    found = place.json("compare")
    assert found["forked"] == 2 and sum(group["runs"] for group in found["groups"]) == 3
    assert place.json("compare", "starter", "scripted")["forked"] == 2
    assert place.json("compare", "runs", "starter")["forked"] == 2, "a run in two places is one run"


def test_a_packed_run_can_be_unpacked_elsewhere_and_is_still_sound(place, scripted):
    scripted(EXECUTE, SUBMIT)
    file = place.json("pack", "last")["file"]
    assert tarfile.is_tarfile(place.folder / file)
    unpacked = place.json("unpack", file, "-o", "elsewhere")["folder"]
    place("verify", unpacked)
    assert "unpacked before" in place("unpack", file, "-o", "elsewhere", status=2).stderr


def test_gc_frees_what_a_deleted_run_left_and_keeps_the_rest(place, scripted):
    kept = scripted(EXECUTE, SUBMIT)
    gone = scripted(write("large.txt", "x" * 100_000), EXECUTE, SUBMIT)
    assert place.json("gc")["objects"] == 0
    shutil.rmtree(gone)
    assert place.json("gc")["objects"] > 0
    place("verify", kept)


def test_compare_puts_the_agents_of_a_folder_side_by_side(place):
    place("run", place.task, "-a", "starter", "--runs", "2")
    place("run", place.task, "-a", "oracle", "--runs", "2")
    groups = {group["agent"]: group for group in place.json("compare", "runs")["groups"]}
    assert groups["starter"]["success"] | {"high": 0} == {"value": 0.0, "low": 0.0, "high": 0}
    assert groups["oracle"]["success"]["value"] == 1.0 and groups["oracle"]["runs"] == 2
    table = place("compare", "starter", "oracle").stdout
    assert "0 % [0, 66]" in table and "100 % [34, 100]" in table


def test_what_stands_open_is_said_loudly_once(place):
    done = place("run", place.task, "--sandbox", "none", "--network", "on", "--runs", "2")
    assert done.stderr.count("WARNING: --sandbox none") == 1
    assert done.stderr.count("WARNING: --network on") == 1
    assert "network" in place("compare").stdout


def test_in_an_interactive_run_a_person_answers_and_otherwise_nobody_does(place, scripted):
    ask = ("Request Help", {"request": "Which model?"})
    assert "Nobody is there to answer" in place("show", scripted(ask, EXECUTE, SUBMIT)).stdout
    file = place.folder / "actions.jsonl"
    done = place(
        "run", place.task, "-a", "scripted", "-c", f"file={file}", "--interactive", said="A forest.\n"
    )
    assert "The agent asks: Which model?" in done.stderr
    assert "A forest." in place("show", "last", 1).stdout
