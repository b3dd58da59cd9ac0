"""What a server sends is bounded in size, and what we send goes to no other server."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model.servers import OpenAIWire, answer, body, endless, fail, packed, redirect, serving

from mlagentbench.model import Message, ModelError, Patience, RateLimitedError, Sampling, UnavailableError
from mlagentbench.model.bounds import SHORTEST_BOUND, bounded
from mlagentbench.model.errors import LONGEST_WAIT, UnusableReplyError
from mlagentbench.model.faults import Fault, asked_to_wait, error_of, retry_after
from mlagentbench.model.http_client import LARGEST_ERROR, LARGEST_REPLY
from mlagentbench.model.retrying import Retrying
from mlagentbench.model.spec import Completion, ToolCall, Usage

HELLO = [Message(role="user", content="Say hello to everybody.")]


def test_a_reply_without_end_is_refused_and_not_asked_for_again(server, connect):
    sent: list[int] = []
    server.does(endless(200, sent=sent))
    model = connect(server, patience=Patience(), timeout=60.0)
    with pytest.raises(UnusableReplyError, match="more than 32 MB"):
        model.complete(HELLO, Sampling())
    assert len(server.asked) == 1
    assert sent[0] < 3 * LARGEST_REPLY / 1e6


def test_only_the_beginning_of_an_error_page_is_read(server, connect):
    sent: list[int] = []
    server.does(endless(500, sent=sent))
    with pytest.raises(UnavailableError, match="500") as caught:
        connect(server, timeout=60.0).complete(HELLO, Sampling())
    assert len(str(caught.value)) < 1_000
    assert sent[0] < 100, "megabytes that the sockets took before the connection was closed"


def test_a_small_reply_that_unpacks_to_a_huge_one_is_refused_before_it_is_in_memory(server, connect):
    bomb = gzip.compress(b" " * (10 * LARGEST_REPLY))
    assert len(bomb) < LARGEST_ERROR * 10
    model = connect(server, timeout=60.0)
    server.does(answer(), packed(bomb), packed(gzip.compress(bomb), "gzip, gzip"), packed(b"x", "br"))
    model.complete(HELLO, Sampling())
    tracemalloc.start()
    try:
        with pytest.raises(UnusableReplyError, match="more than 32 MB"):
            model.complete(HELLO, Sampling())
        assert tracemalloc.get_traced_memory()[1] < 3 * LARGEST_REPLY
    finally:
        tracemalloc.stop()
    for named in ("gzip, gzip", "br"):
        with pytest.raises(UnusableReplyError, match=f"packed as '{named}'"):
            model.complete(HELLO, Sampling())


def test_packed_replies_and_errors_are_read(server, connect):
    reply = json.dumps(server.wire.reply("Packed.")).encode()
    wrong = json.dumps(server.wire.error(500, "Out of order.")).encode()
    two = gzip.compress(reply[:10]) + gzip.compress(reply[10:])
    server.does(
        packed(gzip.compress(reply)),
        packed(zlib.compress(reply), "deflate"),
        packed(two),
        packed(gzip.compress(wrong), status=500),
        packed(b"not packed"),
    )
    model = connect(server)
    assert [model.complete(HELLO, Sampling()).text for _ in range(3)] == ["Packed."] * 3
    with pytest.raises(UnavailableError, match=r"Out of order"):
        model.complete(HELLO, Sampling())
    with pytest.raises(UnavailableError):
        model.complete(HELLO, Sampling())


def test_a_prompt_and_its_key_are_sent_to_no_other_server(server, connect):
    with serving(server.wire) as other:
        server.does(redirect(f"{other.url}/elsewhere"), redirect("https://127.0.0.1/v1"))
        model = connect(server, patience=Patience())
        with pytest.raises(UnusableReplyError, match=r"another server.*--base-url"):
            model.complete(HELLO, Sampling())
        with pytest.raises(UnusableReplyError, match=r"https://127\.0\.0\.1:443"):
            model.complete(HELLO, Sampling())
        assert other.asked == []
    assert len(server.asked) == 2


def test_a_redirect_within_the_server_is_followed(server, connect):
    server.does(redirect("/another/path"), answer("There."))
    assert connect(server).complete(HELLO, Sampling()).text == "There."
    assert server.asked[1].path == "/another/path"


def test_a_text_far_beyond_its_budget_is_cut_with_a_note(server, connect):
    server.does(answer("word " * 200_000))
    completion = connect(server).complete(HELLO, Sampling(max_tokens=50))
    assert len(completion.text) == SHORTEST_BOUND and completion.stop_reason == "length"
    assert any("does not keep to the budget" in note for note in completion.notes)


def test_calls_far_beyond_their_budget_are_refused():
    call = ToolCall(id="1", name="Write File", arguments="x" * 1_000_000)
    made = Completion(
        text="", tool_calls=(call,), usage=Usage(), stop_reason="tool_calls", model="m", latency=0
    )
    with pytest.raises(UnusableReplyError, match="keeps to the budget"):
        bounded(made, HELLO, Sampling())


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, (6, 2)),
        ({}, (6, 2)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, (6, 2)),
        ({"prompt_tokens": -500, "completion_tokens": -20}, (6, 2)),
        ({"prompt_tokens": 40}, (40, 2)),
        ({"prompt_tokens": 40, "completion_tokens": 10**15}, (40, 2)),
        ({"prompt_tokens": 40, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": -9}}, (40, 3)),
    ],
)  # fmt: skip
def test_tokens_that_a_server_does_not_count_or_counts_wrongly_are_estimated(usage, expected, connect):
    with serving(OpenAIWire()) as server:
        reply = server.wire.reply("Hello!!")
        reply["usage"] = usage
        server.does(body(reply))
        completion = connect(server).complete(HELLO, Sampling())
    assert (completion.usage.input, completion.usage.output) == expected
    assert completion.usage.estimated and min(completion.usage.counts) >= 0
    assert any("count of tokens" in note for note in completion.notes)


def test_a_count_that_can_be_right_is_left_as_it_is(server, connect):
    completion = connect(server).complete(HELLO, Sampling())
    assert (completion.usage.input, completion.usage.output) == (120, 30)
    assert not completion.usage.estimated and not any("count" in note for note in completion.notes)


NUMBERS = st.sampled_from(
    ["inf", "-inf", "Infinity", "1e400", "-1e400", "nan", "-nan", "1e308", "-5", "0", "1_0", " 7 ", "9" * 400]
)
DATES = st.sampled_from(
    [
        "Fri, 31 Dec 9999 23:59:59 GMT",
        "Mon, 01 Jan 0001 00:00:00 GMT",
        "Mon, 01 Jan 0001 00:00:00 +2359",
        "Fri, 31 Dec 9999 23:59:59 -2359",
        "Fri, 31 Dec 9999 23:59:59 -0000",
        "Wed, 99 Foo 2026 77:99:99 GMT",
        "Wed, 18 Nov 2026 00:00:00 +99999999",
    ]
)
VALUES = NUMBERS | DATES | st.floats().map(str) | st.text(max_size=40)


@given(after=VALUES, milliseconds=VALUES | st.none(), words=VALUES)
def test_whatever_a_provider_asks_us_to_wait_is_bounded(after, milliseconds, words):
    headers = {"retry-after": after} | ({} if milliseconds is None else {"retry-after-ms": milliseconds})
    asked = asked_to_wait(f"Please try again in {words}s")
    for wait in (retry_after(headers), asked):
        error = error_of(Fault("Slow down.", 429, wait), "x/y", "KEY")
        assert error.retry_after is None or 0 <= error.retry_after <= LONGEST_WAIT
        naps: list[float] = []

        class Once:
            name, speaks_tools = "x/y", False
            failed = False

            def complete(self, messages, sampling, tools=(), error=error):
                if self.failed:
                    return Completion(text="x", usage=Usage(), stop_reason="stop", model="x", latency=0)
                self.failed = True
                raise error

        try:
            Retrying(Once(), sleep=naps.append).complete([], Sampling())
        except ModelError as stands:
            assert "asks to wait" in str(stands) and naps == []
        else:
            assert 0 < naps[0] <= Patience().longest_asked


@pytest.mark.parametrize("value", ["inf", "1e400", "nan", "-3", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_strange_wait_ends_no_run_with_a_defect(value, server, connect, naps):
    server.does(fail(429, "Slow down.", Retry_After=value))
    model = connect(server, patience=Patience())
    try:
        assert model.complete(HELLO, Sampling()).retries
    except RateLimitedError as error:
        assert "asks to wait" in str(error)


def test_a_thousand_retries_can_be_computed(naps):
    class Down:
        name, speaks_tools = "x/y", False

        def complete(self, messages, sampling, tools=()):
            raise UnavailableError("down")

    with pytest.raises(UnavailableError, match="after 2000 requests"):
        Retrying(Down(), Patience(attempts=2000, total=1e9), sleep=naps).complete([], Sampling())
