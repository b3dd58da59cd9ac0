"""A model is tried before a run, and what is wrong with it is said within seconds; every long wait is shown."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from model.servers import OpenAIWire, Server, answer, body, empty, fail, page, redirect, serving
from support.providers import decision

from mlagentbench.record.events import LimitHit, ModelCalled, Note, RunStarted
from mlagentbench.record.folder import RunFolder

EXECUTE = answer(decision("Execute Script", script_name="train.py"))
SUBMIT = answer(decision("Final Answer", final_answer="Done."))


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(OpenAIWire()) as running:
        yield running


@pytest.fixture
def place(place):
    place.environment.update(OPENAI_API_KEY="sk-of-the-tests")
    return place


def arguments(place, url: str, *more: object, model: str = "openai/gpt-test") -> list[object]:
    return ["run", place.task, "-a", "react", "-m", model, "--base-url", url, *more]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def no_run(place) -> bool:
    return not list(Path(place.folder).glob("runs/*/*/*/*/run.json"))


def test_a_model_that_answers_is_tried_once_and_the_record_says_so(place, server):
    server.does(EXECUTE, SUBMIT)
    (made,) = place.json(*arguments(place, server.url))["runs"]
    assert (len(server.tried), len(server.asked)) == (1, 2)
    assert made["summary"]["model_calls"] == 2 and made["summary"]["tokens_in"] == 240
    events = RunFolder.open(made["folder"]).history().events
    assert isinstance(events[0], RunStarted) and isinstance(events[1], Note)
    assert "was tried before the run: 120 tokens in, 30 out" in events[1].text


def test_several_runs_of_one_command_try_their_model_once(place, server):
    server.does(SUBMIT, SUBMIT, SUBMIT)
    place(*arguments(place, server.url, "--runs", 3, "--max-steps", 1), status=1)
    assert (len(server.tried), len(server.asked)) == (1, 3)


def test_an_ollama_that_does_not_run_is_said_before_the_run(place):
    url = f"http://127.0.0.1:{free_port()}/v1"
    told = place(*arguments(place, url, model="ollama/qwen"), status=1).stderr
    assert "ollama/qwen cannot be reached at" in told and "Start it with `ollama serve`" in told
    assert no_run(place)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"), ("api.example.org/v1", "https://api.example.org/v1")],
)
def test_a_base_url_without_a_scheme_is_refused_with_the_right_one(place, given, meant):
    told = place(*arguments(place, given), status=2).stderr
    assert "must start with http:// or https://" in told and f"Write {meant}" in told
    assert no_run(place)
    place.environment["OLLAMA_BASE_URL"] = given
    told = place("run", place.task, "-a", "react", "-m", "ollama/qwen", status=2).stderr
    assert f"OLLAMA_BASE_URL '{given}'" in told and f"Write {meant}" in told


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (page, ("is no model", "Check the base URL", "/v1")),
        (empty, ("gives empty replies",)),
        (fail(401, "Wrong key."), ("OPENAI_API_KEY",)),
        (fail(404, "No such model."), ("Check the name of the model",)),
        (fail(429, "You exceeded your quota [insufficient_quota]"), ("wants to be paid",)),
        (redirect("https://example.org/v1"), ("another server", "--base-url")),
    ],
    ids=["page", "empty", "key", "name", "money", "redirect"],
)
def test_what_will_not_pass_by_itself_is_said_before_the_run(place, server, behaviour, words):
    server.in_trial = behaviour
    told = place(*arguments(place, server.url), status=1).stderr
    assert all(word in told for word in words), told
    assert (len(server.tried), len(server.asked)) == (1, 0) and no_run(place)


def test_what_may_pass_starts_the_run(place, server):
    server.in_trial = fail(503, "Loading the model.")
    server.does(EXECUTE, SUBMIT)
    (made,) = place.json(*arguments(place, server.url))["runs"]
    assert made["summary"]["ended"] == "submitted"
    note = RunFolder.open(made["folder"]).history().events[1]
    assert isinstance(note, Note) and "error that may pass" in note.text and "Loading the model" in note.text


def test_scripts_are_not_tried(place, tmp_path):
    script = tmp_path / "script.txt"
    script.write_text(decision("Final Answer", final_answer="Enough."))
    (made,) = place.json("run", place.task, "-a", "react", "-m", f"mock/{script}", status=1)["runs"]
    assert made["summary"]["model_calls"] == 1


def test_an_experiment_tries_each_model_once_and_not_each_run(place, server):
    plan = place.folder / "plan.yaml"
    model = {"model": "openai/gpt-test", "base_url": server.url}
    wanted = {"name": "tried", "tasks": [str(place.task)], "agents": ["react"], "models": [model], "runs": 3}
    wanted |= {"limits": {"steps": 1}, "references": []}
    plan.write_text(json.dumps(wanted))
    server.behaviours = iter([SUBMIT] * 3)
    place("experiment", plan)
    assert (len(server.tried), len(server.asked)) == (1, 3)
    server.in_trial = page
    plan.write_text(json.dumps(wanted | {"name": "again"}))
    told = place("experiment", plan, status=2)
    assert "is no model" in told.stdout + told.stderr
    assert (len(server.tried), len(server.asked)) == (2, 3)


def test_a_long_wait_says_for_what_and_how_long_and_keeps_out_of_json(place, server):
    server.does(fail(503, "Out of order.", Retry_After="3"), EXECUTE, SUBMIT)
    done = place(*arguments(place, server.url, "--json"))
    assert json.loads(done.stdout)["runs"][0]["summary"]["ended"] == "submitted"
    assert "Out of order" in done.stderr and "Asking again in 3.00 s" in done.stderr


def test_a_slow_reply_is_shown_and_bounded_by_the_time_of_the_run(place, server):
    """The server never answers the second call, and one reply has ten minutes."""

    def never(handler):
        handler.server_state.over.wait()
        handler.close_connection = True

    server.does(EXECUTE, never)
    done = place(*arguments(place, server.url, "--max-time", "15s", "--json"))
    (made,) = json.loads(done.stdout)["runs"]
    assert made["summary"]["ended"] == "limit" and made["summary"]["grade"]["valid"]
    assert "Waiting for openai/gpt-test to reply" in done.stderr
    events = RunFolder.open(made["folder"]).history().events
    assert [(event.name, event.value) for event in events if isinstance(event, LimitHit)] == [("time", 15)]
    last = [event for event in events if isinstance(event, ModelCalled)][-1]
    assert last.error_kind == "OverLimitError" and 0 < last.waited < 60
    assert made["summary"]["waited"] == pytest.approx(last.waited)


def test_replies_without_usage_hold_a_limit_on_tokens(place, server):
    reply = server.wire.reply(decision("List Files", dir_path="."))
    del reply["usage"]
    server.behaviours = iter([body(reply)] * 100)
    (made,) = place.json(*arguments(place, server.url, "--token-limit", 20_000), status=1)["runs"]
    assert made["summary"]["ended"] == "limit" and len(server.asked) < 30
    assert made["summary"]["tokens_in"] + made["summary"]["tokens_out"] <= 20_000


def test_a_run_is_resumed_or_forked_only_with_a_server_that_is_there(place, server):
    server.does(EXECUTE, *[fail(500, "Out of order.")] * 2)
    place(*arguments(place, server.url, "--model-retries", 1, "--model-patience", "0s"), status=1)
    asked = len(server.asked)
    server.in_trial = page
    for command in (("resume", "last"), ("fork", "last", "--step", 1)):
        assert "is no model" in place(*command, status=1).stderr
    assert len(server.asked) == asked
    assert len(list(Path(place.folder).glob("runs/*/*/*/*/run.json"))) == 1
    server.in_trial = answer("OK")
    server.does(SUBMIT)
    place("resume", "last")


def test_a_limit_on_cost_that_holds_nothing_is_said(place, server):
    server.does(EXECUTE, SUBMIT)
    told = place(*arguments(place, server.url, "--cost-limit", 1, "--json")).stderr
    assert "The price of openai/gpt-test is not known" in told and "--price" in told
