"""The commands that take runs in from elsewhere and give them away."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.oldruns import TURNS, Turn, old_run


def test_import_lists_every_folder_with_what_was_missing_and_ends_with_1_if_one_was_none(place) -> None:
    old_run(place.folder / "logs" / "whole")
    damaged = old_run(place.folder / "logs" / "torn")
    file = damaged / "env_log" / "trace.json"
    file.write_bytes(file.read_bytes()[:500])
    (place.folder / "logs" / "torn" / "env_log" / "overall_time.txt").write_text("\x1b[2Jsoon")
    done = place("import", "logs")
    assert "2 folders: 2 imported, of these 1 damaged and 0 graded" in done.stdout
    assert "is no whole JSON" in done.stdout and "which is no time" in done.stdout
    assert "\x1b" not in done.stdout
    again = place("import", "logs", "nothing", status=1)
    assert "2 were there before; 1 not imported" in again.stdout and "no such folder" in again.stdout
    assert "cifar10@1 (full)" in place("show", "last").stdout


def test_import_for_machines_says_the_same(place) -> None:
    old_run(place.folder / "one", task="unheard-of")
    (told,) = place.json("import", "one", "--experiment", "old", "-a", "mine", "-m", "a/b")["folders"]
    assert told["problem"] == "" and "no task of ours" in told["not_graded"]
    assert Path(told["run"]).parts[-5:-1] == ("runs", "old", "unheard-of", "mine--a_b")


def test_an_imported_run_is_exported_and_what_nobody_knows_is_null(place) -> None:
    long = Turn("Execute Script", {"script_name": "train.py"}, "line\n" * 30_000)
    old_run(place.folder / "one", [long, *TURNS[3:]])
    place("import", "one")
    told = place.json("export", "last", "--format", "jsonl", "-o", "out")
    assert told["runs"] == 1
    run = json.loads((place.folder / "out" / "runs.jsonl").read_text())
    assert run["imported"] is True and run["host_cores"] is None and run["execution_cpu"] is None
    assert run["tokens_in"] == 2400 and run["cost"] is None
    steps = [json.loads(line) for line in (place.folder / "out" / "steps.jsonl").read_text().splitlines()]
    assert steps[0]["output"] == "step-0001.txt" and steps[0]["seconds"] is None


def test_export_writes_logs_that_inspect_reads(place) -> None:
    pytest.importorskip("inspect_ai")
    from inspect_ai.log import read_eval_log

    old_run(place.folder / "one")
    place("import", "one")
    done = place("export", "runs", "-o", "logs")
    assert "inspect view --log-dir logs" in done.stdout
    (file,) = (place.folder / "logs").glob("*.eval")
    (sample,) = read_eval_log(file).samples
    assert sample.metadata["imported"] is True and sample.scores["success"].value == "N"
    assert "not prepared here" in sample.scores["success"].explanation


def test_export_of_no_run_and_in_no_format_is_wrong_use(place) -> None:
    assert "no folder" in place("export", "last", status=2).stderr
    assert "excel" in place("export", "last", "--format", "excel", status=2).stderr
