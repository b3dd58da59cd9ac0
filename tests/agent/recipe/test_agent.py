"""The agent that follows a recipe: what it keeps, that it ends in time, and that it can be killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from support.acting import events_of, steps_of
from telling import Killed, killed_and_resumed

import mlagentbench.agent.recipe
from mlagentbench import resume, run
from mlagentbench.agent.measuring import RUN_WITH_SEED
from mlagentbench.agent.recipe.settings import RecipeSettings
from mlagentbench.agent.settings import settings_table
from mlagentbench.cli.commands.show import command as show
from mlagentbench.record.events import Event, Note, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.log import EventLog
from mlagentbench.task.registry import in_suite, list_tasks
from mlagentbench.workspace import read

PAGE = Path(__file__).parents[3] / "docs" / "agents.md"
STARTER = """import csv, os

EPOCHS = 1
LEARNING_RATE = 0.1
BATCH = 16
LIKELY = 50

seed = int(os.environ.get("SEED", "0"))
error = 8 / EPOCHS + abs(LEARNING_RATE - 0.1) + LIKELY
if BATCH < 16:
    error += 20 if seed else -1
if EPOCHS > 4:
    raise ValueError("too long")
print(f"validation MAE: {error}")
with open("submission.csv", "w", newline="") as stream:
    writer = csv.writer(stream)
    writer.writerow(["id", "distance"])
    for row in csv.DictReader(open("test.csv")):
        writer.writerow([row["id"], 2 * EPOCHS * float(row["speed"])])
"""


@pytest.fixture
def turning(own_task: Path) -> Path:
    """A task whose starter has numbers to turn, of which one helps and one is lucky."""
    (own_task / "starter" / "train.py").write_text(STARTER)
    return own_task


def left_by(folder: Path, name: str = "train.py") -> str:
    return read(RunFolder.open(folder).store(), steps_of(folder)[-1].snapshot, name, 100_000).decode()


def told_by(folder: Path) -> list[dict[str, object]]:
    return [event.data for event in events_of(folder) if isinstance(event, Note) and event.data]


def test_it_keeps_what_helps_with_other_seeds_too_and_leaves_alone_what_it_does_not_know(turning, runs):
    done = run(turning, "recipe", runs=runs)
    assert done.summary.ended == "submitted" and done.grade is not None and done.grade.valid
    script = left_by(done.folder)
    assert script == STARTER.replace("EPOCHS = 1\n", "EPOCHS = 4\n"), "the rest is as it was"
    told = told_by(done.folder)
    assert told[-1]["chosen"] and told[-1]["scores"] == [52.0, 52.0]
    lucky = next(each for each in reversed(told) if each["plan"] == "BATCH = 8 in train.py.")
    assert lucky["scores"] == [51.0, 72.0], "one good score may be luck"
    broken = next(each for each in told if each["plan"] == "EPOCHS = 8 in train.py.")
    assert broken["problem"] == "ValueError: too long"
    *_, ran, submitted = steps_of(done)
    assert (ran.action.name, ran.action.args) == ("Execute Script", {"script_name": "train.py"})
    assert "EPOCHS = 4" in submitted.action.args["final_answer"]
    shown = CliRunner().invoke(show, [str(done.folder), "--tree"])
    assert "★ " in next(line for line in shown.output.splitlines() if "EPOCHS = 4" in line)


def test_without_the_check_by_another_seed_luck_decides(turning, runs):
    done = run(turning, "recipe", settings={"again": 0}, runs=runs)
    assert "BATCH = 8\n" in left_by(done.folder)
    assert not any(step.action.args.get("script_name") == RUN_WITH_SEED for step in steps_of(done))


def test_a_script_that_prints_no_score_is_submitted_as_it_was(turning, runs):
    starter = STARTER.replace("validation MAE", "error")
    (turning / "starter" / "train.py").write_text(starter)
    done = run(turning, "recipe", runs=runs)
    assert done.summary.ended == "submitted" and left_by(done.folder) == starter
    notes = [event.text for event in events_of(done) if isinstance(event, Note)]
    assert any("Nothing can be compared" in note for note in notes)
    assert "nothing could be compared" in steps_of(done)[-1].action.args["final_answer"]


@pytest.mark.parametrize("steps", [1, 3, 6, 16])
def test_it_ends_in_time_to_submit_and_never_goes_beyond_a_limit(tiny_task, runs, steps):
    done = run(tiny_task, "recipe", runs=runs, limits={"steps": steps})
    assert done.summary.steps <= steps
    assert done.summary.ended == ("submitted" if steps > 3 else "limit")


def test_its_own_limits_hold(turning, runs):
    done = run(turning, "recipe", settings={"most_experiments": 2}, runs=runs)
    assert max(int(str(each["node"])) for each in told_by(done.folder)) == 2
    none = run(turning, "recipe", settings={"seconds": 0, "times": 0}, runs=runs)
    assert left_by(none.folder) == STARTER and len(told_by(none.folder)) == 2


def test_a_run_killed_after_any_step_goes_on_to_the_same_end(turning, tmp_path, monkeypatch):
    settings = {"most_experiments": 5}
    whole = run(turning, "recipe", settings=settings, runs=tmp_path / "whole")
    append, met = EventLog.append, set()

    def dying(self: EventLog, event: Event) -> None:
        append(self, event)
        if isinstance(event, StepTaken) and event.index not in met and not event.final:
            met.add(event.index)
            raise Killed

    monkeypatch.setattr(EventLog, "append", dying)
    again = killed_and_resumed(
        lambda: run(turning, "recipe", settings=settings, runs=tmp_path / "runs"), resume, tmp_path / "runs"
    )
    assert len(met) == len(steps_of(whole)) - 1
    assert [step.action for step in steps_of(again)] == [step.action for step in steps_of(whole)]
    assert [step.snapshot for step in steps_of(again)] == [step.snapshot for step in steps_of(whole)]
    assert told_by(again.folder) == told_by(whole.folder), "nothing is told twice"


def test_it_succeeds_on_a_table_with_three_experiments(runs):
    done = run("house-price", "recipe", settings={"most_experiments": 3}, runs=runs)
    assert done.grade is not None and done.grade.success
    tried = {each["node"]: each for each in told_by(done.folder)}
    assert [each["operator"] for each in tried.values()] == ["starter", "draft", "draft", "improve"]
    assert tried[1]["problem"] == "There is no column of texts."
    assert "MODELS = ['boosting']" in left_by(done.folder)


def test_it_does_not_know_the_name_of_any_task():
    folder = Path(mlagentbench.agent.recipe.__file__).parent
    for file in folder.rglob("*"):
        if file.suffix in (".py", ".toml"):
            text = file.read_text(encoding="utf-8").lower()
            for task in filter(in_suite, list_tasks()):
                assert task.name.lower() not in text, f"{file.name} knows {task.name}"


def test_the_page_lists_its_settings():
    assert settings_table(RecipeSettings, {}) in PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_it_succeeds_on_at_least_eight_of_the_tasks(runs):
    tasks = [task.name for task in list_tasks() if in_suite(task)]
    assert len(tasks) == 15
    grades = {task: run(task, "recipe", runs=runs).grade for task in tasks}
    succeeded = [task for task, grade in grades.items() if grade is not None and grade.success]
    assert len(succeeded) >= 8, f"succeeded on {succeeded}"
    assert all(grade is not None and grade.valid for grade in grades.values())
