"""Runs of a task that offers services: agents' programs use them, their calls of a model are part of the record."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.acting import events_of, execute, executing, play, repl, steps_of, submitting, writing
from support.tool_task import HIDDEN, tool_task

from mlagentbench import Action, Environment, make, resume, run, verify
from mlagentbench.environment.models import ModelChoice
from mlagentbench.environment.watch import Silence
from mlagentbench.model.errors import ModelError, UnavailableError
from mlagentbench.model.spec import Completion, Message, Sampling, Tool, Usage
from mlagentbench.record.events import LimitHit, ModelCalled, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.service.refusing import ChatRefusedError

ASK = "import tool\nprint(tool.ask('Question %d'))\n"
ERROR = """
import json, tool, urllib.error
try:
    print(tool.ask("Hello?"))
except urllib.error.HTTPError as error:
    print(error.code, json.load(error)["error"])
"""


@pytest.fixture(scope="session")
def _task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tool_task(tmp_path_factory.mktemp("tool") / "librarian")


@pytest.fixture
def task(_task: Path, own_cache: Path) -> Path:
    return _task


class Counting:
    """A model that answers at once with how often it was asked, or fails."""

    name = "counting/model"
    speaks_tools = False

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.failure: ModelError | None = None
        self.before: Callable[[], None] = lambda: None
        self._lock = threading.Lock()

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        self.before()
        with self._lock:
            self.asked.append(messages[-1].content)
            number = len(self.asked)
        if self.failure:
            raise self.failure
        return Completion(
            text=f"answer {number}",
            usage=Usage(input=90, output=10),
            stop_reason="stop",
            model="m",
            latency=0.0,
        )


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Counting:
    counting = Counting()
    monkeypatch.setattr(ModelChoice, "_load", lambda self, name: counting)
    return counting


@pytest.fixture
def opened(task: Path, runs: Path) -> Iterator[Callable[..., Environment]]:
    made: list[Environment] = []

    def start(**options: Any) -> Environment:
        env = make(task, runs=runs, models=ModelChoice(act="counting/model"), **{"chat": "model", **options})
        made.append(env)
        env.reset()
        return env

    yield start
    for env in made:
        env.suspend()


def calls(env: Environment) -> list[ModelCalled]:
    return [event for event in env.folder.history().events if isinstance(event, ModelCalled)]


def test_a_starter_works_on_one_index_and_is_graded_on_another(task: Path, runs: Path, full_backend: str):
    made = run(task, "starter", runs=runs, sandbox=full_backend)
    assert steps_of(made)[0].observation.text.startswith(
        "['Splines anew', 'Splines of old']\nglacier songs\n"
    )
    assert (made.grade.score, made.grade.notes) == (1.0, ("glacier songs",))
    assert RunFolder.open(made.folder).request().chat == "stand-in"
    assert not [event for event in events_of(made) if isinstance(event, ModelCalled)]


def test_every_way_of_running_code_has_the_services(
    opened: Callable[..., Environment], model: Counting, full_backend: str
):
    env = opened(chat="stand-in", sandbox=full_backend, show_actions=["Run Command"])
    assert "Splines anew" in env.step(executing("tool.py")).text
    assert "Splines anew" in env.step(Action("Run Command", {"command": "python3 tool.py"})).text
    assert "Splines anew" in env.step(repl("import tool; tool.search('splines')")).text
    assert "Splines of old" in env.step(repl("tool.search('old')")).text
    assert model.asked == []


def test_hidden_papers_are_not_served_to_the_agent(opened: Callable[..., Environment], model: Counting):
    env = opened(chat="stand-in")
    title = json.loads(HIDDEN)["papers"][0]["title"]
    assert title not in execute(env, f"import tool; print(tool.search({title!r}))").text


def test_calls_of_programs_are_recorded_inside_the_action_and_counted(
    opened: Callable[..., Environment], model: Counting, full_backend: str
):
    env = opened(sandbox=full_backend)
    told = execute(env, ASK % 1 + "print(tool.ask('Again'))\n")
    assert told.text.startswith("answer 1\nanswer 2\n")
    made = calls(env)
    assert [(call.role, call.inside, call.model) for call in made] == [("tool", True, "counting/model")] * 2
    assert model.asked == ["Question 1", "Again"]
    assert env.folder.request().chat == "model"


class Stopped(BaseException):
    """As if the harness were stopped from outside."""


class StopAtWord(Silence):
    """Stops the run when a program prints a word."""

    def output(self, text: str) -> None:
        if "enough" in text:
            raise Stopped


def test_a_resumed_run_asks_none_of_them_again(task: Path, runs: Path, model: Counting):
    cut_short = """
import time, tool
print(tool.ask("Second"))
print("enough", flush=True)
time.sleep(1)
print(tool.ask("Third"))
"""
    story = [
        writing("first.py", ASK % 1),
        executing("first.py"),
        writing("second.py", cut_short),
        executing("second.py"),
        submitting(),
    ]
    with pytest.raises(Stopped):
        play(task, story, runs, model="counting/model", chat="model", watch=StopAtWord())
    assert model.asked == ["Question 1", "Second"]
    (found,) = runs.glob("default/*/*/*/run.json")
    done = resume(found.parent)
    assert model.asked == ["Question 1", "Second", "Third"]
    texts = [step.observation.text for step in steps_of(done)]
    assert texts[1].startswith("answer 1\n")
    assert texts[3].startswith("answer 2\nenough\nanswer 3\n")
    assert done.summary.model_calls == 3
    assert verify(done.folder).ok


def test_a_limit_of_the_run_is_an_error_to_the_program_and_then_the_end(
    opened: Callable[..., Environment], model: Counting
):
    env = opened(limits={"tokens": 150})
    told = execute(env, ASK % 1 + "print(tool.ask('Again'))\n" + ERROR)
    assert told.ok
    assert "429" in told.text
    assert "limit of 150 tokens" in told.text
    assert "insufficient_quota" in told.text
    assert len(model.asked) == 2
    assert env.done
    assert env.truncated
    assert [event.name for event in env.folder.history().events if isinstance(event, LimitHit)] == ["tokens"]


def test_an_error_of_the_model_is_an_error_to_the_program_and_recorded(
    opened: Callable[..., Environment], model: Counting
):
    env = opened()
    model.failure = UnavailableError("The server is down.")
    told = execute(env, ERROR)
    assert told.ok
    assert "503" in told.text
    assert "The server is down." in told.text
    (call,) = calls(env)
    assert (call.completion, call.error_kind) == (None, "UnavailableError")
    model.failure = None
    assert execute(env, ERROR).text.startswith("answer 2\n")


def test_many_threads_of_a_program_may_ask_at_once(task: Path, runs: Path, model: Counting):
    code = """
import tool
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    print(len(set(pool.map(lambda number: tool.ask(f"Question {number}"), range(40)))))
"""
    done = play(
        task,
        [writing("many.py", code), executing("many.py"), submitting()],
        runs,
        model="counting/model",
        chat="model",
    )
    assert steps_of(done)[1].observation.text.startswith("40\n")
    assert done.summary.model_calls == 40
    assert done.summary.tokens_in == 3600
    assert verify(done.folder).ok


def test_a_step_is_over_when_its_last_call_is_answered(
    opened: Callable[..., Environment], model: Counting, full_backend: str
):
    env = opened(sandbox=full_backend)
    model.before = lambda: time.sleep(1)
    leaving = """
import os, threading, time, tool
threading.Thread(target=tool.ask, args=("Left behind",), daemon=True).start()
time.sleep(0.5)
os._exit(0)
"""
    execute(env, leaving)
    last, step = env.folder.history().events[-2:]
    assert isinstance(last, ModelCalled)
    assert last.inside
    assert isinstance(step, StepTaken)


def test_nothing_is_asked_between_steps(
    opened: Callable[..., Environment], model: Counting, full_backend: str
):
    env = opened(sandbox=full_backend)
    asking = """
import threading, time, tool
def ask():
    while True:
        try:
            tool.ask("Still there?")
        except OSError:
            pass
threading.Thread(target=ask, daemon=True).start()
time.sleep(0.5)
"""
    assert env.step(repl(asking)).ok
    asked = len(model.asked)
    assert asked
    time.sleep(0.5)
    assert len(model.asked) == asked
    assert len(calls(env)) == asked
    assert all(call.inside for call in calls(env))
    assert isinstance(env.folder.history().events[-1], StepTaken)


def test_a_run_without_a_model_has_the_stand_in(task: Path, runs: Path):
    notes: list[str] = []

    class Noting(Silence):
        def note(self, text: str) -> None:
            notes.append(text)

    env = make(task, runs=runs, chat="model", watch=Noting())
    env.reset()
    assert execute(env, "import tool; print(tool.ask('Summarise: It rains.'))").text.startswith("It rains.\n")
    assert env.folder.request().chat == "stand-in"
    assert notes == ["This run has no model, so programs chat with the stand-in."]
    env.suspend()


def test_a_task_that_offers_no_chat_says_so_in_its_record(tiny_task: Path, runs: Path):
    env = make(tiny_task, runs=runs, chat="model", models=ModelChoice(act="counting/model"))
    assert env._setup.request(None).chat == ""


def test_the_stand_in_works_on_nothing_between_steps(opened: Callable[..., Environment], model: Counting):
    env = opened(chat="stand-in")
    asking = """
import json, threading, tool, urllib.error
answers = []
def ask():
    while len(answers) < 1000:
        try:
            answers.append(tool.ask("Summarise: It rains."))
        except OSError as error:
            answers.append(str(error))
thread = threading.Thread(target=ask, daemon=True)
thread.start()
while not answers: pass
"""
    assert env.step(repl(asking)).ok
    gate = env._run.bench.offering._gate
    assert not gate.asking, "the step is over when its last request is answered"
    with pytest.raises(ChatRefusedError, match="step that asked this is over"):
        gate([Message(role="user", content="Summarise: It rains.")], Sampling())
    assert "It rains." in env.step(repl("print(answers[0])")).text


def test_chats_side_by_side_cannot_pass_a_limit_together(opened: Callable[..., Environment], model: Counting):
    """Four large requests at once, and many small ones: none that does not fit reaches the model."""
    env = opened(limits={"tokens": 1000})
    code = """
import tool, urllib.error
from concurrent.futures import ThreadPoolExecutor
def ask(prompt):
    try:
        return tool.ask(prompt)
    except urllib.error.HTTPError as error:
        return error.code
with ThreadPoolExecutor(8) as pool:
    print(sorted(pool.map(ask, [c * 1_000_000 for c in "abcd"]), key=str))
    print(sorted(set(map(str, pool.map(ask, [f"Question {number}" for number in range(40)]))))[0])
"""
    told = execute(env, code)
    assert told.text.startswith("[429, 429, 429, 429]\n429\n")
    assert sum(c.completion.usage.input + c.completion.usage.output for c in calls(env)) <= 1000 + 100
    assert all(len(asked) < 100 for asked in model.asked) and len(model.asked) == len(calls(env)) <= 11
    assert env.done and env.truncated
