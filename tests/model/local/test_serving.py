"""`mlagentbench model`: the command lists, fetches and serves; a real client talks to what it serves."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

openai = pytest.importorskip("openai")

COMMAND = [sys.executable, "-m", "mlagentbench.cli.main", "model"]


@pytest.fixture(scope="module")
def client(smollm2: Path, shared_cache: Path) -> Iterator[openai.OpenAI]:
    environment = dict(os.environ) | {"MLAGENTBENCH_CACHE": str(shared_cache)}
    command = [*COMMAND, "serve", "smollm2-135m", "--port", "0", "--context", "512", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        document = ""
        while not document.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, "the server ended before it said where it is"
            document += line
        told = json.loads(document)
        assert told["model"] == "smollm2-135m"
        assert told["base_url"].startswith("http://127.0.0.1:")
        with openai.OpenAI(base_url=told["base_url"], api_key="none", timeout=120, max_retries=0) as client:
            yield client
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130


def test_a_client_sees_the_model(client: openai.OpenAI) -> None:
    assert [each.id for each in client.models.list()] == ["smollm2-135m"]


def test_a_client_gets_text_and_usage(client: openai.OpenAI) -> None:
    reply = client.chat.completions.create(
        model="smollm2-135m",
        messages=[{"role": "user", "content": "Count to ten: 1, 2, 3,"}],
        max_tokens=30,
        temperature=0,
        seed=1,
        stop=["5"],
    )
    assert reply.choices[0].finish_reason == "stop"
    assert "4" in str(reply.choices[0].message.content)
    assert "5" not in str(reply.choices[0].message.content)
    assert reply.usage is not None
    assert reply.usage.completion_tokens > 0


def test_a_client_gets_json_of_its_schema(client: openai.OpenAI) -> None:
    schema = {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    schema["additionalProperties"] = False
    reply = client.chat.completions.create(
        model="smollm2-135m",
        messages=[{"role": "user", "content": "Is the sky blue?"}],
        max_tokens=60,
        temperature=0,
        response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
    )
    assert isinstance(json.loads(str(reply.choices[0].message.content))["yes"], bool)


def test_a_client_may_stream(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(
        model="smollm2-135m",
        messages=[{"role": "user", "content": "Say hello."}],
        max_tokens=6,
        temperature=0,
        stream=True,
    )
    pieces = [chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices]
    assert len(pieces) > 2
    assert "".join(pieces)


def test_a_client_is_told_of_a_prompt_that_is_too_long(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="context size"):
        client.chat.completions.create(
            model="smollm2-135m", messages=[{"role": "user", "content": "Say hello. " * 1000}], max_tokens=5
        )


def test_the_list_tells_what_is_here_and_fetch_does_nothing_twice(smollm2: Path) -> None:
    fetched = subprocess.run(
        [*COMMAND, "fetch", "local/smollm2-135m", "--json"], capture_output=True, text=True, check=True
    )
    assert json.loads(fetched.stdout)["file"] == str(smollm2)
    listed = subprocess.run([*COMMAND, "list", "--json"], capture_output=True, text=True, check=True)
    files = {each["model"]: each["file"] for each in json.loads(listed.stdout)}
    assert files["local/smollm2-135m"] == str(smollm2)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["fetch", "smollm2"], "Did you mean 'smollm2-135m'?"),
        (["serve", "local/smollm"], "Did you mean 'smollm2-135m'?"),
        (["serve", "gpt"], "Known are qwen2.5-coder-1.5b and smollm2-135m."),
        (["serve", "nowhere/some.gguf"], "nowhere/some.gguf. local/ takes a known name, or the path of a"),
        (["lst"], "Try 'mlagentbench model --help' for help."),
    ],
)
def test_a_name_that_does_not_exist_is_wrong_use(asked: list[str], told: str) -> None:
    done = subprocess.run([*COMMAND, *asked], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert told in done.stderr


def test_an_address_that_is_taken_is_wrong_use_and_said_before_anything_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "never-read.gguf"
    file.touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [*COMMAND, "serve", str(file), "--port", str(port)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"127.0.0.1:{port} cannot be listened at: Address already in use" in done.stderr
    assert "Choose another --port" in done.stderr
    elsewhere = subprocess.run(
        [*COMMAND, "serve", str(file), "--host", "192.0.2.1"], capture_output=True, text=True, check=False
    )
    assert (elsewhere.returncode, "or --host" in elsewhere.stderr) == (2, True)
