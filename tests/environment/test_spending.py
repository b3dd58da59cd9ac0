"""Limits on tokens, cost and time hold for every call of a model, however many are made at once."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.acting import events_of

from mlagentbench import Action, Environment, make
from mlagentbench.environment.ledger import Ledger
from mlagentbench.environment.models import ModelChoice
from mlagentbench.errors import RunOverError
from mlagentbench.model.errors import OverLimitError
from mlagentbench.model.spec import Completion, Message, Request, Sampling, Tool, Usage
from mlagentbench.record.events import LimitHit, ModelCalled, RunEnded
from mlagentbench.record.grades import read_grades


class Wordy:
    """A model that uses its whole budget each time, and counts its prompt as a server would."""

    name = "wordy/model"
    speaks_tools = False

    def __init__(self) -> None:
        self.budgets: list[int] = []
        self.at_once = 0
        self.most_at_once = 0
        self.usage: Usage | None = None
        self.hangs: threading.Event | None = None
        self._lock = threading.Lock()

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        with self._lock:
            self.budgets.append(sampling.max_tokens)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        if self.hangs is not None:
            self.hangs.wait()
        asked = sum(len(message.content) for message in messages) // 4
        with self._lock:
            self.at_once -= 1
        return Completion(
            text="word " * sampling.max_tokens,
            usage=self.usage or Usage(input=asked, output=sampling.max_tokens),
            stop_reason="length",
            model="wordy",
            latency=0.0,
        )


PRICES = {"wordy/model": (1.0, 4.0)}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Wordy:
    wordy = Wordy()
    monkeypatch.setattr(ModelChoice, "_load", lambda self, name: wordy)
    return wordy


@pytest.fixture
def opened(tiny_task: Path, runs: Path, model: Wordy) -> Iterator[Callable[..., Environment]]:
    made: list[Environment] = []

    def start(**limits: Any) -> Environment:
        models = ModelChoice(act="wordy/model", prices=PRICES)
        made.append(make(tiny_task, runs=runs, models=models, limits=limits))
        made[-1].reset()
        return made[-1]

    yield start
    for env in made:
        env.suspend()


def asked(text: str = "What now?") -> list[Message]:
    return [Message(role="user", content=text)]


def calls(env: Environment) -> list[ModelCalled]:
    return [event for event in events_of(env.folder.path) if isinstance(event, ModelCalled)]


def used(env: Environment) -> int:
    return sum(c.completion.usage.input + c.completion.usage.output for c in calls(env) if c.completion)


def test_the_last_call_gets_the_budget_that_is_left_and_then_the_run_is_over(
    opened: Callable[..., Environment], model: Wordy
) -> None:
    env = opened(tokens=250)
    for _ in range(2):
        env.complete(asked("x" * 40), Sampling(max_tokens=100))
    last = env.complete(asked("x" * 40), Sampling(max_tokens=100))
    assert model.budgets == [100, 100, 20] and used(env) == 250
    assert "The run's limits left 20 of the 100 output tokens that were asked for." in last.notes
    assert env.done and env.truncated
    with pytest.raises(RunOverError, match="limit of 250 tokens"):
        env.complete(asked())
    assert len(model.budgets) == 3


def test_a_call_whose_prompt_does_not_fit_is_not_made_and_ends_the_run(
    opened: Callable[..., Environment], model: Wordy
) -> None:
    env = opened(tokens=1000)
    with pytest.raises(RunOverError, match="leaves 1000, and the prompt alone needs about 1000"):
        env.complete(asked("x" * 4000))
    assert model.budgets == [] and calls(env) == []
    assert env.done and env.truncated
    assert [(e.name, e.value) for e in events_of(env.folder.path) if isinstance(e, LimitHit)] == [
        ("tokens", 1000)
    ]


def test_money_is_reserved_by_its_price(opened: Callable[..., Environment], model: Wordy) -> None:
    env = opened(cost=0.001)  # 10 tokens in and 247 out
    env.complete(asked("x" * 40), Sampling(max_tokens=200))
    env.complete(asked("x" * 40), Sampling(max_tokens=200))
    assert model.budgets == [200, 45]
    assert sum(call.cost or 0 for call in calls(env)) <= 0.001
    with pytest.raises(RunOverError, match=r"limit of 0\.001 dollars"):
        env.complete(asked("x" * 40), Sampling(max_tokens=200))
    assert env.truncated


def test_a_file_of_many_parts_is_read_only_as_far_as_the_limit_goes(
    opened: Callable[..., Environment], model: Wordy
) -> None:
    env = opened(cost=0.05)
    env.step(Action("Write File", {"file_name": "long.txt", "content": "many words " * 90_000}))
    told = env.step(Action("Understand File", {"file_name": "long.txt", "things_to_look_for": "words"}))
    assert not told.ok and "limit of 0.05 dollars" in told.text
    spent = sum(call.cost or 0 for call in calls(env))
    assert 0.02 < spent <= 0.05
    assert len(model.budgets) == len(calls(env)) < 10


def test_replies_without_a_count_of_tokens_hold_the_limit_too(
    opened: Callable[..., Environment], model: Wordy
) -> None:
    env = opened(tokens=500)
    model.usage = Usage()
    for _ in range(50):
        if env.done:
            break
        env.complete(asked(), Sampling(max_tokens=100))
    assert env.truncated and len(model.budgets) < 6
    assert all(call.completion and call.completion.usage.estimated for call in calls(env))
    assert used(env) <= 500 + 125 + 3


def test_counts_below_zero_lower_no_total(opened: Callable[..., Environment], model: Wordy) -> None:
    env = opened(tokens=10_000)
    model.usage = Usage(input=-5000, output=-5000)
    before = 0
    for _ in range(3):
        env.complete(asked(), Sampling(max_tokens=100))
        assert used(env) > before
        before = used(env)


def test_a_reply_that_does_not_come_in_the_runs_time_is_not_waited_for(
    opened: Callable[..., Environment], model: Wordy
) -> None:
    env = opened(time=1.0)
    model.hangs = threading.Event()
    with pytest.raises(RunOverError, match=r"time of 1\.00 s was over before wordy/model had replied"):
        env.complete(asked())
    assert env.done and env.truncated
    folder = env.folder
    (call,) = calls(env)
    assert call.error_kind == "OverLimitError" and call.waited > 0
    env.close()
    model.hangs.set()
    ended = events_of(folder.path)[-1]
    assert isinstance(ended, RunEnded) and ended.reason == "limit"
    assert ended.snapshot in read_grades(folder)


def request(prompt: int, output: int) -> Request:
    return Request(messages=tuple(asked("x" * 4 * prompt)), sampling=Sampling(max_tokens=output))


@given(
    limit=st.integers(100, 20_000),
    wanted=st.lists(st.tuples(st.integers(1, 2_000), st.integers(1, 2_000)), min_size=2, max_size=12),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=40)
def test_calls_side_by_side_pass_a_limit_by_one_reply_at_most(
    limit: int, wanted: list[tuple[int, int]], seed: int
) -> None:
    """Each uses up to twice the prompt that was estimated, and up to the budget that it got."""
    ledger = Ledger(limit, None, lambda model, usage: None)
    chance = random.Random(seed)
    over: list[int] = []

    def call(each: tuple[int, int]) -> None:
        asked_for = request(*each)
        try:
            with ledger.reserve("x/y", asked_for, None) as reserved:
                usage = Usage(
                    input=int(each[0] * chance.uniform(0.5, 2)), output=chance.randint(1, reserved.output)
                )
                ledger.count(usage, None)
                ledger.kept(reserved, usage)
                if ledger.tokens > limit:
                    over.append(usage.input + usage.output)
        except OverLimitError:
            pass

    with ThreadPoolExecutor(len(wanted)) as pool:
        list(pool.map(call, wanted))
    assert len(over) <= 1 and ledger.tokens <= limit + sum(over)


def test_a_server_that_does_not_keep_to_budgets_is_asked_by_one_call_at_a_time() -> None:
    ledger = Ledger(1_000_000, None, lambda model, usage: None)
    most, now, lock = [0], [0], threading.Lock()

    def call(number: int) -> None:
        with ledger.reserve("x/y", request(10, 100), None) as reserved:
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            usage = Usage(input=10, output=5_000)
            ledger.count(usage, None)
            ledger.kept(reserved, usage)
            with lock:
                now[0] -= 1

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(200)))
    assert most == [1]


def test_calls_that_fit_are_made_side_by_side(opened: Callable[..., Environment], model: Wordy) -> None:
    env = opened(tokens=1_000_000)
    env.complete(asked(), Sampling(max_tokens=10))
    model.hangs = threading.Event()
    with ThreadPoolExecutor(4) as pool:
        made = [pool.submit(env.complete, asked(f"{n}"), Sampling(max_tokens=10)) for n in range(4)]
        while model.at_once < 4:
            assert not any(each.done() for each in made)
        model.hangs.set()
    assert model.most_at_once == 4
