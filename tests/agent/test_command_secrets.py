"""A program that is the agent gets secrets by name, and none of them is found in what the run leaves."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.acting import events_of, steps_of
from telling import Told, completion

from mlagentbench import Run, fork, resume, run
from mlagentbench.environment.models import ModelChoice
from mlagentbench.errors import UsageError
from mlagentbench.launch.checking import draft
from mlagentbench.launch.plan import AgentEntry, ModelEntry, Plan, TaskEntry
from mlagentbench.model.redaction import Redaction
from mlagentbench.record.events import ModelCalled
from mlagentbench.record.folder import RunFolder

SECRET = "s3cr3t-Value-42"
ASKING = """
import json, os, urllib.request
body = {"model": "m", "messages": [{"role": "user", "content": "My key is " + os.environ["MY_KEY"]}]}
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
urllib.request.urlopen(urllib.request.Request(address, json.dumps(body).encode())).read()
"""


@pytest.fixture
def program(tiny_task: Path, runs: Path, tmp_path: Path) -> Callable[..., Run]:
    def start(line: str, model: str = "", **more: Any) -> Run:
        settings = {"command": line, "settle": 0.3, "env": ["MY_KEY"], **more}
        return run(tiny_task, "command", model, settings=settings, runs=runs)

    return start


def bytes_below(folder: Path) -> bytes:
    files = [file for file in folder.rglob("*") if file.is_file() and not file.is_symlink()]
    return b"".join(str(file).encode() + file.read_bytes() for file in files)


def test_its_value_reaches_the_program_and_nothing_that_is_written(
    program: Callable[..., Run], runs: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", SECRET)
    long = "seq 20000; python -c 'import os; print(os.environ[\"MY_KEY\"] * 2)'; echo $MY_KEY; seq 20000"
    done = program(f"test ${{#MY_KEY}} = {len(SECRET)} && ({long}); echo last $MY_KEY; exit 3")
    assert SECRET.encode() not in bytes_below(runs)
    step = steps_of(done)[0]
    assert (
        step.observation.text.count("[key removed]") == 1
    )  # the last one; the others are where output is cut
    output = (done.folder / "outputs" / step.observation.output).read_text()
    assert output.count("[key removed]") == 4
    assert RunFolder.open(done.folder).request().settings["env"] == ["MY_KEY"]


def test_what_it_asks_a_model_holds_no_secret_and_neither_does_the_reply(
    program: Callable[..., Run], runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", SECRET)
    told = Told([completion(f"Yours is {SECRET}.")])
    monkeypatch.setattr(ModelChoice, "_load", lambda self, name: told)
    file = tmp_path / "asking.py"
    file.write_text(ASKING)
    done = program(f"python {file}", "test/told", mounts=[str(file)])
    (call,) = [event for event in events_of(done) if isinstance(event, ModelCalled)]
    assert call.completion is not None and call.completion.text == "Yours is [key removed]."
    assert told.asked[0][0][0].content == "My key is [key removed]"
    assert SECRET.encode() not in bytes_below(runs)


def test_it_is_found_in_the_env_file_of_the_folder(
    program: Callable[..., Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MY_KEY", raising=False)
    Path(".env").write_text(f"MY_KEY={SECRET}\n")
    done = program(f"test ${{#MY_KEY}} = {len(SECRET)}")
    assert done.summary.ended == "submitted"


def test_one_that_is_not_set_is_told_before_there_is_a_run(
    program: Callable[..., Run], runs: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(UsageError, match=r"MY_KEY.* not set.*\.env"):
        program("true")
    assert list(runs.iterdir()) == []


def test_a_run_that_is_resumed_or_forked_reads_it_again_and_one_that_has_ended_needs_none(
    program: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", SECRET)
    done = program("python -c 'import os; print(len(os.environ[\"MY_KEY\"]))'")
    monkeypatch.delenv("MY_KEY")
    assert resume(done.folder).summary.ended == "submitted"
    with pytest.raises(UsageError, match="MY_KEY"):
        fork(done.folder, 0)
    monkeypatch.setenv("MY_KEY", "x" * 40)
    again = fork(done.folder, 0)
    assert steps_of(again)[0].observation.text.startswith("40\n")
    events = again.folder / "events.jsonl"
    lines = events.read_text().splitlines(keepends=True)
    events.write_text("".join(lines[:2]))  # as a kill after its beginning leaves it
    (again.folder / "summary.json").unlink()
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(UsageError, match="resumed"):
        resume(again.folder)


@pytest.mark.parametrize("name", ["MY_KEY=abc", "my key", ""])
def test_a_variable_is_given_by_its_name_alone(program: Callable[..., Run], name: str):
    with pytest.raises(UsageError, match="--env takes the name of a variable") as refused:
        program("true", env=[name])
    assert "abc" not in str(refused.value)


@pytest.mark.parametrize(
    ("command", "where"),
    [
        ("agent --api-key abcdef123", "--api-key"),
        ("agent --token=abc123def", "--token"),
        ("OPENAI_API_KEY=abcdefghij agent", "OPENAI_API_KEY"),
        ("agent sk-abcdefghijklmnopqrst", "looks like a key"),
        ("AWS=1 agent AKIAABCDEFGHIJKLMNOP", "looks like a key"),
        ("agent ghp_abcdefghijklmnopqrstuvwxyz", "looks like a key"),
        ("curl -H 'Authorization: Bearer abcdefghij'", "Bearer"),
        (f"agent {SECRET}", "MY_KEY"),
    ],
)
def test_a_command_that_holds_a_secret_is_refused_with_what_to_do(
    program: Callable[..., Run], runs: Path, monkeypatch: pytest.MonkeyPatch, command: str, where: str
):
    monkeypatch.setenv("MY_KEY", SECRET)
    with pytest.raises(UsageError, match=r"seems to hold a secret.*--env") as refused:
        program(command)
    assert where in str(refused.value) and list(runs.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [
        'agent --api-key "$MY_KEY"',
        "agent --token-limit 100000 --max-tokens 2000",
        "TOKEN=$MY_KEY agent",
        "agent --key-file keys/one --password-file ~/p",
        "export TOKEN=$(cat token.txt)",
        "agent --model sk-learn-large --tokenizer gpt2large",
    ],
)
def test_one_that_holds_none_is_taken(
    program: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, command: str
):
    monkeypatch.setenv("MY_KEY", SECRET)
    done = program(f"true || {command}")
    assert done.summary.ended == "submitted"


def test_a_secret_in_what_models_are_told_is_refused_too(tiny_task: Path, runs: Path):
    choice = ModelChoice(act="mock/none")
    for unsafe, words in (
        (replace(choice, options={"api_key": "abcdefgh"}), "model option 'api_key'"),
        (replace(choice, options={"headers": {"x": "Bearer abcdefgh"}}), "model option 'headers'"),
        (replace(choice, base_url="https://me:secret@example.com/v1"), "base URL"),
    ):
        script = runs.parent / "script.txt"
        script.write_text("Answer")
        with pytest.raises(UsageError, match=words):
            run(tiny_task, "act", replace(unsafe, act=f"mock/{script}"), runs=runs)
    assert list(runs.iterdir()) == []


def test_a_plan_has_variables_and_its_secrets_are_refused(tiny_task: Path):
    def drafted(agent: dict[str, Any], **model: Any) -> str:
        entry = AgentEntry(agent="command", models=(ModelEntry(model="mock/x", **model),), **agent)
        made = draft(Plan(tasks=(TaskEntry(task=str(tiny_task)),), agents=(entry,)))
        assert made.problems or made.cells[0].settings["env"] == ["MY_KEY"]
        return " ".join(made.problems)

    assert not drafted({"settings": {"command": "true"}, "env": ("MY_KEY",)})
    assert "seems to hold a secret" in drafted({"settings": {"command": "x --api-key abcdefgh"}})
    assert "base URL" in drafted(
        {"settings": {"command": "x"}, "env": ("MY_KEY",)}, base_url="https://a:b@example.com"
    )


@given(st.lists(st.sampled_from([b"abcabd", b"abcab", b"abc", b"x", b"dabcabdab"]), max_size=12))
def test_however_a_stream_is_cut_a_secret_does_not_pass(chunks: list[bytes]):
    stream = Redaction(["abcabd", "short"[:3]]).stream()
    passed = b"".join(stream.feed(chunk) for chunk in chunks) + stream.rest()
    assert passed == b"".join(chunks).replace(b"abcabd", b"[key removed]")


def test_a_secret_that_is_a_word_of_ours_leaves_the_record_readable(
    program: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MY_KEY", "snapshot")
    done = program("echo snapshot step")
    assert json.loads((done.folder / "run.json").read_text())["agent"] == "command"
    assert steps_of(done)[0].observation.text.startswith("[key removed] step")
