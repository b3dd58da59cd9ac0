"""A whole run against a provider that fails three requests of ten, in every way that providers fail."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

from model.servers import (
    Behaviour,
    OpenAIWire,
    answer,
    cut,
    empty,
    fail,
    half_json,
    hang,
    not_json,
    serving,
    stall,
)
from support.providers import decision

from mlagentbench.record.events import ModelCalled
from mlagentbench.record.folder import RunFolder

STEPS = 30
TIMEOUT = 4.0
"""Seconds; long enough for a good answer on a busy machine, since two faults last as long as this."""
ASKED_TO_WAIT = 1.0

FAULTS: dict[str, tuple[Behaviour, str]] = {
    "429 with Retry-After": (
        fail(429, "Slow down, please.", Retry_After=f"{ASKED_TO_WAIT:g}"),
        "Slow down, please",
    ),
    "429": (fail(429, "Too many."), "limiting the rate (429): Too many"),
    "500": (fail(500, "Out of order."), "is failing (500)"),
    "529": (fail(529, "Overloaded."), "is failing (529)"),
    "stall": (stall, "did not answer"),
    "cut": (cut, "did not answer"),
    "half of the JSON": (half_json, "not JSON, perhaps cut off"),
    "hang": (hang, "did not answer"),
    "invalid JSON": (not_json, "not JSON, perhaps cut off"),
    "empty": (empty, "gave an empty completion"),
}
"""What a server does wrong, and the words of the record for it."""
ENDLESS = {"stall", "hang"}
FAILING = {1, 4, 7}
"""Of every ten requests."""


class Plan:
    """What the server does, request by request: three of ten fail, each time in the next way."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self._ways = itertools.cycle(FAULTS)

    def __iter__(self) -> Iterator[Behaviour]:
        good = itertools.chain(
            [answer(decision("Execute Script", script_name="train.py"))],
            itertools.repeat(answer(decision("List Files", dir_path="."))),
        )
        for number in itertools.count():
            if number % 10 in FAILING:
                self.failed.append(next(self._ways))
                yield FAULTS[self.failed[-1]][0]
            else:
                yield next(good)


def test_a_run_of_thirty_steps_finishes_with_each_retry_in_its_record_and_the_waiting_apart(place):
    place.environment["OPENAI_API_KEY"] = "sk-of-the-tests"
    plan = Plan()
    with serving(OpenAIWire()) as server:
        server.behaviours = iter(plan)
        told = place.json(
            *("run", place.task, "-a", "react", "-m", "openai/gpt-test", "--base-url", server.url),
            *("--max-steps", STEPS, "--model-timeout", f"{TIMEOUT}s", "--model-patience", "6s"),
        )
    (run,) = told["runs"]
    summary = run["summary"]
    assert (summary["ended"], summary["steps"]) == ("limit", STEPS)
    assert summary["grade"]["valid"]
    assert (summary["model_calls"], summary["failed_calls"]) == (STEPS, 0)

    events = RunFolder.open(Path(run["folder"])).history().events
    calls = [event.completion for event in events if isinstance(event, ModelCalled) and event.completion]
    retries = [reason for call in calls for reason in call.retries]
    assert len(server.asked) == len(calls) + len(retries), "no request is missing from the record"
    assert set(plan.failed) == set(FAULTS)
    assert 0.25 < len(plan.failed) / len(server.asked) < 0.35
    told_in_order = iter(retries)
    for fault in plan.failed:
        assert any(FAULTS[fault][1] in reason for reason in told_in_order), f"{fault} is not in {retries}"

    for call in calls:
        assert (call.waited > 0) == bool(call.retries)
    assert summary["waited"] == sum(call.waited for call in calls)
    assert summary["model_seconds"] == sum(call.latency for call in calls)
    least = TIMEOUT * sum(fault in ENDLESS for fault in plan.failed)
    least += ASKED_TO_WAIT * plan.failed.count("429 with Retry-After")
    assert summary["waited"] > least
