"""Lists of runs: which state they are in, what they cost, and finding some among many."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from cli.conftest import COMMAND

from mlagentbench.errors import RecordError, UsageError
from mlagentbench.evaluation.groups import runs_of
from mlagentbench.record.folder import RunFolder, run_path

LONG = "echo begun; sleep 600"


def runs_told(place, *wanted: str) -> list[str]:
    return [each["folder"] for each in place.json("list", "--runs", *wanted)]


def test_some_are_found_among_many_by_what_is_known_of_them(place):
    script = place.folder / "script.txt"
    script.write_text("Nothing that can be used.")
    for agent in ("starter", "oracle"):
        place("run", place.task, "-a", agent, "-w", f"with-{agent}")
    place("run", place.task, "-a", "act", "-m", f"mock/{script}", "-c", "max_tries=1", status=1)
    everything = runs_told(place)
    task = place.json("list", "--runs")[0]["summary"]["task"]
    assert len(everything) == 3
    for wanted, count in (
        (("--agent", "oracle"), 1),
        (("--model", "MOCK/"), 1),
        (("--task", task.upper()), 3),
        (("--task", "house"), 0),
        (("--state", "ended"), 3),
        (("--state", "submitted"), 2),
        (("--state", "running"), 0),
        (("with-starter",), 1),
        (("with-", "--agent", "starter"), 1),
    ):
        found = runs_told(place, *wanted)
        assert len(found) == count and set(found) <= set(everything), wanted
    told = place("list", "--agent", "act").stdout
    head, row = told.splitlines()[:2]
    assert head.split()[:7] == ["run", "task", "agent", "seed", "steps", "time", "cost"]
    assert "unknown" in row or "$" in row
    assert "No run in runs fits" in place("list", "--agent", "nobody").stdout
    assert "'--state'" in place("list", "--state", "asleep", status=2).stderr


def test_a_run_that_goes_on_is_running_and_one_that_was_killed_can_be_resumed(place):
    command = [COMMAND, "run", place.task, "-a", "command", "--command", LONG, "-c", "settle=500"]
    with subprocess.Popen(
        command, cwd=place.folder, env=place.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any(line.strip() == "begun" for line in process.stdout)
        assert "running" in place("list", "--runs").stdout
        (folder,) = runs_told(place, "--state", "running")
        assert "this is its record so far" in place("show", folder).stdout
        with pytest.raises(RecordError, match="is being written by another process"):
            RunFolder.open(folder).lock()
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert "stopped: resume" in place("list", "--runs").stdout
    (run,) = place.json("list", "--state", "stopped")
    assert run["state"] == "stopped" and run["summary"]["ended"] == ""
    assert f"mlagentbench resume {folder}" in place("show", folder).stdout


def test_tasks_are_found_by_a_word(place):
    assert [task["id"] for task in place.json("list", "house")] == ["house-price@1"]
    assert "No task has 'zzz' in its name" in place("list", "zzz").stdout


def test_a_folder_of_runs_has_no_letter_that_other_systems_refuse(tmp_path: Path):
    path = run_path(tmp_path, "e", "t@1", "my.module:Agent", "ollama/a:b*?\"<>|\\ $x'", "id")
    assert path.parent.name == "my.module_Agent--ollama_a_b_________x_"
    assert run_path(tmp_path, "e", "t@1", "act", "openai/gpt@2", "id").parent.name == "act--openai_gpt@2"


def test_an_agent_of_ones_own_is_found_by_its_name_wherever_its_runs_lie(place):
    (place.folder / "mine.py").write_text(
        "class Agent:\n    needs_model = False\n    def run(self, env):\n        pass\n"
    )
    place("run", place.task, "-a", "mine:Agent", status=1)
    (folder,) = place.folder.glob("runs/default/*/mine_Agent--no-model/*")
    assert json.loads((folder / "run.json").read_text())["agent"] == "mine:Agent"
    old = folder.parent.with_name("mine:Agent--no-model")  # as it was called before
    folder.parent.rename(old)
    runs = place.folder / "runs"
    for name in ("mine:Agent", "mine:Agent--no-model", "mine_Agent--no-model"):
        assert len(runs_of(name, runs).read) == 1
    assert "mine:Agent" in place("show", "last").stdout
    with pytest.raises(UsageError):
        runs_of("mine", runs)


def test_a_name_for_an_experiment_that_is_no_plain_name_is_refused(place):
    assert "is no plain name" in place("run", place.task, "-w", "a:b", status=2).stderr
