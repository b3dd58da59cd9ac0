"""The process that starts an experiment's runs may die at any instant: it is started again, no run is counted twice,
and nothing that runs tell is lost."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import fork_server_deaths
from support.acting import events_of
from support.fork_server_deaths import INSTANT, PLACE

from mlagentbench.launch.orders import Message
from mlagentbench.launch.work import Telling, _send
from mlagentbench.record.events import Note

RELEASED = """
import os, time
from mlagentbench import Action

class Released:
    '''Says that it is there, and goes on when it may.'''

    needs_model = False

    def run(self, env):
        env.step(Action("Execute Script", {"script_name": "train.py"}))
        seed = env.folder.request().seed
        open(f"here-{seed}", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.02)
        env.step(Action("Final Answer", {"final_answer": "x"}))

class Talking:
    needs_model = False

    def run(self, env):
        open("here-0", "w").close()
        while not os.path.exists("go"):
            time.sleep(0.02)
        for number in range(200):
            env.note(f"note {number} " + "x" * 5_000)
        env.step(Action("Execute Script", {"script_name": "train.py"}))
"""


def wait_for(condition: Callable[[], Any], seconds: float = 300.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.02)


def folders(bench: Any) -> list[Path]:
    """Of runs, be there a run in them or not."""
    return sorted((bench.folder / "runs" / "mine").glob("*/*/*"))


@pytest.fixture
def dying(bench: Any) -> Callable[[str, int], Any]:
    """An experiment whose process that starts runs dies at an instant, so often."""

    def prepare(instant: str, times: int) -> Any:
        shutil.copy(fork_server_deaths.__file__, bench.folder / "sitecustomize.py")
        (bench.folder / "deaths").mkdir()
        bench.environment |= {
            "PYTHONPATH": str(bench.folder),
            INSTANT: f"{instant}*{times}",
            PLACE: str(bench.folder / "deaths"),
        }
        return bench

    return prepare


def deaths(bench: Any) -> int:
    return len(list((bench.folder / "deaths").iterdir()))


@pytest.mark.xdist_group("experiments")
@pytest.mark.parametrize("parallel", [1, 3])
@pytest.mark.parametrize("instant", ["before", "after"])
def test_killed_as_the_first_file_of_a_run_appears_no_cell_is_counted_twice(dying, quick, instant, parallel):
    bench = dying(f"run.json:{instant}", 1)
    file = bench.file(
        tasks=[str(bench.tasks[0])], agents=[quick], runs=3, resources={"parallel": parallel, "sharing": 2}
    )
    told = bench.json(file)
    assert told["complete"] and deaths(bench) == 3, "each run has seen it die once"
    assert len(folders(bench)) == len(bench.runs()) == 3
    assert sorted(s.seed for s in bench.summaries()) == [0, 1, 2]
    assert all(s.ended == "submitted" and s.steps == 3 for s in bench.summaries())
    assert {run["folder"] for run in told["runs"]} == {str(run.path) for run in bench.runs()}


@pytest.mark.xdist_group("experiments")
@pytest.mark.parametrize(
    "instant",
    [
        "start",
        "import:pydantic",
        "import:mlagentbench.evaluation.verdicts",
        "import:mlagentbench.agent.scripted",
    ],
)
def test_killed_before_the_first_run_it_is_started_again(dying, quick, instant):
    bench = dying(instant, 2)
    told = bench.json(bench.file(tasks=[str(bench.tasks[0])], agents=[quick], runs=2))
    assert told["complete"] and len(folders(bench)) == 2 and deaths(bench) == 2


@pytest.mark.xdist_group("experiments")
@pytest.mark.parametrize("instant", ["start", "import:mlagentbench.evaluation.verdicts"])
def test_killed_before_models_were_looked_at_it_is_started_again(dying, instant):
    bench = dying(instant, 1)
    file = bench.file(tasks=[str(bench.tasks[0])], agents=["act"], models=["opneai/x"])
    for flags in ((), ("--dry-run",)):
        done = bench(file, *flags, status=2)
        assert "There is no provider of models 'opneai'" in done.stdout + done.stderr
    assert deaths(bench) == 1


@pytest.mark.xdist_group("experiments")
@pytest.mark.parametrize("models", [[], ["opneai/x"]])
def test_one_that_dies_again_and_again_ends_the_experiment_with_a_sentence(dying, quick, models):
    bench = dying("start", 1000)
    agents = ["act"] if models else [quick]
    file = bench.file(tasks=[str(bench.tasks[0])], agents=agents, models=models)
    done = bench(file, status=2 if models else 1)
    told = done.stdout + done.stderr
    assert "The process that starts the runs died 5 times" in told and "Traceback" not in told
    assert "give the same command again" in told and bench.runs() == []


@pytest.mark.xdist_group("experiments")
def test_killed_while_runs_go_on_they_are_taken_up_again(bench):
    (bench.folder / "own.py").write_text(RELEASED)
    file = bench.file(tasks=[str(bench.tasks[0])], agents=["own:Released"], runs=2, resources={"sharing": 2})
    process = bench.start(file)
    for _ in range(3):
        wait_for(lambda: all((bench.folder / f"here-{seed}").exists() for seed in (0, 1)))
        for seed in (0, 1):
            (bench.folder / f"here-{seed}").unlink()
        os.kill(_server_of(process.pid), signal.SIGKILL)
    wait_for(lambda: all((bench.folder / f"here-{seed}").exists() for seed in (0, 1)))
    (bench.folder / "go").touch()
    told, _ = process.communicate(timeout=300)
    assert process.returncode == 0, told
    assert len(folders(bench)) == 2 and all(s.ended == "submitted" for s in bench.summaries())
    assert not any(isinstance(event, Note) for run in bench.runs() for event in events_of(run.path)), (
        "nobody's fault"
    )


def _server_of(experiment: int) -> int:
    children = Path(f"/proc/{experiment}/task/{experiment}/children").read_text().split()
    (server,) = (
        int(child) for child in children if b"launch.forking" in Path(f"/proc/{child}/cmdline").read_bytes()
    )
    return server


@pytest.mark.xdist_group("experiments")
def test_an_experiment_that_was_stopped_for_a_while_misses_nothing(bench):
    (bench.folder / "own.py").write_text(RELEASED)
    process = bench.start(bench.file(tasks=[str(bench.tasks[0])], agents=["own:Talking"]))
    wait_for((bench.folder / "here-0").exists)
    process.send_signal(signal.SIGSTOP)
    (bench.folder / "go").touch()
    (run,) = bench.runs()
    sizes = [-1, 0]
    while sizes[-1] != sizes[-2]:  # until the run waits for somebody to listen
        time.sleep(2)
        sizes.append(run.events_file.stat().st_size)
    process.send_signal(signal.SIGCONT)
    told, _ = process.communicate(timeout=300)
    assert process.returncode == 0 and "Traceback" not in told, told
    assert all(f"note {number} x" in told for number in range(200))
    assert "1 of 1" in told or "[1/1]" in told


def test_what_a_run_tells_waits_for_whoever_listens_and_arrives():
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    watch = Telling(7, lambda message: _send(there, message))
    telling = threading.Thread(target=lambda: [watch.note(f"{n} " + "x" * 4_000) for n in range(1_000)])
    telling.start()
    with here, there:
        heard = [Message.model_validate_json(here.recv(2**18)).text.split()[0] for _ in range(1_000)]
    telling.join()
    assert heard == [str(number) for number in range(1_000)]
