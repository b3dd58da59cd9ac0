"""Everything that can go wrong between us and a provider becomes the error that it is, and no key gets out."""

from __future__ import annotations

import itertools
import json
import pickle
import random
import time
import traceback
from email.utils import formatdate

import pytest
from model.conftest import CANARY
from model.servers import (
    TOO_LONG,
    GoogleWire,
    OpenAIWire,
    answer,
    cut,
    drip,
    empty,
    fail,
    half_json,
    hang,
    not_json,
    other_json,
    serving,
    stall,
    too_long,
)

from mlagentbench.model import (
    BadCredentialsError,
    Message,
    ModelError,
    Patience,
    RateLimitedError,
    RefusedError,
    Sampling,
    TooLongError,
    UnavailableError,
)
from mlagentbench.model.faults import Fault, error_of, retry_after

HELLO = [Message(role="user", content="Say hello.")]

PASSING = {
    "429 with Retry-After": fail(429, "Slow down.", Retry_After="2"),
    "429 without": fail(429, "Slow down."),
    "500": fail(500, "Internal error"),
    "503": fail(503, "No capacity"),
    "529": fail(529, "Overloaded"),
    "stall": stall,
    "drip": drip,
    "cut": cut,
    "half of the JSON": half_json,
    "hang": hang,
    "invalid JSON": not_json,
    "JSON of something else": other_json,
    "empty": empty,
}
ENDLESS = {"stall", "drip", "hang"}


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_may_pass_is_typed_as_such(fault, server, connect):
    server.does(PASSING[fault])
    with pytest.raises(RateLimitedError if fault.startswith("429") else UnavailableError) as caught:
        connect(server, timeout=0.3 if fault in ENDLESS else 10.0).complete(HELLO, Sampling())
    assert caught.value.transient
    assert server.wire.model in str(caught.value)


def test_what_the_provider_asks_us_to_wait_is_kept(server, connect):
    server.does(fail(429, "Slow down.", Retry_After="17"))
    with pytest.raises(RateLimitedError) as caught:
        connect(server).complete(HELLO, Sampling())
    assert caught.value.retry_after == 17


def test_googles_and_openais_other_ways_to_ask_for_a_wait_are_known(connect):
    with serving(GoogleWire()) as server:
        reply = server.wire.error(429, "Quota exceeded.")
        reply["error"]["details"] = [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "33.5s"}
        ]
        server.does(lambda handler: handler.send(429, json.dumps(reply).encode()))
        with pytest.raises(RateLimitedError) as caught:
            connect(server).complete(HELLO, Sampling())
        assert caught.value.retry_after == 33.5
    with serving(OpenAIWire()) as server:
        server.does(
            fail(429, "Rate limit reached. Please try again in 250ms."), fail(429, "x", retry_after_ms="1500")
        )
        model = connect(server)
        waits = []
        for _ in range(2):
            with pytest.raises(RateLimitedError) as caught:
                model.complete(HELLO, Sampling())
            waits.append(caught.value.retry_after)
        assert waits == [0.25, 1.5]


@pytest.mark.parametrize(("value", "seconds"), [("3", 3), ("0", 0), ("-1", 0), ("soon", None), (None, None)])
def test_retry_after_is_a_number_or_a_date(value, seconds):
    assert retry_after({} if value is None else {"retry-after": value}) == seconds
    assert retry_after({"retry-after": formatdate(time.time() + 90, usegmt=True)}) == pytest.approx(90, abs=5)


def test_a_prompt_that_is_too_long_is_known_by_the_providers_own_words(server, connect):
    server.does(too_long)
    with pytest.raises(TooLongError, match="token"):
        connect(server).complete(HELLO, Sampling())
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "words",
    [
        *[words for _, words in TOO_LONG.values()],
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "You passed 1015 input tokens and requested 10 output tokens. However, the model's context length is only "
        "1024 tokens, resulting in a maximum input length of 1014 tokens.",
        "the request exceeds the available context size. try increasing the context size or enable context shift",
        "input length and `max_tokens` exceed context limit: 199000 + 4000 > 200000",
    ],
)
def test_other_words_for_too_long(words):
    assert type(error_of(Fault(words, 400), "x/y", "KEY")) is TooLongError


def test_a_rate_limit_that_speaks_of_tokens_is_no_prompt_that_is_too_long(server, connect):
    server.does(fail(429, "Request too large: maximum context length on tokens per min (TPM): Limit 30000."))
    with pytest.raises(RateLimitedError):
        connect(server).complete(HELLO, Sampling())


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_told_with_the_variable_that_holds_it(status, server, connect):
    server.does(fail(status, f"Incorrect API key provided: {CANARY}."))
    with pytest.raises(BadCredentialsError) as caught:
        connect(server).complete(HELLO, Sampling())
    assert server.wire.key_variable in str(caught.value)


def test_googles_way_to_refuse_a_key_is_known():
    error = error_of(
        Fault("API key not valid. Please pass a valid API key.", 400), "google/x", "GEMINI_API_KEY"
    )
    assert type(error) is BadCredentialsError


def test_a_model_that_does_not_exist_is_refused_with_what_to_check(server, connect):
    server.does(fail(404, "The model does not exist."))
    with pytest.raises(RefusedError, match="Check the name of the model"):
        connect(server).complete(HELLO, Sampling())


def test_an_account_without_money_is_not_asked_again():
    for status, words in ((429, "You exceeded your quota [insufficient_quota]"), (402, "Payment required")):
        assert type(error_of(Fault(words, status), "x/y", "KEY")) is RefusedError


def test_a_server_that_is_not_there_is_unavailable(server, connect):
    model = connect(server, base_url="http://127.0.0.1:9")
    with pytest.raises(UnavailableError, match="did not answer"):
        model.complete(HELLO, Sampling())


EVERYTHING = [
    *PASSING.values(),
    too_long,
    *(fail(status, f"No: {CANARY}, see ?key={CANARY}") for status in (400, 401)),
]


def test_no_key_is_in_any_error_nor_in_what_is_printed_of_it(server, connect):
    for behaviour in EVERYTHING:
        server.does(behaviour)
        model = connect(server, timeout=0.3)
        with pytest.raises(ModelError) as caught:
            model.complete(HELLO, Sampling())
        shown = (
            "".join(traceback.format_exception(caught.value)) + repr(caught.value) + repr(vars(caught.value))
        )
        assert CANARY not in shown
        assert CANARY.encode() not in pickle.dumps(caught.value)
        assert CANARY not in repr(model) + repr(model.inner) + repr(vars(model.inner))
    assert all(CANARY in str(asked.headers) for asked in server.asked), "the canary is the key that is sent"


def test_thirty_calls_against_a_server_that_fails_a_third_of_requests_all_finish(server, connect, naps):
    chance = random.Random(20)
    faults = itertools.cycle(PASSING.values())
    expected = []

    def behaviours():
        while True:
            failing = chance.random() < 0.3
            expected.append(failing)
            yield next(faults) if failing else answer()

    server.behaviours = behaviours()
    model = connect(server, patience=Patience(), timeout=2.0)
    completions = [model.complete(HELLO, Sampling()) for _ in range(30)]
    while sum(expected) < len(PASSING):
        completions.append(model.complete(HELLO, Sampling()))
    failed = sum(expected)
    assert len(server.asked) == len(completions) + failed
    assert sum(len(completion.retries) for completion in completions) == failed == len(naps.taken)
    assert all(completion.text for completion in completions)
    for completion in completions:
        assert (completion.waited > 0) == bool(completion.retries)
        assert completion.latency < 2.0
    told = " ".join(retry for completion in completions for retry in completion.retries)
    for word in (
        "429",
        "500",
        "503",
        "529",
        "empty",
        "not JSON" if server.wire.provider == "openai" else "sent",
    ):
        assert word in told
