"""The chat endpoint: OpenAI's wire format in front of whatever answers, and the stand-in behind it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence

import openai
import pytest
from asking import Asker
from hypothesis import given
from hypothesis import strategies as st

from mlagentbench.model.errors import (
    BadCredentialsError,
    ModelError,
    RateLimitedError,
    RefusedError,
    TooLongError,
    UnavailableError,
)
from mlagentbench.model.spec import Completion, Message, Sampling, Tool, ToolCall, Usage
from mlagentbench.service.chat import MOST_TOKENS, ChatRefusedError, chat_site
from mlagentbench.service.standin import LONGEST, StandIn, answer_to, take_apart
from mlagentbench.service.web import Asked, Site
from mlagentbench.service.words import without_marks, words

Serve = Callable[[Site], Asker]
TEXT = (
    "Sparse spline attention reduces memory. It was raining in June. "
    "Sparse spline attention is fast on long documents. Bananas are yellow."
)


class Telling:
    """Remembers what it is asked, and answers what it is told to."""

    def __init__(self, text: str = "two words", failure: Exception | None = None) -> None:
        self.text = text
        self.failure = failure
        self.asked: list[tuple[list[Message], Sampling]] = []

    def __call__(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        self.asked.append((list(messages), sampling))
        if self.failure:
            raise self.failure
        return Completion(
            text=self.text, usage=Usage(input=11, output=2), stop_reason="stop", model="teller", latency=0.1
        )


def client(asker: Asker) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"http://127.0.0.1:{asker.port}/v1", api_key="none-needed", max_retries=0)


def test_openais_own_client_speaks_with_it(serve: Serve):
    teller = Telling("A sentence with ünïcode.\nAnd a line.")
    chat = client(serve(chat_site(teller)))
    messages = [{"role": "developer", "content": "Be short."}, {"role": "user", "content": "Hello?"}]
    answer = chat.chat.completions.create(
        model="gpt-any", messages=messages, temperature=0.25, max_tokens=9, stop=["END"], seed=7
    )
    assert answer.choices[0].message.content == teller.text
    assert answer.choices[0].finish_reason == "stop"
    assert answer.model == "teller"
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (
        11,
        2,
        13,
    )
    (asked, sampling) = teller.asked[0]
    assert [(each.role, each.content) for each in asked] == [("system", "Be short."), ("user", "Hello?")]
    assert sampling == Sampling(max_tokens=9, temperature=0.25, stop=("END",), seed=7)
    assert [model.id for model in chat.models.list()] == ["assistant"]


def test_a_stream_adds_up_to_the_same_text_and_usage(serve: Serve):
    teller = Telling("Some  words,\n\nwith spaces ")
    chat = client(serve(chat_site(teller)))
    stream = chat.chat.completions.create(
        model="any",
        messages=[{"role": "user", "content": [{"type": "text", "text": "Hello?"}]}],
        stream=True,
        stream_options={"include_usage": True},
    )
    events = list(stream)
    assert "".join(event.choices[0].delta.content or "" for event in events if event.choices) == teller.text
    assert events[-2].choices[0].finish_reason == "stop"
    assert events[-1].usage.total_tokens == 13


@pytest.mark.parametrize(
    ("failure", "kind", "status"),
    [
        (TooLongError("too long"), openai.BadRequestError, 400),
        (RateLimitedError("slower"), openai.RateLimitError, 429),
        (RefusedError("no"), openai.BadRequestError, 400),
        (UnavailableError("down"), openai.InternalServerError, 503),
        (BadCredentialsError("key"), openai.InternalServerError, 503),
        (ModelError("what"), openai.InternalServerError, 503),
        (
            ChatRefusedError("used up", 429, "insufficient_quota", "insufficient_quota"),
            openai.RateLimitError,
            429,
        ),
    ],
)
def test_what_goes_wrong_is_an_error_in_openais_shape(
    serve: Serve, failure: Exception, kind: type[openai.APIStatusError], status: int
):
    chat = client(serve(chat_site(Telling(failure=failure))))
    with pytest.raises(kind) as raised:
        chat.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hello?"}])
    assert raised.value.status_code == status
    assert raised.value.body["message"] == str(failure)


@pytest.mark.parametrize(
    "wrong",
    [
        {"messages": []},
        {"messages": "hello"},
        {"messages": [{"role": "king", "content": "x"}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
        {"messages": ["x"]},
        {"messages": [{"role": "user", "content": "x"}] * 501},
        {"temperature": "hot"},
        {"temperature": 3},
        {"max_tokens": 0},
        {"stop": [1]},
        {"stop": ["a"] * 5},
        {"stop": [""]},
        {"n": 2},
        {"tools": [{"type": "function"}]},
        {"response_format": {"type": "json_object"}},
    ],
)
def test_a_wrong_request_is_refused_and_nobody_is_asked(serve: Serve, wrong: dict[str, object]):
    teller = Telling()
    got = serve(chat_site(teller)).post(
        "/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], **wrong}
    )
    assert got.status == 400
    assert got.json["error"]["type"] == "invalid_request_error"
    assert teller.asked == []


class Calling:
    """Answers with a call of the first tool that it is offered."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[Message], tuple[Tool, ...]]] = []

    def __call__(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        self.asked.append((list(messages), tuple(tools)))
        calls = tuple(ToolCall(id="call-1", name=tool.name, arguments='{"a": 1}') for tool in tools[:1])
        return Completion(
            text="I look.",
            tool_calls=calls,
            usage=Usage(input=11, output=2),
            stop_reason="tool_calls" if calls else "stop",
            model="caller",
            latency=0.1,
        )


LOOK = {
    "type": "function",
    "function": {"name": "look", "description": "Look.", "parameters": {"type": "object", "properties": {}}},
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_openais_own_client_calls_tools_where_they_are_offered(serve: Serve, stream: bool):
    caller = Calling()
    chat = client(serve(chat_site(caller, caller)))
    asked = [{"role": "user", "content": "Hello?"}]
    answer = chat.chat.completions.create(model="any", messages=asked, tools=[LOOK], stream=stream)
    if stream:
        deltas = [event.choices[0] for event in answer]
        (call,) = [each for choice in deltas for each in choice.delta.tool_calls or ()]
        finish = deltas[-1].finish_reason
    else:
        (call,), finish = answer.choices[0].message.tool_calls, answer.choices[0].finish_reason
    assert (call.id, call.function.name, call.function.arguments) == ("call-1", "look", '{"a": 1}')
    assert finish == "tool_calls"
    written = {"id": "call-1", "type": "function", "function": {"name": "look", "arguments": '{"a": 1}'}}
    history = [
        *asked,
        {"role": "assistant", "content": None, "tool_calls": [written]},
        {"role": "tool", "tool_call_id": "call-1", "content": "A hall."},
    ]
    last = chat.chat.completions.create(model="any", messages=history)
    assert last.choices[0].finish_reason == "stop" and last.choices[0].message.tool_calls is None
    assert caller.asked[0][1] == (
        Tool(name="look", description="Look.", parameters={"type": "object", "properties": {}}),
    )
    _, spoken, answered = caller.asked[1][0]
    assert spoken.tool_calls == (ToolCall(id="call-1", name="look", arguments='{"a": 1}'),)
    assert (answered.role, answered.tool_call_id, answered.content) == ("tool", "call-1", "A hall.")


def nested(depth: int) -> dict[str, object]:
    return {"inner": nested(depth - 1)} if depth else {}


@pytest.mark.parametrize(
    "wrong",
    [
        {"tools": "all"},
        {"tools": [LOOK] * 65},
        {"tools": [{"type": "function"}]},
        {"tools": [{"type": "web_search", "function": LOOK["function"]}]},
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        {"tools": [{"type": "function", "function": {"name": "a", "parameters": []}}]},
        {"tools": [{"type": "function", "function": {"name": "a", "parameters": nested(100)}}]},
        {"tools": [LOOK], "tool_choice": "required"},
        {"messages": [{"role": "tool", "content": "x", "tool_call_id": 3}]},
        {"messages": [{"role": "assistant", "content": None, "tool_calls": [{"id": "x"}]}]},
        {"messages": [{"role": "assistant", "content": None, "tool_calls": "x"}]},
        {"messages": [{"role": "assistant", "content": None}]},
    ],
)
def test_wrong_tools_and_calls_are_refused_and_nobody_is_asked(serve: Serve, wrong: dict[str, object]):
    caller = Calling()
    got = serve(chat_site(caller, caller)).post(
        "/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], **wrong}
    )
    assert (got.status, got.json["error"]["type"]) == (400, "invalid_request_error")
    assert caller.asked == []


def test_what_is_asked_for_is_bounded_and_other_places_are_not_there(serve: Serve):
    teller = Telling()
    asker = serve(chat_site(teller))
    asker.post("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 10**9})
    assert teller.asked[0][1].max_tokens == MOST_TOKENS
    assert asker.get("/v1/chat/completions").status == 405
    assert asker.get("/v1/files").status == 404
    assert asker.request("POST", "/v1/chat/completions", b"{").status == 400
    assert asker.request("POST", "/v1/chat/completions", b"[" * 100_000).status == 400


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
fields = st.sampled_from(
    ["messages", "stop", "max_tokens", "temperature", "stream", "stream_options", "n", "seed", "tools"]
)


@given(st.dictionaries(fields, json_values), st.text())
def test_no_request_makes_it_fail(values: dict[str, object], text: str):
    site = chat_site(StandIn())
    body = json.dumps({"messages": [{"role": "user", "content": text}], **values}).encode()
    for each in (site, chat_site(StandIn(), Calling())):
        assert each.answer(Asked("POST", "/v1/chat/completions", body=body)).status in (200, 400)


@given(st.binary())
def test_no_bytes_make_it_fail(body: bytes):
    assert chat_site(StandIn()).answer(Asked("POST", "/v1/chat/completions", body=body)).status == 400


def test_the_stand_in_sums_up_with_the_central_sentences():
    assert answer_to(f"Summarise this text in 2 sentences.\n\n{TEXT}") == (
        "Sparse spline attention reduces memory. Sparse spline attention is fast on long documents."
    )
    assert answer_to(f"One-sentence summary, please: {TEXT}").startswith("Sparse spline attention")


def test_the_stand_in_gives_keywords_and_queries():
    assert answer_to(f"Give 2 search queries.\n\n{TEXT}").splitlines()[0] == "sparse spline attention"
    assert len(answer_to(f"Give 2 search queries.\n\n{TEXT}").splitlines()) == 2
    assert json.loads(answer_to(f"List three keywords as JSON.\n\n{TEXT}"))[0] == "sparse spline attention"


ITEMS = "1. Deserts of stone\n2. Waves of a warm sea\n[3] Sea ice in the\n   arctic winter\n4) Stone walls\n"


def test_the_stand_in_chooses_and_ranks_numbered_items():
    assert answer_to(f"Which of these are relevant?\nTopic: arctic sea ice\n{ITEMS}") == "3, 2"
    assert answer_to(f"Choose the 1 most relevant.\nTopic: arctic sea ice\n\n{ITEMS}") == "3"
    assert answer_to(f"Rank all of these.\nTopic: arctic sea ice\n{ITEMS}") == "3, 2, 1, 4"
    assert answer_to(f"Select the relevant ones, as JSON.\nTopic: arctic sea ice\n{ITEMS}") == "[3, 2]"
    assert answer_to(f"Which are relevant?\nTopic: quantum bread\n{ITEMS}") == "none"


def test_the_stand_in_says_yes_and_no():
    ask = "Is this paper relevant? Answer yes or no.\nTopic: spline attention\n\n"
    assert answer_to(ask + TEXT) == "yes"
    assert answer_to(ask + "Bread is baked.") == "no"
    assert answer_to(ask.replace("yes or no", "in JSON") + TEXT) == "true"


def test_keywords_of_the_stand_in_are_beginnings_of_words():
    assert answer_to(f"Summarise this Bayesian research on frankness.\n\n{TEXT}").startswith("Sparse spline")
    assert answer_to(f"Keywords of what is relevant, in one line.\n\n{TEXT}") == "sparse spline attention"
    assert answer_to(f"Is this relevant?\nTopic: spline attention\n\n{TEXT}") == "yes"


def test_the_stand_in_answers_with_the_sentences_that_fit_the_question():
    told = answer_to(f"Tell me.\nQuestion: What colour are bananas, and when was it raining?\n\n{TEXT}")
    assert told == "It was raining in June. Bananas are yellow."


def test_the_stand_in_reads_the_last_message_of_the_user_only():
    messages = [
        Message(role="user", content="Give keywords.\n\nBread"),
        Message(role="assistant", content="bread"),
        Message(role="user", content=f"Summarise in one sentence.\n\n{TEXT}"),
    ]
    completion = StandIn()(messages, Sampling(max_tokens=3, stop=("memory",)))
    assert completion.text == "Sparse spline attention"
    assert completion.stop_reason == "length"
    assert completion.usage.output == 3


@given(st.text(st.sampled_from("aA1.)[]:?\n ü-'")) | st.text())
def test_the_stand_in_always_answers_and_always_the_same(text: str):
    for order in (
        "",
        "Rank these.\n",
        "Which are relevant?\n",
        "Summarise:\n\n",
        "keywords:\n\n",
        "yes or no\n\n",
    ):
        assert answer_to(order + text) == answer_to(order + text)
        take_apart(order + text)


def work_of(text: str) -> int:
    """Calls of functions, in Python and in C, that an answer takes."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        answer_to(text)
    finally:
        sys.setprofile(None)
    return calls


def many(size: int) -> str:
    """Different words, so many characters."""
    return " ".join(f"w{number}x" for number in range(size))[:size]


ORDERS = ("Rank:\n", "Which are relevant?\n", "Summarise:\n\n", "keywords:\n\n", "Tell me.\n", "Whether?\n\n")
HARD = {
    "a long question and many items": lambda size: (
        f"Topic: {many(size // 2)}\n" + "\n".join(f"{n}. ice {n}" for n in range(size // 20))
    ),
    "a long question and many sentences": lambda size: (
        f"Question: {many(size // 2)}\n\n" + "An A. " * (size // 12)
    ),
    "one item over and over": lambda size: "1. sea ice\n" * (size // 11),
    "one item of many lines": lambda size: "1. sea\n" + "ice\n" * (size // 4),
    "many questions": lambda size: "Question: ice?\n" * (size // 15),
    "sentences": lambda size: "A. " * (size // 3),
    "words": many,
    "one word": lambda size: "a" * size,
    "blank lines": lambda size: "\n" * size,
}


@pytest.mark.parametrize("text", HARD)
def test_the_work_of_the_stand_in_grows_with_the_length_of_the_message(text: str):
    for order in ORDERS:
        small, large = (work_of(order + HARD[text](size)) for size in (4_000, 32_000))
        assert large <= 12 * small + 1_000, order
        assert large <= 40 * 32_000, order


def test_more_than_the_longest_message_is_not_looked_at():
    assert work_of("Summarise:\n\n" + "An A. " * LONGEST) <= 1.1 * work_of(
        ("Summarise:\n\n" + "An A. " * LONGEST)[:LONGEST]
    )


@given(st.text(st.sampled_from("a\u0301\u0316\u1dce\u0334\u0344é가ﬁ"), max_size=50))
def test_no_run_of_accents_is_sorted(text: str):
    import unicodedata

    bare = without_marks(text)
    assert not any(map(unicodedata.combining, bare))
    longest = max((len(unicodedata.normalize("NFKD", each)) for each in bare), default=0)
    runs = re.findall(r"[\u0300-\u036f\u1dc0-\u1dff]+", unicodedata.normalize("NFKD", bare))
    assert all(len(run) < longest for run in runs), "each is of one character"
    assert words(text) == words(bare)
