"""Requests and tokens a minute, kept together by all processes of a machine."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mlagentbench.model import (
    Message,
    MockModel,
    Rates,
    Sampling,
    Scripted,
    UnavailableError,
    Usage,
    load_model,
)
from mlagentbench.model.limiting import Bucket, Limited

HELLO = [Message(role="user", content="x" * 400)]


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def used(tokens: int) -> Scripted:
    return Scripted(text="ok", usage=Usage(input=tokens - 10, output=10))


def test_a_full_bucket_lets_a_burst_through_and_then_holds_the_rate(tmp_path):
    clock = Clock()
    bucket = Bucket(tmp_path / "b.json", Rates(requests=60), clock)
    assert [bucket.take(1, 0) for _ in range(60)] == [0.0] * 60
    assert bucket.take(1, 0) == pytest.approx(1.0)
    assert bucket.take(1, 0) == pytest.approx(2.0), "served in the order of taking"
    clock.now += 120
    assert bucket.take(1, 0) == 0


def test_tokens_are_estimated_and_then_corrected_by_what_the_provider_counted(tmp_path):
    clock = Clock()
    bucket = Bucket(tmp_path / "b.json", Rates(tokens=6000), clock)
    model = Limited(MockModel(lambda *_: used(200)), bucket, sleep=clock.sleep)
    for _ in range(6):
        assert model.complete(HELLO, Sampling(max_tokens=900)).waited == 0
    assert bucket.take(0, 6000 - 6 * 200) == pytest.approx(0, abs=1e-6)


def test_time_spent_on_the_limit_is_told_as_waiting(tmp_path):
    clock = Clock()
    bucket = Bucket(tmp_path / "b.json", Rates(tokens=1000), clock)
    model = Limited(MockModel(lambda *_: used(1000)), bucket, sleep=clock.sleep)
    model.complete(HELLO, Sampling(max_tokens=900))
    assert model.complete(HELLO, Sampling(max_tokens=900)).waited == pytest.approx(60)


def test_a_call_larger_than_the_limit_goes_through_when_the_bucket_is_full(tmp_path):
    bucket = Bucket(tmp_path / "b.json", Rates(tokens=100), Clock())
    assert bucket.take(1, 5000) == 0
    assert bucket.take(1, 5000) == pytest.approx(60)


def test_a_failed_call_gives_its_tokens_back(tmp_path):
    def down(*_):
        raise UnavailableError("down")

    bucket = Bucket(tmp_path / "b.json", Rates(tokens=1000), Clock())
    for _ in range(3):
        with pytest.raises(UnavailableError):
            Limited(MockModel(down), bucket, sleep=pytest.fail).complete(HELLO, Sampling(max_tokens=900))


def test_processes_share_one_bucket(tmp_path):
    take = (
        "import sys; from pathlib import Path; from mlagentbench.model.limiting import Bucket, Rates\n"
        "bucket = Bucket(Path(sys.argv[1]), Rates(requests=40), clock=lambda: 5.0)\n"
        "print(sum(bucket.take(1, 0) == 0 for _ in range(20)))"
    )
    command = [sys.executable, "-c", take, str(tmp_path / "b.json")]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert sum(int(process.communicate()[0]) for process in running) == 40


def test_a_torn_file_counts_as_a_full_bucket(tmp_path):
    (tmp_path / "b.json").write_text('{"requests": [1')
    assert Bucket(tmp_path / "b.json", Rates(requests=1), Clock()).take(1, 0) == 0


def test_a_limit_is_asked_for_by_name_of_the_model(tmp_path, naps):
    script = tmp_path / "script.txt"
    script.write_text("one\n%%%\ntwo\n%%%\nthree\n")
    name = f"mock/{script}"
    first = load_model(name, rates=Rates(requests=2), folder=tmp_path, sleep=naps)
    second = load_model(name, rates=Rates(requests=2), folder=tmp_path, sleep=naps)
    for model in (first, first, second):
        model.complete(HELLO, Sampling())
    (nap,) = naps.taken
    assert 25 < nap <= 30
    unlimited = load_model(name, folder=tmp_path, sleep=pytest.fail)
    assert unlimited.complete(HELLO, Sampling()).waited == 0
