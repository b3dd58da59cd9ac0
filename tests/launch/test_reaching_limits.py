"""A run that reaches a limit is graded, whatever kind of agent it is of and whatever the agent does then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.acting import actions_file, events_of, executing, listing, steps_of, submitting, writing

import mlagentbench
from mlagentbench import Action, Environment, RunOverError, make, resume, run
from mlagentbench.environment.models import ModelChoice
from mlagentbench.environment.trust import trust_run
from mlagentbench.environment.watch import Silence
from mlagentbench.errors import StillActingError
from mlagentbench.launch.run import drive
from mlagentbench.record.events import LimitHit, RunEnded
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.grades import read_grades

NEVER_LOOKING = """
from mlagentbench import Action
from mlagentbench.model.spec import Message

def act(env):
    while True:
        env.step(Action("Execute Script", {"script_name": "train.py"}))
        if env.folder.request().model:
            env.complete([Message(role="user", content="And now?")])

class Class:
    def run(self, env):
        act(env)

class Wrapping:
    def run(self, env):
        try:
            act(env)
        except Exception as error:
            raise RuntimeError("my own") from error

class Stumbling:
    def run(self, env):
        try:
            act(env)
        finally:
            {}["a summary of what was done"]

class Deaf:
    def run(self, env):
        while True:
            try:
                act(env)
            except Exception:
                continue

def function(env):
    act(env)

for each in (Class, Wrapping, Stumbling, Deaf, function):
    each.needs_model = False
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    (tmp_path / "never_looking.py").write_text(NEVER_LOOKING)
    monkeypatch.syspath_prepend(tmp_path)
    return lambda name: f"never_looking:{name}"


def assert_graded_at(done: mlagentbench.Run, limit: str) -> None:
    assert done.summary.ended == "limit" and done.grade is not None
    assert done.grade.valid or limit == "time", "time may cut off what writes the submission"
    events = events_of(done.folder)
    assert [event.name for event in events if isinstance(event, LimitHit)] == [limit]
    assert isinstance(events[-1], RunEnded) and events[-1].reason == "limit"


@pytest.mark.parametrize("name", ["function", "Class", "Wrapping", "Stumbling", "Deaf"])
def test_an_agent_that_never_looks_whether_the_run_is_done_is_graded_at_its_limit(
    own: Callable[[str], str], tiny_task: Path, runs: Path, name: str
) -> None:
    done = run(tiny_task, own(name), runs=runs, limits={"steps": 2})
    assert_graded_at(done, "steps")
    assert len(steps_of(done)) == 2
    told: list[str] = []
    before = (done.folder / "events.jsonl").read_bytes()
    again = resume(done.folder, watch=_Hearing(told))
    assert again.summary.ended == "limit" and again.grade == done.grade
    assert any("has ended: there is nothing to resume" in each for each in told)
    assert (done.folder / "events.jsonl").read_bytes() == before


class _Hearing(Silence):
    def __init__(self, told: list[str]) -> None:
        self._told = told

    def note(self, text: str) -> None:
        self._told.append(text)


@pytest.mark.parametrize("limit", ["tokens", "cost", "time"])
def test_every_limit_of_a_run_ends_it_graded(
    own: Callable[[str], str], tiny_task: Path, runs: Path, tmp_path: Path, limit: str
) -> None:
    said = tmp_path / "said.txt"
    said.write_text("%%%\n".join(["Go on."] * 20))
    model = f"mock/{said}"
    models = ModelChoice() if limit == "time" else ModelChoice(act=model, prices={model: (1e6, 1e6)})
    allowed = {"tokens": 1, "cost": 0.01, "time": 4}
    limits = {"steps": None, limit: allowed[limit]}
    assert_graded_at(run(tiny_task, own("Class"), models, runs=runs, limits=limits), limit)


def test_a_run_that_was_left_at_its_limit_without_an_end_is_ended_when_it_is_resumed(
    own: Callable[[str], str], tiny_task: Path, runs: Path
) -> None:
    done = run(tiny_task, own("Class"), runs=runs, limits={"steps": 2})
    kept = (done.folder / "events.jsonl").read_text().splitlines(keepends=True)
    (done.folder / "events.jsonl").write_text("".join(kept[:-1]))
    (done.folder / "summary.json").unlink()
    trust_run(RunFolder.open(done.folder))
    assert not any(isinstance(event, RunEnded) for event in events_of(done.folder))
    assert_graded_at(resume(done.folder), "steps")


@pytest.mark.parametrize(
    ("agent", "settings"),
    [
        ("starter", {}),
        ("oracle", {}),
        ("recipe", {"most_experiments": 3}),
        ("scripted", None),
        ("command", {"command": "while sleep 0.1; do date +%N > now; done", "settle": 0.05, "longest": 0.2}),
    ],
)
def test_agents_of_ours_end_at_a_limit_of_steps(
    tiny_task: Path, runs: Path, tmp_path: Path, agent: str, settings: dict[str, Any] | None
) -> None:
    if settings is None:
        settings = {"file": str(actions_file(tmp_path / "a.jsonl", [listing()] * 9))}
    done = run(tiny_task, agent, runs=runs, settings=settings, limits={"steps": 1})
    assert done.summary.ended == "limit" and len(steps_of(done)) == 1 and done.grade is not None


def test_by_hand_the_last_step_is_like_any_other_and_one_more_is_refused(tiny_task: Path, runs: Path) -> None:
    env = make(tiny_task, runs=runs, limits={"steps": 2})
    with pytest.raises(RunOverError, match="a limit of the run was reached: no step can follow"), env:
        env.reset()
        env.step(writing("a.txt", "a"))
        seen = env.step(executing("train.py"))
        assert seen.ok and "validation" in seen.text and env.truncated and env.done
        folder = env.folder
        env.step(submitting())
    ended = events_of(folder.path)[-1]
    assert isinstance(ended, RunEnded) and ended.reason == "limit"
    assert read_grades(folder)[ended.snapshot].valid


def test_after_a_submission_too_a_further_step_is_the_end_and_no_crash(tiny_task: Path, runs: Path) -> None:
    class Twice:
        def run(self, env: Environment) -> None:
            for _ in range(2):
                env.step(Action("Final Answer", {"final_answer": "x"}))

    done = drive(make(tiny_task, runs=runs), Twice())
    assert done.summary.ended == "submitted" and done.grade is not None


def test_whoever_does_not_hear_that_the_run_is_over_is_stopped(
    open_env: Callable[..., Environment],
) -> None:
    env = open_env(limits={"steps": 1})
    env.step(listing())
    with pytest.raises(StillActingError):
        while True:
            try:
                env.step(listing())
            except Exception:  # noqa: BLE001
                continue
