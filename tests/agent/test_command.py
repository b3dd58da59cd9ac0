"""Any program as an agent: recorded, metered and graded, with one endpoint in reach and nothing else."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import mortal
from support.acting import events_of, play, steps_of, submitting
from telling import SOLUTION, Told, completion

from mlagentbench import Run, fork, resume, run, verify
from mlagentbench.agent.command import CommandAgent
from mlagentbench.agent.settings import settings_table
from mlagentbench.environment.models import ModelChoice
from mlagentbench.environment.watch import Silence
from mlagentbench.errors import PreparationError, UsageError
from mlagentbench.model.errors import UnavailableError
from mlagentbench.model.spec import ToolCall
from mlagentbench.record.events import LimitHit, ModelCalled, Note, RunEnded, StepTaken
from mlagentbench.record.folder import RunFolder

PROGRAM = Path(__file__).parents[1] / "support" / "working_alone.py"
ANSWERS = [f"Here it is.\n```python\nPLAN = {number}\n{SOLUTION}```" for number in range(6)]
CLI = (sys.executable, "-m", "mlagentbench.cli.main")
ASKING = """
import json, os, urllib.error, urllib.request
def ask(*messages, **more):
    body = json.dumps({"model": "m", "messages": list(messages), **more}).encode()
    request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body)
    try:
        with urllib.request.urlopen(request) as answered:
            return json.load(answered)["choices"][0]
    except urllib.error.HTTPError as error:
        return json.load(error)["error"]
"""


@pytest.fixture
def speak(monkeypatch: pytest.MonkeyPatch) -> Callable[[Told], Told]:
    """Give runs this model, whatever name they ask for."""

    def use(model: Told) -> Told:
        monkeypatch.setattr(ModelChoice, "_load", lambda self, name: model)
        return model

    return use


@pytest.fixture
def command(tiny_task: Path, runs: Path, tmp_path: Path) -> Callable[..., Run]:
    """Runs code, or a command, as the agent."""

    def start(code: str = "", line: str = "", model: str = "", settle: float = 0.3, **options: Any) -> Run:
        program = tmp_path / "program.py"
        if code:
            program.write_text(code)
        settings = {
            "command": line or f"python {program}",
            "mounts": [program] if code else [],
            "settle": settle,
        }
        task = options.pop("task", tiny_task)
        return run(task, "command", model, settings=settings, runs=runs, **options)

    return start


def works_alone(command: Callable[..., Run], **options: Any) -> Run:
    return command(PROGRAM.read_text(), model="test/told", **options)


def calls_of(run: Run) -> list[ModelCalled]:
    return [event for event in events_of(run) if isinstance(event, ModelCalled)]


def test_a_program_that_works_alone_is_recorded_metered_and_graded(
    command: Callable[..., Run], speak: Callable[[Told], Told], full_backend: str
):
    told = speak(Told([completion(text) for text in ANSWERS]))
    done = works_alone(command, sandbox=full_backend)
    assert (done.summary.ended, done.summary.detail) == ("submitted", "")
    assert done.grade is not None and done.grade.valid
    assert [(call.role, call.inside) for call in calls_of(done)] == [("tool", True)] * 2
    assert (done.summary.model_calls, done.summary.tokens_in, done.summary.tokens_out) == (2, 200, 20)
    assert "Predict how far a ball flies" in told.asked[0][0][0].content
    assert {change.path for step in steps_of(done) for change in step.changes} == {
        "train.py",
        "submission.csv",
    }
    assert "turn 2" in "".join(step.observation.text for step in steps_of(done))
    assert RunFolder.open(done.folder).request().chat == "model"
    assert done.summary.execution_cpu > 0 and done.summary.peak_memory > 0
    assert verify(done.folder).ok


def test_its_files_settle_while_it_waits_for_its_model(
    command: Callable[..., Run], speak: Callable[[Told], Told], full_backend: str
):
    """The question belongs to one step, the answer to a later one, and nothing of either is lost."""
    settled = threading.Event()

    class Watching(Silence):
        def step(self, step: StepTaken, replayed: bool) -> None:
            settled.set()

    def wait(number: int) -> None:
        assert settled.wait(60), "the step did not end while a call was under way"

    speak(Told([completion("late")], before=wait))
    code = (
        ASKING
        + "open('before', 'w').write('x')\nprint(ask({'role': 'user', 'content': 'Well?'})['message'])\n"
    )
    done = command(code, model="test/told", sandbox=full_backend, watch=Watching())
    first, call, last = [event for event in events_of(done) if isinstance(event, StepTaken | ModelCalled)]
    assert isinstance(first, StepTaken) and [change.path for change in first.changes] == ["before"]
    assert isinstance(call, ModelCalled) and call.inside
    assert isinstance(last, StepTaken) and "late" in last.observation.text
    assert verify(done.folder).ok


def test_many_calls_at_once_and_steps_meanwhile_keep_the_record_whole(
    command: Callable[..., Run], speak: Callable[[Told], Told], runs: Path, tmp_path: Path, tiny_task: Path
):
    speak(Told(lambda number: completion(f"answer {number}")))
    program = tmp_path / "program.py"
    program.write_text(f"""{ASKING}
import itertools, threading, time
from concurrent.futures import ThreadPoolExecutor
done = threading.Event()
def write():
    for number in itertools.count():
        open("file", "w").write(str(number))
        if done.wait(0.02):
            return
writing = threading.Thread(target=write)
writing.start()
with ThreadPoolExecutor(6) as pool:
    for _ in range(10):
        list(pool.map(lambda number: ask({{"role": "user", "content": str(number)}}), range(12)))
        time.sleep(0.1)
done.set()
writing.join()
""")
    settings = {"command": f"python {program}", "mounts": [program], "settle": 30, "longest": 0.05}
    done = run(tiny_task, "command", "test/told", settings=settings, runs=runs)
    assert done.summary.ended == "submitted"
    assert (done.summary.model_calls, done.summary.failed_calls) == (120, 0)
    assert done.summary.steps > 2
    assert verify(done.folder).ok


def test_it_may_call_tools_where_the_model_can(command: Callable[..., Run], speak: Callable[[Told], Told]):
    call = ToolCall(id="call-1", name="bash", arguments='{"command": "ls"}')
    told = speak(Told([completion("I look.", call, stop_reason="tool_calls"), completion("Done.")]))
    code = f"""{ASKING}
bash = {{"type": "function", "function": {{"name": "bash", "parameters": {{"type": "object"}}}}}}
asked = {{"role": "user", "content": "Look."}}
first = ask(asked, tools=[bash], tool_choice="auto")
print(first["finish_reason"], first["message"]["tool_calls"])
answer = {{"role": "tool", "tool_call_id": "call-1", "content": "train.py"}}
print(ask(asked, {{**first["message"], "content": None}}, answer, tools=[bash])["message"]["content"])
"""
    done = command(code, model="test/told")
    text = steps_of(done)[-1].observation.text
    assert text.startswith("tool_calls [{'id': 'call-1'") and "\nDone.\n" in text
    messages, _, tools = told.asked[1]
    assert [tool.name for tool in tools] == ["bash"]
    assert [(each.role, each.content, each.tool_call_id) for each in messages] == [
        ("user", "Look.", ""),
        ("assistant", "", ""),
        ("tool", "train.py", "call-1"),
    ]
    assert messages[1].tool_calls == (call,)


def test_a_model_without_tools_says_so(command: Callable[..., Run], speak: Callable[[Told], Told]):
    speak(Told([], speaks_tools=False))
    bash = '{"type": "function", "function": {"name": "bash"}}'
    done = command(
        f"{ASKING}print(ask({{'role': 'user', 'content': 'x'}}, tools=[{bash}])['message'])",
        model="test/told",
    )
    assert "test/told has no native tool calling; ask it in text." in steps_of(done)[-1].observation.text


REACHING = """
import json, os, socket
def attempt(action):
    try:
        return repr(action())
    except OSError:
        return None
def speak(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as connection:
        connection.settimeout(3)
        connection.connect(address)
        return connection.sendall(b"from the sandbox")
host, port = os.environ["OPENAI_BASE_URL"].removeprefix("http://").removesuffix("/v1").split(":")
print(json.dumps({
    "endpoint": attempt(lambda: speak(socket.AF_INET, (host, int(port)))),
    "host": attempt(lambda: speak(socket.AF_INET, ("127.0.0.1", HOST))),
    "outside": attempt(lambda: speak(socket.AF_INET, ("192.0.2.1", 80))),
    "names": attempt(lambda: socket.getaddrinfo("example.com", 80)),
    "a file beside it": attempt(lambda: open(BESIDE).read()),
    "answers": attempt(lambda: os.listdir(DATA)),
    "environment": dict(os.environ),
}))
"""


def test_only_the_endpoint_is_in_reach_and_no_key_is(
    command: Callable[..., Run],
    speak: Callable[[Told], Told],
    full_backend: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    shared_cache: Path,
):
    speak(Told([]))
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "sk-secret")
    (tmp_path / "beside").write_text("not for the program")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, beside, data = listener.getsockname()[1], str(tmp_path / "beside"), str(shared_cache / "data")
        told = f"HOST, BESIDE, DATA = {port}, {beside!r}, {data!r}"
        done = command(f"{told}\n{REACHING}", model="test/told", sandbox=full_backend)
    reached = json.loads(steps_of(done)[-1].observation.text.splitlines()[0])
    environment = reached.pop("environment")
    assert {name for name, found in reached.items() if found is not None} == {"endpoint"}
    assert environment["OPENAI_API_KEY"] == "none-needed"
    assert "sk-secret" not in json.dumps(environment)
    assert (
        "sk-secret" not in (done.folder / "events.jsonl").read_text() + (done.folder / "run.json").read_text()
    )


def test_without_a_model_there_is_no_endpoint(command: Callable[..., Run]):
    done = command(
        "import os, subprocess\nprint('OPENAI_BASE_URL' in os.environ)\nsubprocess.run(['python', 'train.py'])"
    )
    assert steps_of(done)[-1].observation.text.startswith("False\n")
    assert done.grade is not None and done.grade.valid
    assert RunFolder.open(done.folder).request().chat == ""


@pytest.mark.parametrize(
    "limits", [{"tokens": 150}, {"cost": 0.0015}, {"steps": 1}], ids=["tokens", "cost", "steps"]
)
def test_a_limit_of_the_run_stops_it_and_what_it_left_is_graded(
    command: Callable[..., Run],
    speak: Callable[[Told], Told],
    monkeypatch: pytest.MonkeyPatch,
    limits: dict[str, Any],
):
    told = speak(Told(lambda number: completion("Go on.")))
    monkeypatch.setattr("mlagentbench.model.prices.cost", lambda usage, name, prices: 0.001)
    code = f"""{ASKING}
import subprocess, time
subprocess.run(["python", "train.py"], check=True)
while True:
    print(ask({{"role": "user", "content": "And now?"}}), flush=True)
    time.sleep(1)
"""
    done = command(code, model="test/told", limits=limits)
    assert done.summary.ended == "limit"
    assert [event.name for event in events_of(done) if isinstance(event, LimitHit)] == list(limits)
    assert "steps" in limits or len(told.asked) == (1 if "cost" in limits else 2), (
        "a second call would cost 0.001, and 0.0005 are left"
    )
    assert done.grade is not None and done.grade.valid
    assert verify(done.folder).ok


def test_an_error_of_the_model_is_an_error_to_the_program(
    command: Callable[..., Run], speak: Callable[[Told], Told]
):
    speak(Told([UnavailableError("The server is down.")]))
    done = command(f"{ASKING}print(ask({{'role': 'user', 'content': 'x'}})['message'])", model="test/told")
    assert steps_of(done)[-1].observation.text.startswith("The server is down.\n")
    assert done.summary.failed_calls == 1


def test_a_program_that_fails_ends_the_run_as_an_error_with_its_words(command: Callable[..., Run]):
    done = command("import sys\nprint('before')\nsys.exit('I give up.')")
    assert done.summary.ended == "error"
    assert "exit status 1" in done.summary.detail
    assert "I give up." in steps_of(done)[-1].observation.text
    assert done.grade is not None and "submission.csv" in done.grade.reason


def test_one_that_is_not_found_ends_the_run_with_what_to_do(command: Callable[..., Run]):
    done = command(line="no-such-program")
    assert done.summary.ended == "error"
    assert "not found in the sandbox" in done.summary.detail and "--mount" in done.summary.detail


def test_one_that_leaves_nothing_has_submitted_nothing(command: Callable[..., Run]):
    done = command(line="true")
    assert done.summary.ended == "submitted"
    assert done.grade is not None and not done.grade.valid and "submission.csv" in done.grade.reason


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "'command'.*it is missing, and required"),
        ({"command": "/opt/no/such/program -y"}, "There is no program /opt/no/such/program on this machine"),
        (
            {"command": f"A=1 {sys.executable} -c 1"},
            "is not visible in the sandbox. Show the folder of its",
        ),
        ({"command": "true", "mounts": ["/no/such/folder"]}, "There is no /no/such/folder"),
        ({"command": "true", "mounts": ["/"]}, "lies in it"),
        ({"command": "true", "mounts": str(Path.home())}, "lies in it"),
    ],
    ids=["no command", "not there", "not shown", "no folder", "everything", "home"],
)
def test_what_cannot_work_is_said_before_the_run_begins(
    tiny_task: Path, runs: Path, settings: dict[str, Any], words: str
):
    with pytest.raises(UsageError, match=words):
        run(tiny_task, "command", settings=settings, runs=runs)
    assert list(runs.iterdir()) == []


def test_a_virtual_environment_is_shown_with_the_interpreter_that_it_was_made_from(
    tiny_task: Path, runs: Path, tmp_path: Path, backend: str
):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "own"], check=True)
    python = tmp_path / "own" / "bin" / "python"
    settings = {"command": f"{python} -c 'import sys; print(sys.prefix)'", "mounts": [tmp_path / "own"]}
    done = run(tiny_task, "command", settings=settings, runs=runs, sandbox=backend)
    assert steps_of(done)[-1].observation.text.startswith(f"{tmp_path / 'own'}\n")


def test_an_environment_with_this_package_in_it_is_refused(tiny_task: Path, runs: Path):
    settings = {"command": "true", "mounts": [sys.prefix]}
    with pytest.raises(PreparationError, match="could read the solutions"):
        run(tiny_task, "command", settings=settings, runs=runs)
    assert list(runs.iterdir()) == []


def mortal_run(death: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """The command, in a process that dies after so many events."""
    return subprocess.run(
        [sys.executable, mortal.__file__, death, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        start_new_session=True,
    )


def killed_at(death: str, tiny_task: Path, runs: Path, tmp_path: Path) -> Path:
    """A run of the program that works alone, dead; each of its two turns is a step."""
    script = tmp_path / "answers.jsonl"
    script.write_text("".join(json.dumps(answer) + "\n" for answer in ANSWERS))
    waiting = PROGRAM.read_text().replace("messages += [", "import time; time.sleep(2)\n    messages += [")
    program = tmp_path / "program.py"
    program.write_text("import os\nprint('start', os.environ['MLAGENTBENCH_STARTS'])\n" + waiting)
    options = ["-a", "command", "--command", f"python {program}", "--mount", program, "-c", "settle=0.3"]
    died = mortal_run(death, "run", tiny_task, *options, "-m", f"mock/{script}", "-o", runs)
    assert died.returncode == -signal.SIGKILL, died.stderr
    (folder,) = (found.parent for found in runs.glob("*/*/*/*/run.json"))
    return folder


def test_killed_and_resumed_it_starts_again_where_its_files_were(tiny_task: Path, runs: Path, tmp_path: Path):
    folder = killed_at("after:4", tiny_task, runs, tmp_path)
    before = events_of(folder)
    kinds = [type(event).__name__ for event in before]
    assert kinds == ["RunStarted", "ModelCalled", "StepTaken", "ModelCalled"]
    done = resume(folder)
    assert events_of(done)[:4] == before
    assert (done.summary.ended, done.summary.model_calls) == ("submitted", 4)
    assert done.grade is not None and done.grade.valid
    (note,) = [event for event in events_of(done) if isinstance(event, Note)]
    assert "starts again" in note.text and "lost" in note.text
    steps = steps_of(done)
    assert [step.action.name for step in steps].count("Run Program") == 2
    again = next(step for step in steps[1:] if step.action.name == "Run Program")
    assert again.observation.text.startswith("start 2\n")
    assert verify(done.folder).ok


def test_killed_before_its_first_step_was_kept_it_is_not_charged_twice(
    tiny_task: Path, runs: Path, tmp_path: Path
):
    folder = killed_at("before:3", tiny_task, runs, tmp_path)
    assert [type(event).__name__ for event in events_of(folder)] == ["RunStarted", "ModelCalled"]
    done = resume(folder)
    assert (done.summary.ended, done.summary.model_calls) == ("submitted", 2)
    assert steps_of(done)[0].observation.text.startswith("start 1\n")
    assert done.grade is not None and done.grade.valid
    assert verify(done.folder).ok


def test_a_fork_starts_it_again_after_the_step(
    command: Callable[..., Run], speak: Callable[[Told], Told], tmp_path: Path
):
    told = speak(Told([completion(text) for text in ANSWERS]))
    two_steps = "import time\nopen('first', 'w').write('x')\ntime.sleep(2)\n"
    first = command(two_steps + PROGRAM.read_text(), model="test/told")
    other = fork(first.folder, 1)
    assert other.summary.ended == "submitted"
    assert len(told.asked) == 4
    steps = steps_of(other)
    assert [change.path for change in steps[0].changes] == ["first"]
    assert steps[1].action == steps[0].action


def test_it_can_take_over_from_another_agent(
    tiny_task: Path, runs: Path, tmp_path: Path, speak: Callable[[Told], Told]
):
    speak(Told([completion(text) for text in ANSWERS]))
    first = play(tiny_task, [submitting()], runs, model="test/told")
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.read_text())
    settings = {"command": f"python {program}", "mounts": [program], "settle": 0.3}
    other = fork(first.folder, 0, agent="command", settings=settings)
    assert other.summary.ended == "submitted"
    assert other.grade is not None and other.grade.valid
    assert RunFolder.open(other.folder).request().chat == "model"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_the_user_it_keeps_what_there_is_and_goes_on(tiny_task: Path, runs: Path, number: int):
    line = "test -e left && exec python train.py; echo some > left; echo begun; sleep 600"
    with subprocess.Popen(
        [*CLI, "run", tiny_task, "-a", "command", "--command", line, "-c", "settle=500", "-o", runs],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        for written in process.stdout:
            if written.strip() == "begun":
                break
        process.send_signal(number)
        told = process.stderr.read()
        assert process.wait(60) == 130, told
    assert "mlagentbench resume" in told and "Traceback" not in told
    (folder,) = (found.parent for found in runs.glob("*/*/*/*/run.json"))
    (kept,) = steps_of(folder)
    assert [change.path for change in kept.changes] == ["left"]
    assert "begun" in kept.observation.text and "starts again" in kept.observation.text
    done = resume(folder)
    assert [type(event) for event in events_of(done)][-1] is RunEnded
    assert done.grade is not None and done.grade.valid


def test_stopped_while_its_model_answers_it_says_what_is_waited_for_and_loses_no_call(
    command: Callable[..., Run], speak: Callable[[Told], Told], runs: Path
):
    said: list[str] = []
    told = threading.Event()

    class Watching(Silence):
        def output(self, text: str) -> None:
            said.append(text)
            if "Stopping" in text:
                told.set()

    def answer(number: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert told.wait(60), "nobody was told"

    speak(Told([completion("late")], before=answer))
    with pytest.raises(KeyboardInterrupt):
        command(f"{ASKING}ask({{'role': 'user', 'content': 'x'}})", model="test/told", watch=Watching())
    (folder,) = (found.parent for found in runs.glob("*/*/*/*/run.json"))
    assert [type(event).__name__ for event in events_of(folder)] == ["RunStarted", "ModelCalled", "StepTaken"]
    assert "its answer is waited for" in "".join(said)


def test_the_command_line_tells_of_it():
    shown = subprocess.run(
        [*CLI, "run", "--help"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert " command," in " ".join(shown.split()) and "--command" in shown and "--mount" in shown


def test_the_page_has_its_settings():
    page = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
    assert settings_table(CommandAgent.Settings, {}) in page


def test_the_usual_limit_of_steps_is_not_meant_for_it_but_one_that_is_given_holds(
    command: Callable[..., Run], tmp_path: Path
):
    done = command(line="true")
    assert RunFolder.open(done.folder).request().limits.steps is None
    assert steps_of(done)[0].index == 1
    done = command(line="true", limits={"steps": 7})
    assert RunFolder.open(done.folder).request().limits.steps == 7
