"""Many runs from one command: all of them, each once, whatever is killed, stopped or dies on the way."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.acting import actions_file, events_of, executing, submitting, writing

from mlagentbench import experiment, verify
from mlagentbench.errors import UsageError
from mlagentbench.record.events import Note, StepTaken
from mlagentbench.record.summary import Summary, read_summary
from mlagentbench.workspace import read

SEEDS = 4
RUNS = 2 * 4 * SEEDS
SLOW = "import time\nprint('begun', flush=True)\ntime.sleep(600)\n"


def reply(action: str, **args: object) -> str:
    """As the research agent's model writes it."""
    entries = ("Reflection", "Research Plan and Status", "Fact Check", "Thought")
    said = "".join(f"{entry}: I go on.\n" for entry in entries)
    return f"{said}Action: {action}\nAction Input: {json.dumps(args)}\n"


def script(folder: Path, *replies: str) -> str:
    """A scripted model."""
    file = folder / "script.txt"
    file.write_text("%%%\n".join(replies))
    return f"mock/{file}"


def grid(bench: Any) -> Path:
    """Two tasks, four agents, one of them on a scripted model, four seeds."""
    model = script(
        bench.folder,
        reply("List Files", dir_path="."),
        reply("Execute Script", script_name="train.py"),
        reply("Final Answer", final_answer="The starter."),
    )
    recipe = {"agent": "recipe", "settings": {"most_experiments": 2, "again": 0}}
    agents = ["starter", recipe, "oracle", "research"]
    return bench.file(agents=agents, models=[model], runs=SEEDS)


def results(summaries: list[Summary]) -> list[tuple[Any, ...]]:
    """What a run came to, without what differs from one time to the next."""
    return sorted(
        (s.task, s.variant, s.agent, s.seed, s.ended, s.steps, s.tokens_out, s.grade.score)
        for s in summaries
        if s.grade is not None
    )


def wait_for(condition: Any, seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def steps_on_disk(bench: Any) -> int:
    return sum(
        run.events_file.read_bytes().count(b'"type":"step"')
        for run in bench.runs()
        if run.events_file.exists()
    )


@pytest.mark.xdist_group("experiments")
def test_one_command_makes_all_runs_and_killed_in_the_middle_the_same(bench):
    file = grid(bench)
    whole = bench.json(file, "-w", "whole")
    undisturbed = bench.summaries("whole")
    assert whole["complete"] and len(whole["runs"]) == len(undisturbed) == RUNS
    assert Counter((s.task, s.agent) for s in undisturbed) == {
        (task, agent): SEEDS
        for task in ("ball@1", "other@1")
        for agent in ("starter", "recipe", "oracle", "research")
    }
    assert all(s.ended == "submitted" and s.grade is not None and s.grade.valid for s in undisturbed)
    assert all(bool(s.grade and s.grade.success) == (s.agent == "oracle") for s in undisturbed)

    for steps in (4, 25):
        process = bench.start(file)
        wait_for(lambda steps=steps: steps_on_disk(bench) >= steps)
        assert process.poll() is None, "it was to be killed in the middle"
        for pid in [process.pid, *bench.processes()]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        process.wait()
        assert len(bench.runs()) < RUNS
    begun = {run.path for run in bench.runs()}
    told = bench.json(file)

    assert told["complete"] and len(bench.runs()) == len(told["runs"]) == RUNS
    assert begun <= {run.path for run in bench.runs()}, "what was begun was gone on with"
    assert len({run["folder"] for run in told["runs"]}) == RUNS, "no run is counted twice"
    assert results(bench.summaries()) == results(undisturbed)
    for run in bench.runs()[:3]:
        assert verify(run.path).ok

    before = {run.path: run.events_file.read_bytes() for run in bench.runs()}
    again = bench(file)
    assert "32 of 32 runs done" in again.stdout
    assert {run.path: run.events_file.read_bytes() for run in bench.runs()} == before, (
        "nothing was left to do"
    )


@pytest.mark.xdist_group("experiments")
def test_ctrl_c_finishes_the_steps_in_hand_and_leaves_all_resumable(bench):
    wait = "import time, pathlib\nprint('begun', flush=True)\ntime.sleep(3)\npathlib.Path('done').touch()\n"
    actions = [writing("wait.py", wait), executing("wait.py"), executing("train.py"), submitting()]
    agent = {"agent": "scripted", "settings": {"file": str(actions_file(bench.folder / "a.jsonl", actions))}}
    file = bench.file(agents=[agent], runs=2, resources={"parallel": 2})
    process = bench.start(file)
    wait_for(lambda: steps_on_disk(bench) >= 1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=300)
    assert process.returncode == 130, told
    assert "Finishing the steps in hand" in told and "Traceback" not in told
    assert "4 of 4 runs are left; the same command goes on with them." in told
    taken = [event for run in bench.runs() for event in events_of(run.path) if isinstance(event, StepTaken)]
    assert all(step.observation.ok for step in taken), "no step was cut short"
    assert not bench.processes()
    assert bench.json(file)["complete"]
    assert len(bench.runs()) == 4


@pytest.mark.xdist_group("experiments")
def test_ctrl_c_twice_aborts_and_all_can_be_gone_on_with(bench):
    actions = [writing("slow.py", SLOW), executing("slow.py"), submitting()]
    agent = {"agent": "scripted", "settings": {"file": str(actions_file(bench.folder / "a.jsonl", actions))}}
    file = bench.file(agents=[agent])
    process = bench.start(file)
    wait_for(lambda: steps_on_disk(bench) >= 1)
    assert process.stdout is not None
    process.send_signal(signal.SIGINT)
    for line in process.stdout:
        if "Finishing the steps in hand" in line:
            break
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=300)
    assert process.returncode == 130, told
    assert "Aborting" in told and not bench.processes()
    assert all(s.ended == "" for s in bench.summaries()), "all can be gone on with"
    for run in bench.runs():
        assert not any(isinstance(event, Note) for event in events_of(run.path)), "nobody died"


@pytest.mark.xdist_group("experiments")
def test_ctrl_c_does_not_wait_for_a_program_that_is_the_agent_and_leaves_it_resumable(bench):
    line = "test -e left && exec python train.py; echo some > left; sleep 36000"
    program = {"agent": "command", "settings": {"command": line, "settle": 9_000, "longest": 9_000}}
    file = bench.file(tasks=[str(bench.tasks[0])], agents=[program])
    process = bench.start(file)
    wait_for(lambda: any((run.workspace / "left").exists() for run in bench.runs()))
    process.send_signal(signal.SIGINT)
    told, _ = process.communicate(timeout=300)
    assert process.returncode == 130, told
    assert "Stopping the programs of 1 runs now; they start again" in told and "Traceback" not in told
    (run,) = bench.runs()
    (kept,) = (event for event in events_of(run.path) if isinstance(event, StepTaken))
    assert [change.path for change in kept.changes] == ["left"]
    assert "starts again when the run is resumed" in kept.observation.text
    assert bench.json(file)["complete"]
    (summary,) = bench.summaries()
    assert summary.ended == "submitted" and summary.grade is not None and summary.grade.valid


@pytest.mark.xdist_group("experiments")
def test_a_program_reaches_the_models_of_the_experiment(bench):
    model = script(bench.folder, "Hello.")
    line = 'echo "$MLAGENTBENCH_MODEL" > model.txt'
    file = bench.file(
        tasks=[str(bench.tasks[0])],
        agents=[{"agent": "command", "settings": {"command": line}}],
        models=[model],
    )
    assert bench.json(file)["complete"]
    (run,) = bench.runs()
    assert run.request().model == model and run.request().chat == "model"
    snapshot = next(event.snapshot for event in reversed(events_of(run.path)) if isinstance(event, StepTaken))
    assert read(run.store(), snapshot, "model.txt", 1_000).decode().strip() == model


@pytest.mark.xdist_group("experiments")
def test_when_the_experiment_is_killed_its_runs_end_too_and_can_be_gone_on_with(bench):
    actions = [writing("slow.py", SLOW), executing("slow.py"), submitting()]
    agent = {"agent": "scripted", "settings": {"file": str(actions_file(bench.folder / "a.jsonl", actions))}}
    file = bench.file(agents=[agent])
    process = bench.start(file)
    wait_for(lambda: steps_on_disk(bench) >= 1)
    process.kill()
    process.wait()
    wait_for(lambda: not bench.processes(), 120.0)
    assert len(bench.runs()) >= 1
    for run in bench.runs():
        run.lock()
        run.unlock()
        assert read_summary(run).ended == ""


DYING = """
import os, pathlib, sys
from mlagentbench import Action

class Dying:
    needs_model = False

    def run(self, env):
        env.step(Action("Execute Script", {"script_name": "train.py"}))
        if env.task.name == "ball" and not pathlib.Path("mended").exists():
            os.kill(os.getpid(), 9)
        env.step(Action("Final Answer", {"final_answer": "x"}))

class DyingOnce:
    needs_model = False

    def run(self, env):
        env.step(Action("Execute Script", {"script_name": "train.py"}))
        try:
            pathlib.Path(f"died-{env.task.name}").touch(exist_ok=False)
        except FileExistsError:
            env.step(Action("Final Answer", {"final_answer": "x"}))
        else:
            os.abort()

class Stillborn:
    needs_model = False

    def __init__(self):
        if "mlagentbench.launch.forking" in sys.orig_argv:
            os.kill(os.getpid(), 9)

    def run(self, env):
        raise AssertionError
"""


@pytest.mark.xdist_group("experiments")
def test_a_run_that_dies_is_recorded_as_that_and_takes_nobody_along(bench):
    (bench.folder / "mortal.py").write_text(DYING)
    file = bench.file(agents=["mortal:Dying", "starter"], runs=1, resumes=1)
    told = bench.json(file, status=1)
    assert not told["complete"]
    ended = {(s.task, s.agent): s for s in bench.summaries()}
    assert {key: s.ended for key, s in ended.items()} == {
        ("ball@1", "mortal:Dying"): "died",
        ("other@1", "mortal:Dying"): "submitted",
        ("ball@1", "starter"): "submitted",
        ("other@1", "starter"): "submitted",
    }
    died = ended["ball@1", "mortal:Dying"]
    assert "died 2 times" in died.detail and "signal 9" in died.detail
    assert died.grade is not None and died.grade.valid, "what it left is graded all the same"
    (run,) = (run for run in bench.runs() if run.request().id == died.run)
    events = events_of(run.path)
    assert sum(isinstance(event, Note) and "died" in event.data for event in events) == 2
    assert verify(run.path).ok
    (bench.folder / "mended").touch()
    bench.json(file, status=1)
    assert len(bench.runs()) == 4, "it stays as what it was"


@pytest.mark.xdist_group("experiments")
def test_a_run_that_dies_once_is_taken_up_again(bench):
    (bench.folder / "mortal.py").write_text(DYING)
    told = bench.json(bench.file(agents=["mortal:DyingOnce"]))
    assert told["complete"] and len(bench.runs()) == 2
    for run in bench.runs():
        notes = [event.text for event in events_of(run.path) if isinstance(event, Note)]
        assert len(notes) == 1 and "signal 6" in notes[0]
        assert "Fatal Python error" in notes[0] or "Aborted" in notes[0]


@pytest.mark.xdist_group("experiments")
def test_a_run_that_dies_before_it_begins_gets_a_record_too_or_is_told_of(bench):
    (bench.folder / "mortal.py").write_text(DYING)
    file = bench.file(tasks=[str(bench.tasks[0])], agents=["mortal:Stillborn"], resumes=0)
    told = bench.json(file, status=1)
    (outcome,) = told["runs"]
    assert outcome["state"] == "lost" and "signal 9" in outcome["detail"]


@pytest.mark.xdist_group("experiments")
def test_a_model_that_cannot_be_had_holds_its_runs_back_and_no_others(bench, quick):
    model = script(bench.folder, reply("List Files", dir_path="."))
    file = bench.file(tasks=[str(bench.tasks[0])], agents=["act", quick], models=[model])
    told = bench(file, status=1).stdout
    assert "1 held back: " in told and "has come to its end" in told
    ended = {s.agent: s.ended for s in bench.summaries()}
    assert ended == {"act": "", "quick": "submitted"}


@pytest.mark.xdist_group("experiments")
def test_runs_side_by_side_have_cores_of_their_own(bench):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core only")
    (bench.folder / "pinned.py").write_text(
        "import os, time\n"
        "class Pinned:\n"
        "    needs_model = False\n"
        "    def run(self, env):\n"
        "        env.note('cores', {'cores': sorted(os.sched_getaffinity(0))})\n"
        "        open(f'here-{env.task.name}', 'w').close()\n"
        "        end = time.monotonic() + 60\n"
        "        while not all(os.path.exists(f'here-{n}') for n in ('ball', 'other')):\n"
        "            assert time.monotonic() < end\n"
        "            time.sleep(0.02)\n"
    )
    bench(bench.file(agents=["pinned:Pinned"], resources={"parallel": 2}))
    cores = [
        event.data["cores"]
        for run in bench.runs()
        for event in events_of(run.path)
        if isinstance(event, Note) and "cores" in event.data
    ]
    assert len(cores) == 2 and all(len(each) == 1 for each in cores) and cores[0] != cores[1]


@pytest.mark.xdist_group("experiments")
def test_what_a_report_needs_is_measured_once_before_the_runs(bench, own_task, quick):
    environment = {"MLAGENTBENCH_CACHE": os.environ["MLAGENTBENCH_CACHE"]}
    bench.environment.update(environment)
    file = bench.file(
        tasks=[str(own_task)], agents=[quick], runs=3, references=["starter", "plain", "oracle"]
    )
    lines = bench(file).stdout.splitlines()
    measured = [line for line in lines if line.startswith("Measuring the ")]
    assert Counter(re.findall(r"the (\w+) of", " ".join(measured))) == {"starter": 3, "plain": 1, "oracle": 1}
    assert not any("seed" in line and "Measuring" in line for line in lines), "no run had to measure anything"
    assert all(s.grade is not None and s.grade.position is not None for s in bench.summaries())
    (references,) = (Path(environment["MLAGENTBENCH_CACHE"]) / "references").rglob("*.json")
    known = json.loads(references.read_text())
    assert [len(known[kind]) for kind in ("starter", "plain", "oracle")] == [3, 1, 1]
    assert "Measuring" not in bench(file, "-w", "again").stdout


@pytest.mark.xdist_group("experiments")
def test_what_is_missing_when_all_runs_have_ended_is_measured_and_enters_their_verdicts(
    bench, own_task, quick
):
    bench.environment["MLAGENTBENCH_CACHE"] = os.environ["MLAGENTBENCH_CACHE"]
    asked = {"tasks": [str(own_task)], "agents": [quick], "runs": 2}
    bench(bench.file(**asked, references=["starter"]))
    before = {s.run: s.grade for s in bench.summaries()}
    assert all(grade.position is None and grade.over_plain is None for grade in before.values())
    file = bench.file(**asked, references=["starter", "plain", "oracle"])
    told = bench.json(file)
    after = {run["summary"]["run"]: run["summary"]["grade"] for run in told["runs"]}
    assert all(grade["position"] is not None and grade["over_plain"] is not None for grade in after.values())
    assert {s.run: s.grade.position for s in bench.summaries()} == {
        r: g["position"] for r, g in after.items()
    }
    assert {r: g["score"] for r, g in after.items()} == {r: grade.score for r, grade in before.items()}
    assert len(bench.runs()) == 2 and told["complete"]
    assert "Measuring" not in bench(file).stdout, "once"


@pytest.mark.xdist_group("experiments")
def test_a_finished_experiment_is_told_where_nothing_can_be_measured(bench, own_task, quick):
    bench.environment["MLAGENTBENCH_CACHE"] = os.environ["MLAGENTBENCH_CACHE"]
    asked = {"tasks": [str(own_task)], "agents": [quick]}
    bench(bench.file(**asked, references=["starter"]))
    shutil.rmtree(Path(os.environ["MLAGENTBENCH_CACHE"]) / "data")
    told = bench(bench.file(**asked, references=["starter", "plain", "oracle"])).stdout
    assert "1 of 1 runs done" in told and "Making the data" not in told and "Measuring" not in told


@pytest.mark.xdist_group("experiments")
def test_with_too_little_disk_nothing_is_started(bench, quick):
    told = bench(bench.file(agents=[quick], resources={"keep_free": "900TB"}), status=1).stdout
    assert "900 TB shall stay free. Make room and start again" in told
    assert bench.runs() == []


def test_what_cannot_run_here_is_told_at_once_and_nothing_is_started(bench):
    file = bench.file(
        tasks=["house-price", {"task": "spaceship-titanic", "variants": ["full"]}, "house-prize"],
        agents=["starter", "act", "reserch", "human", {"agent": "react", "settings": {"stepps": 1}}],
        models=["openai/gpt-4.1", "opneai/x"],
    )
    told = bench(file, status=2).stderr
    for words in (
        "There is no task 'house-prize'. Did you mean house-price?",
        "There is no agent 'reserch'. Did you mean 'research'?",
        "A person cannot make runs that go on side by side",
        "The setting 'stepps' of the agent 'react' is not right",
    ):
        assert words in told
    file = bench.file(
        tasks=["house-price", {"task": "spaceship-titanic", "variants": ["full"]}],
        agents=["act"],
        models=["openai/gpt-4.1", "opneai/x"],
    )
    for flags in ((), ("--dry-run",)):
        done = bench(file, *flags, status=2)
        for words in ("OPENAI_API_KEY", "There is no provider of models 'opneai'", "Kaggle"):
            assert words in done.stdout + done.stderr
    assert not bench.runs()


def test_a_plan_that_only_wants_more_is_gone_on_with_and_one_that_wants_other_runs_is_refused(bench, quick):
    one = [str(bench.tasks[0])]
    bench(bench.file(tasks=one, agents=[quick]))
    assert (
        "new in the plan: ball (mini) · quick, seed 1"
        in bench(bench.file(tasks=one, agents=[quick], runs=2)).stdout
    )
    other = bench.file(tasks=one, agents=[quick], runs=2, seed=1, limits={"steps": 7})
    told = bench(other, status=2).stderr
    assert "holds the experiment of another plan" in told and "limits {'steps': 7}" in told
    assert len(bench.runs()) == 2
    told = bench(other, "--changed").stdout
    assert "2 runs in" in told and "are not of this experiment as it is now" in told
    assert len(bench.runs()) == 4


def test_two_at_once_on_the_same_experiment_are_refused(bench, quick, tmp_path):
    from mlagentbench.launch.keeping import alone_in

    with alone_in(tmp_path / "runs" / "mine"):
        assert "Another process is working on" in bench(bench.file(agents=[quick]), status=2).stderr


def test_flags_alone_make_an_experiment_and_change_one_of_a_file(bench, quick):
    both = ",".join(map(str, bench.tasks))
    looked = bench.json("-t", both, "-a", "starter,oracle", "--runs", "2", "--max-steps", "3", "--dry-run")
    assert looked["experiment"] == "experiment" and len(looked["runs"]) == 8
    assert {run["state"] for run in looked["runs"]} == {"missing"}
    file = bench.file(agents=[quick], runs=9)
    looked = bench.json(file, "-t", bench.tasks[0], "--runs", "2", "-w", "less", "--dry-run")
    assert looked["experiment"] == "less" and [run["seed"] for run in looked["runs"]] == [0, 1]
    assert not (bench.folder / "runs").exists(), "a dry run leaves nothing"
    assert "Name a file, or tasks and agents" in bench("-t", both, status=2).stderr


def test_from_python_it_gives_what_came_of_each_run(tiny_task, tmp_path, quick):
    plan = {"tasks": [str(tiny_task)], "agents": [quick], "runs": 2, "references": ["starter"]}
    done = experiment(plan, folder=tmp_path / "runs", name="py")
    assert done.complete and [outcome.cell.seed for outcome in done.outcomes] == [0, 1]
    assert all(outcome.cpu_seconds > 0 for outcome in done.outcomes)
    assert [s.ended for s in done.summaries] == ["submitted"] * 2
    assert all((outcome.folder / "evaluation.json").exists() for outcome in done.outcomes)
    again = experiment(plan, folder=tmp_path / "runs", name="py")
    assert [outcome.folder for outcome in again.outcomes] == [outcome.folder for outcome in done.outcomes]
    with pytest.raises(UsageError, match=r"there is no such key\. Did you mean 'tasks'"):
        experiment({"task": ["x"], "agents": ["starter"]})


@pytest.mark.xdist_group("experiments")
def test_runs_of_a_program_are_found_again_whatever_steps_a_task_allows(bench, own_task):
    bench.environment["MLAGENTBENCH_CACHE"] = os.environ["MLAGENTBENCH_CACHE"]
    definition = own_task / "task.toml"
    definition.write_text(definition.read_text().replace("[limits]\n", "[limits]\nsteps = 30\n"))
    program = {"agent": "command", "settings": {"command": "true"}, "models": []}
    file = bench.file(tasks=[str(own_task)], agents=[program])
    bench(file)
    assert "1 of 1 runs done" in bench(file).stdout and len(bench.runs()) == 1
