"""Each provider, through its real client library, against a server that speaks its wire format."""

from __future__ import annotations

import json

import pytest
from model.servers import ANSWER, AnthropicWire, GoogleWire, OpenAIWire, answer, body, fail, serving

from mlagentbench.model import Message, RefusedError, Sampling, Tool, ToolCall, UnavailableError

HELLO = [Message(role="system", content="Be brief."), Message(role="user", content="Say hello.")]
TOOL = Tool(
    name="List Files",
    description="List what is in a folder.",
    parameters={"type": "object", "properties": {"dir_path": {"type": "string"}}, "required": ["dir_path"]},
)
CALLED = [
    Message(role="user", content="Look around."),
    Message(
        role="assistant",
        content="I look.",
        tool_calls=(
            ToolCall(id="c1", name="List Files", arguments='{"dir_path": "."}'),
            ToolCall(id="c2", name="List Files", arguments='{"dir_path": '),
        ),
    ),
    Message(role="tool", content="train.py", tool_call_id="c1"),
    Message(role="tool", content="That is not JSON.", tool_call_id="c2"),
]


def test_a_completion_has_text_usage_and_the_providers_name_of_the_model(server, connect):
    completion = connect(server).complete(HELLO, Sampling())
    assert completion.text == ANSWER
    assert completion.stop_reason == "stop"
    usage = completion.usage
    assert (usage.input, usage.output, usage.cached, usage.reasoning) == (120, 30, 100, 20)
    assert completion.model.startswith(("gpt-test-2026", "claude-test-2026", "gemini-test-001"))
    assert completion.latency > 0
    assert completion.waited == pytest.approx(0, abs=0.01)
    assert completion.retries == ()


def test_every_provider_gets_the_same_budget_and_settings(connect):
    sampling = Sampling(max_tokens=1234, temperature=0.37, stop=("Observation:",), seed=7)
    seen = {}
    for wire in (OpenAIWire(), AnthropicWire(), GoogleWire()):
        with serving(wire) as server:
            completion = connect(server).complete(HELLO, sampling)
            seen[wire.provider] = wire.seen(server.asked[-1].body), completion.notes
    same = {"budget": 1234, "temperature": 0.37, "stop": ["Observation:"], "seed": 7}
    assert seen["openai"] == (same, ())
    assert seen["google"] == (same, ())
    assert seen["anthropic"][0] == same | {"seed": None}
    assert any("Seed 7 was left out" in note for note in seen["anthropic"][1])


@pytest.mark.parametrize("provider", ["ollama", "vllm", "llamacpp", "together", "openrouter"])
def test_servers_that_speak_chat_completions_get_the_same_too(provider, connect, monkeypatch):
    with serving(OpenAIWire()) as server:
        monkeypatch.setenv(f"{provider.upper()}_BASE_URL", server.url)
        model = connect(server, f"{provider}/some/model:7b", base_url=None)
        completion = model.complete(HELLO, Sampling(max_tokens=99, temperature=0.1, stop=("X",), seed=3))
        sent = server.asked[-1].body
    assert (sent["max_tokens"], sent["temperature"], sent["stop"], sent["seed"]) == (99, 0.1, ["X"], 3)
    assert sent["model"] == "some/model:7b"
    assert completion.model == "gpt-test-2026-01-01"


def test_a_temperature_of_none_is_not_sent(server, connect):
    connect(server).complete(HELLO, Sampling(temperature=None))
    assert server.wire.seen(server.asked[-1].body)["temperature"] is None


def test_extra_settings_are_put_into_the_request(server, connect):
    connect(server, extra={"custom_setting": {"level": 3}}).complete(HELLO, Sampling())
    assert server.asked[-1].body["custom_setting"] == {"level": 3}


def test_a_text_is_cut_at_a_stop_sequence_that_the_server_ignored(server, connect):
    server.does(answer("Action: list\nObservation: made up"))
    completion = connect(server).complete(HELLO, Sampling(stop=("Observation:",)))
    assert completion.text == "Action: list\n"


def test_tool_calls_go_out_and_come_back_under_the_names_of_actions(connect):
    replies = {
        "openai": OpenAIWire().reply("")
        | {
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {
                        "role": "assistant",
                        "content": None,
                        "tool_calls": [
                            {
                                "id": "x1",
                                "type": "function",
                                "function": {"name": "List_Files", "arguments": '{"dir_path": "sub"}'},
                            }
                        ],
                    },
                }
            ]
        },
        "anthropic": AnthropicWire().reply("")
        | {
            "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": "x1", "name": "List_Files", "input": {"dir_path": "sub"}}],
        },
        "google": GoogleWire().reply("")
        | {
            "candidates": [
                {
                    "finishReason": "STOP",
                    "content": {
                        "role": "model",
                        "parts": [
                            {
                                "functionCall": {
                                    "id": "x1",
                                    "name": "List_Files",
                                    "args": {"dir_path": "sub"},
                                },
                                "thoughtSignature": "c2lnbmVk",
                            }
                        ],
                    },
                }
            ]
        },
    }
    for wire in (OpenAIWire(), AnthropicWire(), GoogleWire()):
        with serving(wire) as server:
            server.does(body(replies[wire.provider]))
            completion = connect(server).complete(CALLED, Sampling(), [TOOL])
            assert "List_Files" in json.dumps(server.asked[-1].body)
            assert "List Files" not in json.dumps(server.asked[-1].body)
        (call,) = completion.tool_calls
        assert (call.id, call.name, json.loads(call.arguments)) == ("x1", "List Files", {"dir_path": "sub"})
        assert completion.stop_reason == "tool_calls"
        assert call.signature == ("c2lnbmVk" if wire.provider == "google" else "")


def test_answers_to_calls_that_were_made_together_are_in_one_turn(connect):
    with serving(AnthropicWire()) as server:
        connect(server).complete(CALLED, Sampling(), [TOOL])
        turns = server.asked[-1].body["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert [block["type"] for block in turns[1]["content"]] == ["text", "tool_use", "tool_use"]
    assert turns[1]["content"][2]["input"] == {"arguments": '{"dir_path": '}
    assert [block["tool_use_id"] for block in turns[2]["content"]] == ["c1", "c2"]


def test_a_signature_goes_back_to_google_as_it_came_and_a_lost_one_is_said_to_be_lost(connect):
    signed = ToolCall(id="c1", name="List Files", arguments="{}", signature="c2lnbmVk")
    history = [
        Message(role="user", content="Look."),
        Message(role="assistant", content="", tool_calls=(signed,)),
        Message(role="tool", content="train.py", tool_call_id="c1"),
    ]
    lost = [
        history[0],
        history[1].model_copy(update={"tool_calls": (signed.model_copy(update={"signature": ""}),)}),
    ]
    with serving(GoogleWire()) as server:
        model = connect(server)
        model.complete(history, Sampling(), [TOOL])
        model.complete([*lost, history[2]], Sampling(), [TOOL])
        connect(server, "google/gemini-2.5-flash").complete([*lost, history[2]], Sampling(), [TOOL])
        calls = [asked.body["contents"][1]["parts"][0] for asked in server.asked]
    assert calls[0]["thoughtSignature"] == "c2lnbmVk"
    assert calls[1]["thoughtSignature"] != "c2lnbmVk"
    assert "thoughtSignature" not in calls[2]


def test_the_constant_part_of_the_prompt_is_cached_at_anthropic(connect):
    with serving(AnthropicWire()) as server:
        model = connect(server)
        model.complete(HELLO, Sampling(), [TOOL])
        model.complete(HELLO[1:], Sampling(), [TOOL])
        with_system, without = (asked.body for asked in server.asked)
    assert with_system["system"] == [
        {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    ]
    assert "cache_control" not in json.dumps(with_system["messages"])
    assert without["tools"][-1]["cache_control"] == {"type": "ephemeral"}


def test_a_json_schema_is_sent_where_it_is_understood(server, connect):
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    connect(server).complete(HELLO, Sampling(json_schema=schema))
    sent = server.asked[-1].body
    where = {
        "openai": lambda: sent["response_format"]["json_schema"]["schema"],
        "anthropic": lambda: sent["output_config"]["format"]["schema"],
        "google": lambda: sent["generationConfig"]["responseJsonSchema"],
    }
    assert where[server.wire.provider]() == schema
    if server.wire.provider == "openai":
        assert sent["response_format"]["json_schema"]["strict"] is True


REFUSALS = {
    "openai": (
        "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is "
        "supported.",
        "Unsupported parameter: 'stop' is not supported with this model.",
    ),
    "anthropic": (
        "`temperature` is deprecated for this model.",
        "stop_sequences: Extra inputs are not permitted",
    ),
    "google": (
        "temperature is not supported for this model.",
        "Invalid value: stop_sequences is not supported by this model.",
    ),
}


def test_a_model_that_refuses_temperature_and_stop_is_asked_without_and_it_is_noted(server, connect):
    no_temperature, no_stop = REFUSALS[server.wire.provider]
    server.does(fail(400, no_temperature), fail(400, no_stop), answer("Action: x\nObservation: y"))
    model = connect(server)
    first = model.complete(HELLO, Sampling(stop=("Observation:",)))
    assert first.text == "Action: x\n"
    assert [note.partition(":")[0] for note in first.notes] == [
        "Temperature 0.5 was left out",
        "Stop sequences were applied here",
    ]
    assert len(server.asked) == 3
    again = model.complete(HELLO, Sampling(stop=("Observation:",)))
    assert len(server.asked) == 4, "what a model refuses is remembered"
    assert again.notes == first.notes
    seen = server.wire.seen(server.asked[-1].body)
    assert (seen["temperature"], seen["stop"], seen["budget"]) == (None, None, 2000)


def test_claude_gets_a_temperature_in_the_version_of_the_api_that_has_one(connect):
    with serving(AnthropicWire()) as server:
        server.does(answer(), fail(400, "`temperature` is deprecated for this model."))
        model = connect(server)
        model.complete(HELLO, Sampling())
        model.complete(HELLO, Sampling())
        versions = [asked.headers["anthropic-version"] for asked in server.asked]
        temperatures = [asked.body.get("temperature") for asked in server.asked]
    assert temperatures == [0.5, 0.5, None]
    assert versions[:2] == ["2023-06-01", "2023-06-01"]
    assert versions[2] > "2023-06-01"


def test_the_budget_goes_under_the_name_that_the_model_takes(connect):
    swap = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with serving(OpenAIWire()) as server:
        server.does(fail(400, swap))
        model = connect(server)
        completion = model.complete(HELLO, Sampling(max_tokens=77))
        model.complete(HELLO, Sampling(max_tokens=77))
        budgets = [
            (b.get("max_tokens"), b.get("max_completion_tokens")) for b in (a.body for a in server.asked)
        ]
    assert budgets == [(77, None), (None, 77), (None, 77)]
    assert completion.notes == ()


def test_a_refusal_that_repeats_ends_in_an_error(server, connect):
    no_temperature, _ = REFUSALS[server.wire.provider]
    server.does(*[fail(400, no_temperature)] * 5)
    with pytest.raises(RefusedError):
        connect(server).complete(HELLO, Sampling())
    assert len(server.asked) == 2


def test_a_model_that_takes_no_tools_says_so_and_is_known_for_it(connect):
    with serving(OpenAIWire()) as server:
        server.does(fail(400, "registry.ollama.ai/library/gemma:2b does not support tools"))
        model = connect(server, "ollama/gemma:2b")
        assert model.speaks_tools
        with pytest.raises(RefusedError, match="text protocol"):
            model.complete(HELLO, Sampling(), [TOOL])
        assert not model.speaks_tools


ONE_CALL = {
    "openai": lambda sent: sent.get("parallel_tool_calls") is False,
    "anthropic": lambda sent: sent.get("tool_choice") == {"type": "auto", "disable_parallel_tool_use": True},
}


@pytest.mark.parametrize("wire", [OpenAIWire(), AnthropicWire()], ids=lambda wire: wire.provider)
def test_a_model_with_tools_is_told_to_call_one_at_a_time(wire, connect):
    told = ONE_CALL[wire.provider]
    with serving(wire) as server:
        model = connect(server)
        completion = model.complete(HELLO, Sampling(), [TOOL])
        model.complete(HELLO, Sampling())
        with_tools, without = (asked.body for asked in server.asked)
    assert told(with_tools)
    assert completion.notes == ()
    assert not {"parallel_tool_calls", "tool_choice"} & set(without), "APIs refuse it where there is no tool"


@pytest.mark.parametrize(
    ("wire", "status", "words"),
    [
        (OpenAIWire(), 400, "Unsupported parameter: 'parallel_tool_calls' is not supported with this model."),
        (OpenAIWire(), 400, "Unrecognized request argument supplied: parallel_tool_calls"),
        (OpenAIWire(), 400, 'Unknown name "parallel_tool_calls": Cannot find field.'),
        (OpenAIWire(), 422, "body.parallel_tool_calls: Extra inputs are not permitted"),
        (AnthropicWire(), 400, "tool_choice.disable_parallel_tool_use: Extra inputs are not permitted"),
    ],
)
def test_a_server_that_does_not_know_of_calls_at_a_time_is_asked_without(wire, status, words, connect):
    told = ONE_CALL[wire.provider]
    with serving(wire) as server:
        server.does(fail(status, words))
        model = connect(server)
        first = model.complete(HELLO, Sampling(), [TOOL])
        again = model.complete(HELLO, Sampling(), [TOOL])
        plain = model.complete(HELLO, Sampling())
        sent = [asked.body for asked in server.asked]
    assert [told(body) for body in sent] == [True, False, False, False]
    assert all(body["tools"] for body in sent[:3]), "the tools stay"
    assert model.speaks_tools
    assert first.text == ANSWER
    assert [note.partition(":")[0] for note in first.notes] == ["It was not told to call one tool at a time"]
    assert (again.notes, plain.notes) == (first.notes, ())


def test_the_user_may_let_a_model_call_several_tools(connect):
    with serving(OpenAIWire()) as server:
        connect(server, extra={"parallel_tool_calls": True}).complete(HELLO, Sampling(), [TOOL])
        assert server.asked[-1].body["parallel_tool_calls"] is True


def test_a_refused_answer_is_told_apart_from_an_error(connect):
    openai = OpenAIWire().reply()
    openai["choices"][0]["message"] = {
        "role": "assistant",
        "content": None,
        "refusal": "I cannot help with that.",
    }
    anthropic = AnthropicWire().reply() | {"stop_reason": "refusal", "content": []}
    google = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 3},
    }
    for wire, reply in ((OpenAIWire(), openai), (AnthropicWire(), anthropic), (GoogleWire(), google)):
        with serving(wire) as server:
            server.does(body(reply))
            assert connect(server).complete(HELLO, Sampling()).stop_reason == "refused"


def test_a_budget_used_up_by_hidden_reasoning_is_no_fault_and_is_explained(connect):
    anthropic = AnthropicWire().reply("")
    anthropic |= {
        "stop_reason": "max_tokens",
        "content": [{"type": "thinking", "thinking": "", "signature": "s"}],
    }
    with serving(AnthropicWire()) as server:
        server.does(body(anthropic))
        completion = connect(server).complete(HELLO, Sampling(temperature=None))
    assert (completion.text, completion.stop_reason) == ("", "length")
    assert "hidden reasoning" in completion.notes[-1]


def test_a_failure_inside_an_answer_of_200_is_a_failure(connect):
    with serving(OpenAIWire()) as server:
        server.does(body({"error": {"code": 502, "message": "Provider returned error"}}))
        with pytest.raises(UnavailableError, match="Provider returned error"):
            connect(server, "openrouter/x").complete(HELLO, Sampling())


def test_a_server_that_gives_the_bare_minimum_is_understood(connect):
    with serving(OpenAIWire()) as server:
        server.does(body({"choices": [{"message": {"content": "hi"}}]}))
        completion = connect(server, "llamacpp/mine").complete(HELLO, Sampling())
    assert (completion.text, completion.stop_reason, completion.model) == ("hi", "stop", "mine")


def test_more_stop_sequences_than_an_api_takes_are_applied_here(connect):
    stops = tuple("ABCDEFG")
    for wire, most in ((OpenAIWire(), 4), (GoogleWire(), 5), (AnthropicWire(), 7)):
        with serving(wire) as server:
            server.does(answer("text G more"))
            completion = connect(server).complete(HELLO, Sampling(stop=stops))
            assert wire.seen(server.asked[-1].body)["stop"] == list(stops[:most])
        assert completion.text == "text "
        assert any("stop sequences" in note for note in completion.notes) == (most < 7)
