"""Commands about tasks and about the machine."""

from __future__ import annotations

import json


def test_list_shows_every_variant_with_what_it_needs(place):
    told = place("list").stdout
    assert "house-price@1" in told and "a Kaggle account" in told
    tasks = {task["id"]: task for task in place.json("list")}
    assert {variant["name"] for variant in tasks["vectorization@1"]["variants"]} == {"mini", "full"}


def test_list_of_no_runs_says_how_to_make_one(place):
    assert "mlagentbench run TASK" in place("list", "--runs").stdout
    assert place.json("list", "--runs") == []


def test_info_tells_the_problem_as_the_agent_reads_it(place):
    told = place("info", place.task).stdout
    assert "mean absolute error in metres" in told and "# Predict how far a ball flies" in told
    assert "{variant}" not in told
    assert place.json("info", place.task)["submission"] == "submission.csv"


def test_prepare_says_where_the_data_are_and_another_seed_makes_others(place):
    first, again, other = (
        place.json("prepare", place.task, *more)["ready"][0]["folder"]
        for more in ((), ("--data-seed", 0), ("--data-seed", 1))
    )
    assert first == again != other


def test_one_task_of_several_that_cannot_be_prepared_does_not_keep_the_others_from_it(place):
    told = place.json("prepare", place.folder / "nothing", place.task, status=1)
    assert [each["task"] for each in told["ready"]] == ["ball@1"]
    assert "no task folder" in told["failed"][0]["problem"]


def test_a_new_task_runs_and_is_audited_as_it_is(place):
    place("new-task", "mine")
    assert (place.folder / "mine" / "task.toml").is_file()
    assert place("audit", "./mine").stdout.rstrip().endswith("Every item holds.")
    assert "is there already" in place("new-task", "mine", status=2).stderr


def test_an_audit_that_fails_is_status_1_and_says_which_item(place):
    place("new-task", "mine")
    solution = place.folder / "mine" / "solution" / "train.py"
    solution.write_text((place.folder / "mine" / "starter" / "train.py").read_text())
    done = place("audit", "./mine", status=1)
    assert "✗ the oracle beats the starter" in done.stdout
    assert place.json("audit", "./mine", status=1)["reports"][0]["ok"] is False


def test_doctor_tells_what_works_and_the_command_for_what_does_not(place):
    checks = {check["name"]: check for check in place.json("doctor")["checks"]}
    assert checks["python"]["state"] == "works"
    assert any(check["state"] == "works" for name, check in checks.items() if name.startswith("sandbox"))
    place.environment["MLAGENTBENCH_CACHE"] = str(place.folder / "empty")
    assert "mlagentbench prepare house-price" in place("doctor").stdout


def test_info_and_doctor_say_what_of_a_tasks_needs_is_missing_and_the_command_that_helps(place):
    place.environment.update({"MLAGENTBENCH_CACHE": str(place.folder / "empty"), "HOME": str(place.folder)})
    for name in ("KAGGLE_API_TOKEN", "KAGGLE_KEY"):
        place.environment.pop(name, None)
    variants = {each["name"]: each for each in place.json("info", "house-price")["variants"]}
    mini, full = variants["mini"]["missing"], variants["full"]["missing"]
    assert [need["what"] for need in mini] == [
        "its interpreter (with numpy, pandas, scikit-learn, scipy)", "its data",
    ]  # fmt: skip
    assert {need["command"] for need in mini} == {"mlagentbench prepare house-price"}
    assert full[0]["command"] == "export KAGGLE_API_TOKEN=…" and "kaggle.com/settings/api" in full[0]["what"]
    assert full[-1]["command"] == "mlagentbench prepare house-price --variant full"
    told = place("info", "house-price").stdout
    assert "missing: its data" in told and "export KAGGLE_API_TOKEN=…" in told
    checks = {check["name"]: check for check in place.json("doctor")["checks"]}
    assert "lacks its interpreter (with numpy" in checks["task house-price"]["detail"]
    assert "house-price" in checks["kaggle"]["detail"] and checks["kaggle"]["state"] == "optional"
    place.environment["KAGGLE_API_TOKEN"] = "x"
    variants = {each["name"]: each for each in place.json("info", "house-price")["variants"]}
    assert all("token" not in need["what"] for need in variants["full"]["missing"])


def test_a_client_that_is_not_installed_is_told_with_the_extra_that_brings_it(monkeypatch):
    from mlagentbench.task import needs

    monkeypatch.setattr(needs.importlib.util, "find_spec", lambda name: None)
    (kaggle,) = needs.client_missing("kaggle-competition")
    assert kaggle.command.endswith("-m pip install 'mlagentbench[kaggle]'")
    (hub,) = needs.client_missing("huggingface")
    assert hub.command.endswith("-m pip install 'mlagentbench[hub]'")


def test_an_audit_of_several_tasks_ends_with_a_table_that_can_be_kept(place):
    place("new-task", "mine")
    told = place(
        "audit", "./mine", place.task, place.folder / "nothing", "--save", "table.json", status=1
    ).stdout
    assert "ball@1 (mini)" in told and "mine@1 (mini)" in told and "oracle gains" in told
    assert "no task folder" in told
    kept = json.loads((place.folder / "table.json").read_text())
    assert [row["task"] for row in kept] == ["ball@1", "mine@1"]
    place("audit", "./mine", "--save", "table.json")
    assert len(json.loads((place.folder / "table.json").read_text())) == 2
    (row,) = place.json("audit", "./mine")["table"]
    assert row["oracle_gain"] > row["plain_gain"] >= 0 and row["ok"] and row["memory"] > 0
    assert "Name the tasks, or give --all" in place("audit", status=2).stderr


def test_without_a_sandbox_the_doctor_calls_it_broken_and_names_one_command():
    from mlagentbench.cli import health
    from mlagentbench.sandbox import Finding

    findings = [Finding("bwrap", False, "it is not installed.", "apt-get install -y bubblewrap")]
    (check,) = health._sandboxes(findings)
    assert (check.state, check.command) == ("broken", "apt-get install -y bubblewrap")
