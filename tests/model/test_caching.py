"""The cache of completions: off unless wanted, keyed by everything that matters, whole or not there."""

from __future__ import annotations

import pytest

from mlagentbench.model import Message, MockModel, Sampling, Tool
from mlagentbench.model.caching import FROM_CACHE, Cached

HELLO = [Message(role="user", content="hello")]
TOOL = Tool(name="List Files", description="List.", parameters={"type": "object"})


def counting() -> MockModel:
    return MockModel(lambda messages, *_: f"answer to {messages[-1].content}")


def test_the_same_question_is_asked_once(tmp_path):
    model = counting()
    first = Cached(model, tmp_path, {"model": "a"}).complete(HELLO, Sampling())
    second = Cached(model, tmp_path, {"model": "a"}).complete(HELLO, Sampling())
    assert model.calls == 1
    assert (second.text, second.usage) == (first.text, first.usage)
    assert second.notes == (FROM_CACHE,)
    assert FROM_CACHE not in first.notes


@pytest.mark.parametrize(
    "change",
    [
        {"identity": {"model": "b"}},
        {"identity": {"model": "a", "base_url": "http://127.0.0.1:1"}},
        {"identity": {"model": "a", "client": "2.0"}},
        {"messages": [Message(role="system", content="hello")]},
        {"messages": [*HELLO, *HELLO]},
        {"sampling": Sampling(temperature=0.1)},
        {"sampling": Sampling(max_tokens=1)},
        {"sampling": Sampling(seed=1)},
        {"sampling": Sampling(stop=("x",))},
        {"sampling": Sampling(json_schema={"type": "object"})},
        {"tools": [TOOL]},
    ],
    ids=lambda change: "-".join(change),
)
def test_another_question_is_another_question(change, tmp_path):
    model = counting()
    Cached(model, tmp_path, {"model": "a"}).complete(HELLO, Sampling())
    cached = Cached(model, tmp_path, change.get("identity", {"model": "a"}))
    cached.complete(
        change.get("messages", HELLO), change.get("sampling", Sampling()), change.get("tools", ())
    )
    assert model.calls == 2


def test_a_torn_entry_is_asked_for_again_and_mended(tmp_path):
    model = counting()
    cached = Cached(model, tmp_path, {"model": "a"})
    cached.complete(HELLO, Sampling())
    (entry,) = tmp_path.rglob("*.json")
    entry.write_text(entry.read_text()[:20])
    assert cached.complete(HELLO, Sampling()).text == "answer to hello"
    assert cached.complete(HELLO, Sampling()).notes == (FROM_CACHE,)
    assert model.calls == 2
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == [entry.name]


def test_it_is_off_unless_asked_for(server, connect, tmp_path):
    model = connect(server)
    model.complete(HELLO, Sampling())
    model.complete(HELLO, Sampling())
    assert len(server.asked) == 2
    for _ in range(3):
        connect(server, cache=True).complete(HELLO, Sampling())
    assert len(server.asked) == 3
    connect(server, cache=True, extra={"custom_setting": 1}).complete(HELLO, Sampling())
    assert len(server.asked) == 4
