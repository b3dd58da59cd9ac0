"""A key that a reply says is taken out of it; everything else of a reply stays as it is."""

from __future__ import annotations

import json

import pytest
from model.conftest import CANARY
from model.servers import OpenAIWire, answer, body, serving

from mlagentbench.model import Message, Sampling

HELLO = [Message(role="user", content="Say hello.")]


def test_a_text_is_given_back_without_the_key_and_says_so(server, connect):
    server.does(answer(f"export KEY={CANARY} # {CANARY}"))
    completion = connect(server).complete(HELLO, Sampling())
    assert completion.text == "export KEY=[key removed] # [key removed]"
    assert "A key stood in the reply and was taken out." in completion.notes


def test_a_tool_call_is_given_back_without_the_key(connect):
    with serving(OpenAIWire()) as server:
        reply = server.wire.reply("")
        call = {"name": "Write_File", "arguments": json.dumps({"content": CANARY})}
        reply["choices"][0]["message"]["tool_calls"] = [{"id": CANARY, "type": "function", "function": call}]
        server.does(body(reply))
        completion = connect(server).complete(HELLO, Sampling())
    assert CANARY not in completion.model_dump_json()
    assert json.loads(completion.tool_calls[0].arguments) == {"content": "[key removed]"}


@pytest.mark.parametrize("said", ["//x.y@z: https://user:pass@host/?key=mine", "sk-canary", "none", ""])
def test_what_is_no_key_of_ours_is_not_touched(server, connect, said):
    """Code that holds addresses must come back as the model wrote it."""
    server.does(answer(f"Here: {said}"))
    completion = connect(server).complete(HELLO, Sampling())
    assert completion.text == f"Here: {said}"
    assert not any("key" in note for note in completion.notes)
