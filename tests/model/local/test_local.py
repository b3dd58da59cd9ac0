"""A real model in this process keeps to what it is asked: budget, stops, seed, form and context."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mlagentbench.errors import UsageError
from mlagentbench.model.errors import ModelError, RefusedError, TooLongError
from mlagentbench.model.local import LocalModel
from mlagentbench.model.options import ModelOptions
from mlagentbench.model.serving import Offer, loaded
from mlagentbench.model.spec import Message, Sampling, Tool, ToolCall

pytestmark = pytest.mark.xdist_group("local-model")

ACTION = {
    "type": "object",
    "properties": {
        "thought": {"type": "string", "maxLength": 40},
        "action": {"enum": ["Read File", "Final Answer"]},
        "action_input": {
            "type": "object",
            "properties": {"file": {"type": "string", "maxLength": 20}},
            "required": ["file"],
            "additionalProperties": False,
        },
    },
    "required": ["thought", "action", "action_input"],
    "additionalProperties": False,
}


def user(text: str) -> list[Message]:
    return [Message(role="user", content=text)]


def test_it_completes_and_counts(model: LocalModel) -> None:
    completion = model.complete(user("Say hello."), Sampling(max_tokens=64, temperature=0))
    assert "hello" in completion.text.lower()
    assert completion.usage.input > 10
    assert 0 < completion.usage.output <= 64
    assert completion.latency > 0
    assert completion.model == "smollm2-135m"


def test_the_budget_holds_and_is_told_apart_from_an_end(model: LocalModel) -> None:
    cut = model.complete(user("Tell a long story about the sea."), Sampling(max_tokens=7, temperature=0))
    assert (cut.stop_reason, cut.usage.output) == ("length", 7)


def test_a_stop_sequence_ends_the_text_and_is_not_in_it(model: LocalModel) -> None:
    asked = user("Count to ten: 1, 2, 3,")
    free = model.complete(asked, Sampling(max_tokens=30, temperature=0))
    stopped = model.complete(asked, Sampling(max_tokens=30, temperature=0, stop=("5",)))
    assert "5" in free.text
    assert stopped.stop_reason == "stop"
    assert "4" in stopped.text
    assert "5" not in stopped.text


def test_the_same_seed_gives_the_same_text_whatever_was_asked_between(model: LocalModel) -> None:
    asked = user("Here are words: " + "red green blue " * 8 + "Tell a story with them.")
    first = model.complete(asked, Sampling(max_tokens=16, temperature=1.0, seed=3))
    model.complete(user("Something else."), Sampling(max_tokens=4))
    again = model.complete(asked, Sampling(max_tokens=16, temperature=1.0, seed=3))
    other = model.complete(asked, Sampling(max_tokens=16, temperature=1.0, seed=4))
    assert first.text == again.text != other.text


def test_reused_prompts_are_not_read_again(smollm2: Path) -> None:
    quick = LocalModel("smollm2-135m", context=1024, reuse_prompts=True, folder=smollm2.parent)
    asked = user("Here are words: " + "red green blue " * 12)
    quick.complete(asked, Sampling(max_tokens=1, seed=1))
    again = quick.complete(asked, Sampling(max_tokens=1, seed=1)).usage
    assert again.cached > again.input / 2


@pytest.mark.parametrize("seed", range(3))
def test_text_held_to_a_schema_always_parses(model: LocalModel, seed: int) -> None:
    """At a temperature that makes gibberish of free text."""
    sampling = Sampling(max_tokens=150, temperature=2.0, seed=seed, json_schema=ACTION, stop=("action",))
    completion = model.complete(user("What do you do next?"), sampling)
    content = json.loads(completion.text)
    assert list(content) == ["thought", "action", "action_input"]
    assert content["action"] in ("Read File", "Final Answer")
    assert isinstance(content["action_input"]["file"], str)
    assert completion.notes


def test_a_schema_that_cannot_be_held_to_is_refused_not_ignored(model: LocalModel) -> None:
    with pytest.raises(RefusedError, match="could not be held to the JSON schema"):
        model.complete(
            user("Say hello."), Sampling(max_tokens=8, temperature=0, json_schema={"type": "poem"})
        )


def test_what_does_not_fit_the_context_is_refused_with_the_numbers(model: LocalModel) -> None:
    with pytest.raises(
        TooLongError, match=r"prompt of \d+ tokens and an output of up to 1000 .* 1024 tokens"
    ):
        model.complete(user("Say hello."), Sampling(max_tokens=1000))
    with pytest.raises(TooLongError, match="up to 8 "):
        model.complete(user("Say hello. " * 2000), Sampling(max_tokens=8))


def test_several_threads_share_one_model(model: LocalModel) -> None:
    sampling = Sampling(max_tokens=5, temperature=0, seed=1)
    with ThreadPoolExecutor(3) as threads:
        texts = list(threads.map(lambda _: model.complete(user("Say hello."), sampling).text, range(3)))
    assert len(set(texts)) == 1


def test_text_of_any_kind_is_taken(model: LocalModel) -> None:
    for text in ("", "\x00\x1b[31m", "\ud800", "日本語 🙂", "<|im_end|>"):
        assert model.complete(user(text), Sampling(max_tokens=2)).usage.output <= 2


def test_tools_are_refused_where_the_template_has_none(model: LocalModel) -> None:
    assert not model.speaks_tools
    tool = Tool(name="read", description="Read a file.", parameters={"type": "object"})
    with pytest.raises(RefusedError, match="text protocol"):
        model.complete(user("Read it."), Sampling(max_tokens=8), [tool])


def test_ctrl_c_ends_a_completion_at_once(model: LocalModel) -> None:
    """A library that computes in this process would keep Python from noticing until it is done."""
    endless = Sampling(max_tokens=900, json_schema={"type": "string", "minLength": 5000})
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
        model.complete(user("Tell everything."), endless)
    after = model.complete(user("Say hello."), Sampling(max_tokens=2))
    assert after.latency < 20


def test_a_killed_process_leaves_nothing_behind(smollm2: Path) -> None:
    """Neither where temporary files go, nor at home, nor where it was started."""
    program = f"""
import sys
from mlagentbench.model.local import LocalModel
from mlagentbench.model.spec import Message, Sampling

model = LocalModel({str(smollm2)!r}, context=512)
model.complete([Message(role="user", content="Say hello.")], Sampling(max_tokens=1))
print("answered", flush=True)
sys.stdin.read()
"""
    # A short path: sockets in a longer one would be put elsewhere.
    with tempfile.TemporaryDirectory() as place:
        with subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=dict(os.environ) | {"TMPDIR": place, "HOME": place},
            cwd=place,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "answered\n"
            process.kill()
        assert process.returncode == -signal.SIGKILL
        assert list(Path(place).iterdir()) == []


def test_nobody_else_may_ask_it(smollm2: Path) -> None:
    engine = loaded(Offer(smollm2, context=1024))
    assert engine.ask("/tokenize", {"content": "hello"})["tokens"]
    for key in ("", "Bearer ", "Bearer none"):
        request = urllib.request.Request(f"{engine.address}/tokenize", b"{}", {"Authorization": key})
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(request, timeout=60)


def test_a_damaged_file_is_refused_in_words(
    smollm2: Path, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(smollm2.read_bytes()[:5_000_000])
    with pytest.raises(ModelError, match=r"not within the file bounds|corrupted|failed to"):
        LocalModel(str(damaged)).complete(user("Say hello."), Sampling(max_tokens=2))
    assert capfd.readouterr().err == ""


def test_settings_of_a_named_model_come_from_its_options(smollm2: Path) -> None:
    options = ModelOptions("local", str(smollm2), extra={"context": 2048, "threads": 1})
    assert LocalModel(options).name == f"local/{smollm2}"
    with pytest.raises(UsageError, match="It has context, threads, reuse_prompts"):
        LocalModel(ModelOptions("local", str(smollm2), extra={"contxt": 2048}))


@pytest.mark.slow
def test_a_model_with_tools_calls_one_and_reads_its_answer(shared_cache: Path) -> None:
    try:
        model = LocalModel("qwen2.5-coder-1.5b", context=2048, folder=shared_cache / "models")
    except UsageError as reason:
        pytest.skip(str(reason))
    file = {"type": "object", "properties": {"file": {"type": "string"}}, "required": ["file"]}
    tools = [
        Tool(name="read_file", description="Read a file.", parameters=file),
        Tool(name="execute", description="Run a Python script.", parameters=file),
    ]
    assert model.speaks_tools
    asked = user("Look at what is in train.py.")
    completion = model.complete(asked, Sampling(max_tokens=60, temperature=0), tools)
    assert completion.stop_reason == "tool_calls"
    (call,) = completion.tool_calls
    assert (call.name, json.loads(call.arguments)) == ("read_file", {"file": "train.py"})
    assert "`" not in completion.text
    wrong = ToolCall(id="0", name="read_file", arguments='{"file": ')
    history = [
        *asked,
        Message(role="assistant", content="", tool_calls=(wrong,)),
        Message(role="tool", content="The arguments are no JSON.", tool_call_id="0"),
        Message(role="assistant", content="", tool_calls=(call,)),
        Message(role="tool", content="print('hello')", tool_call_id=call.id),
        Message(role="user", content="Now run it."),
    ]
    (call,) = model.complete(history, Sampling(max_tokens=60, temperature=0), tools).tool_calls
    assert call.name == "execute"
