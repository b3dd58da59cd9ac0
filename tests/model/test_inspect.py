"""Providers behind Inspect AI's model API."""

from __future__ import annotations

import json

import pytest
from model.servers import ANSWER, OpenAIWire, answer, body, fail, serving, too_long

from mlagentbench.model import (
    BadCredentialsError,
    Message,
    RateLimitedError,
    Sampling,
    Tool,
    ToolCall,
    TooLongError,
    UnavailableError,
)

pytest.importorskip("inspect_ai", reason="Inspect AI is not installed: pip install 'mlagentbench[inspect]'")

HELLO = [Message(role="system", content="Be brief."), Message(role="user", content="Say hello.")]
TOOL = Tool(
    name="List Files",
    description="List what is in a folder.",
    parameters={"type": "object", "properties": {"dir_path": {"type": "string"}}, "required": ["dir_path"]},
)
NAME = "inspect/openai-api/own/some-model"


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OWN_API_KEY", "sk-canary-for-inspect")
    with serving(OpenAIWire()) as running:
        yield running


def test_the_request_carries_the_same_budget_and_settings(server, connect):
    sampling = Sampling(max_tokens=1234, temperature=0.37, stop=("Observation:",), seed=7)
    completion = connect(server, NAME).complete(HELLO, sampling)
    assert completion.text == ANSWER
    seen = server.wire.seen(server.asked[-1].body)
    assert seen == {"budget": 1234, "temperature": 0.37, "stop": ["Observation:"], "seed": 7}
    assert (completion.usage.input, completion.usage.cached, completion.usage.output) == (120, 100, 30)


def test_tools_go_out_and_come_back(server, connect):
    reply = server.wire.reply("")
    call = {
        "id": "x1",
        "type": "function",
        "function": {"name": "List_Files", "arguments": '{"dir_path": "sub"}'},
    }
    reply["choices"][0] |= {
        "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": None, "tool_calls": [call]},
    }
    server.does(body(reply))
    history = [
        *HELLO,
        Message(
            role="assistant", content="", tool_calls=(ToolCall(id="c", name="List Files", arguments="{}"),)
        ),
        Message(role="tool", content="train.py", tool_call_id="c"),
    ]
    completion = connect(server, NAME).complete(history, Sampling(), [TOOL])
    assert (completion.tool_calls[0].name, completion.stop_reason) == ("List Files", "tool_calls")
    assert json.loads(completion.tool_calls[0].arguments) == {"dir_path": "sub"}
    assert server.asked[-1].body["tools"][0]["function"]["name"] == "List_Files"


def test_a_model_with_tools_is_told_to_call_one_at_a_time_unless_it_does_not_take_that(server, connect):
    server.does(fail(400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."))
    model = connect(server, NAME, extra={"max_retries": 0})
    completion = model.complete(HELLO, Sampling(), [TOOL])
    model.complete(HELLO, Sampling())
    assert [asked.body.get("parallel_tool_calls") for asked in server.asked] == [False, None, None]
    assert completion.text == ANSWER
    assert any("one tool at a time" in note for note in completion.notes)


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (fail(429, "Slow down.", Retry_After="3"), RateLimitedError),
        (fail(500, "Internal"), UnavailableError),
        (fail(401, "Wrong key: sk-canary-for-inspect"), BadCredentialsError),
        (too_long, TooLongError),
    ],
    ids=["429", "500", "401", "too long"],
)
def test_faults_are_typed(behaviour, error, server, connect):
    server.does(behaviour)
    with pytest.raises(error) as raised:
        connect(server, NAME, extra={"max_retries": 0}).complete(HELLO, Sampling())
    assert "sk-canary" not in str(raised.value)
    assert "Say hello." not in str(raised.value), "what was asked is no part of what went wrong"
    assert getattr(raised.value, "retry_after", None) == (3 if error is RateLimitedError else None)


def test_a_key_that_inspect_finds_by_itself_is_taken_out_of_a_reply(server, connect):
    server.does(answer("It is sk-canary-for-inspect."))
    completion = connect(server, NAME).complete(HELLO, Sampling())
    assert completion.text == "It is [key removed]."
