"""How models are called is said by flags, kept in the run, and holds when it is resumed or forked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from model.servers import OpenAIWire, Server, answer, fail, hang, serving
from support.providers import cache_with_shared_data, decision

from mlagentbench.record.events import ModelCalled
from mlagentbench.record.folder import RunFolder

KEY = {"OPENAI_API_KEY": "sk-of-the-tests"}
DEFAULTS = {"timeout": 600.0, "retries": 7, "patience": 900.0, "rpm": None, "tpm": None, "cache": False}


EXECUTE = answer(decision("Execute Script", script_name="train.py"))
SUBMIT = answer(decision("Final Answer", final_answer="Done."))
BROKEN = fail(500, "Out of order.")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(OpenAIWire()) as running:
        yield running


@pytest.fixture
def place(place, tmp_path):
    """With a key, and a cache whose data are the shared ones and whose answers and limits are its own."""
    own = cache_with_shared_data(Path(place.environment["MLAGENTBENCH_CACHE"]), tmp_path / "cache")
    place.environment.update(KEY, MLAGENTBENCH_CACHE=str(own))
    return place


def arguments(place, server: Server, *more: object) -> list[object]:
    return ["run", place.task, "-a", "react", "-m", "openai/gpt-test", "--base-url", server.url, *more]


def calls_of(folder: str | Path) -> dict[str, object]:
    return json.loads((Path(folder) / "run.json").read_text())["model_calls"]


def test_the_record_has_every_option_be_it_said_or_not(place, server):
    server.does(EXECUTE, SUBMIT)
    (plain,) = place.json(*arguments(place, server))["runs"]
    assert calls_of(plain["folder"]) == DEFAULTS
    server.does(EXECUTE, SUBMIT)
    place.environment["MLAGENTBENCH_MODEL_RETRIES"] = "3"
    flags = ("--model-timeout", "2m", "--model-patience", "30s", "--rpm", 50, "--tpm", 40_000)
    (said,) = place.json(*arguments(place, server, *flags, "--model-cache"))["runs"]
    expected = {"timeout": 120, "retries": 3, "patience": 30, "rpm": 50, "tpm": 40_000, "cache": True}
    assert calls_of(said["folder"]) == expected


def test_with_a_cache_the_same_run_asks_its_model_once(place, server):
    server.does(EXECUTE, EXECUTE)
    cached = arguments(place, server, "--max-steps", 1, "--model-cache")
    first = place.json(*cached)["runs"][0]["summary"]
    again = place.json(*cached)["runs"][0]["summary"]
    assert len(server.asked) == 1
    assert again["tokens_in"] == first["tokens_in"] > 0, "limits hold as they did"
    place(*cached[:-1])
    assert len(server.asked) == 2, "without the flag there is no cache"


def test_limits_a_minute_are_counted_where_all_runs_of_the_machine_see_them(place, server):
    for flag, counted in (("--rpm", {"requests"}), ("--tpm", {"requests", "tokens"})):
        server.does(EXECUTE)
        place(*arguments(place, server, "--max-steps", 1, flag, 1e6))
        (bucket,) = (Path(place.environment["MLAGENTBENCH_CACHE"]) / "limits").iterdir()
        assert set(json.loads(bucket.read_text())) == counted


def test_a_run_gives_up_as_it_was_told_and_a_resumed_one_does_unless_it_is_told_otherwise(place, server):
    def asked_by(*command: object, status: int) -> tuple[int, str]:
        before = len(server.asked)
        done = place(*command, status=status)
        return len(server.asked) - before, done.stderr

    server.does(EXECUTE, BROKEN, BROKEN)
    count, told = asked_by(
        *arguments(place, server, "--model-retries", 1, "--model-patience", "0s"), status=1
    )
    assert count == 3 and "Gave up after 2 requests" in told and "mlagentbench resume" in told
    server.does(BROKEN, BROKEN)
    count, told = asked_by("resume", "last", status=1)
    assert count == 2 and "Gave up after 2 requests" in told
    server.does(BROKEN, BROKEN, SUBMIT)
    count, told = asked_by("resume", "last", "--model-retries", 2, status=0)
    assert count == 3
    (run,) = place.json("list", "--runs")
    assert run["summary"]["ended"] == "submitted" and run["summary"]["failed_calls"] == 2
    events = RunFolder.open(run["folder"]).history().events
    failed = [event for event in events if isinstance(event, ModelCalled) and event.error]
    assert len(failed) == 2 and all(event.waited > 0 for event in failed), "calls that were given up"
    assert run["summary"]["waited"] > sum(event.waited for event in failed)
    assert calls_of(run["folder"])["retries"] == 1, "what was asked first stays as it was asked"


def test_a_reply_that_does_not_come_in_time_is_given_up(place, server):
    server.does(hang)
    told = place(*arguments(place, server, "--model-timeout", "300ms", "--model-retries", 0), status=1).stderr
    assert "did not answer" in told and "Gave up after one request" in told


def test_a_fork_calls_as_before_but_takes_no_server_to_another_provider(place, server):
    server.does(EXECUTE, SUBMIT)
    flags = (
        "--model-timeout",
        "1m",
        "--rpm",
        500,
        "--model-option",
        "top_p=0.5",
        "--price",
        "openai/gpt-test=1,2",
    )
    (first,) = place.json(*arguments(place, server, *flags))["runs"]
    assert server.asked[0].body["top_p"] == 0.5
    script = place.folder / "script.txt"
    script.write_text(decision("Final Answer", final_answer="Enough."))
    fork = ("fork", first["folder"], "--step", 1)
    (other,) = place.json(*fork, "-m", f"mock/{script}", "--model-retries", 2)["runs"]
    assert calls_of(other["folder"]) == DEFAULTS | {"timeout": 60, "rpm": 500, "retries": 2}
    request = json.loads((Path(other["folder"]) / "run.json").read_text())
    assert (request["base_url"], request["model_options"]) == ("", {})
    assert request["prices"] == {"openai/gpt-test": [1, 2]}
    server.does(SUBMIT)
    (same,) = place.json(*fork, "-m", "openai/gpt-other")["runs"]
    assert server.asked[-1].body["model"] == "gpt-other" and server.asked[-1].body["top_p"] == 0.5
    assert same["summary"]["ended"] == "submitted"


@pytest.mark.parametrize(
    ("flag", "value"), [("--rpm", 0), ("--tpm", -1), ("--model-retries", -1), ("--model-timeout", "soon")]
)
def test_what_cannot_be_is_refused(place, flag, value):
    assert flag in place("run", place.task, flag, value, status=2).stderr


def test_a_timeout_of_nothing_is_refused_in_words(place):
    assert "'timeout'" in place("run", place.task, "--model-timeout", "0s", status=2).stderr
