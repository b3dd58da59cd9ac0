"""Another agent takes over a run after one of its steps: it is replayed on its own steps, and on no one else's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.acting import (
    actions_file,
    events_of,
    executing,
    listing,
    play,
    reading,
    steps_of,
    submitting,
    writing,
)

from mlagentbench import Action, Environment, Run, fork, resume, verify
from mlagentbench.environment.models import ModelChoice
from mlagentbench.environment.watch import Silence
from mlagentbench.errors import UsageError
from mlagentbench.model.spec import Message
from mlagentbench.record.events import ModelCalled, Note, StepTaken
from mlagentbench.record.folder import RunFolder, find_runs, new_run_id
from mlagentbench.record.request import Origin

FIRST = [writing("notes.txt", "one"), writing("notes.txt", "two"), executing("train.py"), submitting()]
SHARED = 2
"""Steps of the first agent that the second one starts after."""
WHOLE = SHARED + 4
"""Steps of the fork, all together."""


class Stopped(BaseException):
    """As if the harness were stopped from outside."""


class StopAt(Silence):
    """Stops the run after a step, or after a call of a model."""

    def __init__(self, step: int = 0, call: int = 0) -> None:
        self._step, self._call = step, call

    def step(self, step: StepTaken, replayed: bool) -> None:
        if step.index == self._step and not replayed:
            raise Stopped

    def model(self, called: ModelCalled) -> None:
        self._call -= 1
        if self._call == 0:
            raise Stopped


class Asking:
    """Does what its model says. All that it knows enters what it asks, so that any other beginning is found out."""

    def run(self, env: Environment) -> None:
        found = len(env.history)
        for _ in range(3):
            asked = (
                f"{found} steps were there, {len(env.history)} are now, {env.used.tokens} tokens. And now?"
            )
            said = env.complete([Message(role="user", content=asked)])
            env.step(writing("said.txt", said.text))
        if not env.done:
            env.step(submitting())


class AskingElsewhere(Asking):
    """The same by another name: another agent."""


class Modest:
    needs_model = False

    def run(self, env: Environment) -> None:
        env.step(submitting())


ASKING, ELSEWHERE, MODEST = (f"{__name__}:{kind.__name__}" for kind in (Asking, AskingElsewhere, Modest))


@pytest.fixture
def model(tmp_path: Path) -> str:
    script = tmp_path / "script.jsonl"
    script.write_text("\n".join(json.dumps(f"answer {number}") for number in range(9)))
    return f"mock/{script}"


@pytest.fixture
def first(tiny_task: Path, runs: Path) -> Run:
    return play(tiny_task, FIRST, runs)


def stopped_fork(first: Run, model: str, stop: StopAt) -> Path:
    known = {run.path for run in find_runs([first.folder.parents[2]])}
    with pytest.raises(Stopped):
        fork(first.folder, SHARED, agent=ASKING, model=model, watch=stop)
    (made,) = {run.path for run in find_runs([first.folder.parents[2]])} - known
    return made


def outcome(folder: Path) -> list[tuple[Action, str]]:
    return [(step.action, step.snapshot) for step in steps_of(folder)]


def calls_of(folder: Path) -> list[str]:
    return [event.request for event in events_of(folder) if isinstance(event, ModelCalled)]


def begins_after(folder: Path) -> int | None:
    origin = RunFolder.open(folder).request().origin
    return origin.begins_after if origin else None


@pytest.mark.parametrize(
    "stop", [{"step": step} for step in range(SHARED + 1, WHOLE + 1)] + [{"call": call} for call in (1, 2, 3)]
)
def test_a_stopped_one_is_resumed_to_the_same_end(first: Run, model: str, stop: dict[str, int]) -> None:
    whole = fork(first.folder, SHARED, agent=ASKING, model=model)
    assert len(steps_of(whole)) == WHOLE and begins_after(whole.folder) == SHARED
    folder = stopped_fork(first, model, StopAt(**stop))
    again = resume(folder)
    assert outcome(folder) == outcome(whole.folder)
    assert calls_of(folder) == calls_of(whole.folder), "nothing was asked twice, and nothing else was asked"
    assert again.summary.ended == "submitted" and again.grade is not None and whole.grade is not None
    assert again.grade.score == whole.grade.score and verify(folder).ok


def test_one_stopped_and_resumed_again_and_again_ends_as_if_it_never_was(first: Run, model: str) -> None:
    whole = fork(first.folder, SHARED, agent=ASKING, model=model)
    folder = stopped_fork(first, model, StopAt(call=1))
    for step in range(SHARED + 1, WHOLE):
        with pytest.raises(Stopped):
            resume(folder, watch=StopAt(step=step))
    resume(folder)
    assert outcome(folder) == outcome(whole.folder) and calls_of(folder) == calls_of(whole.folder)


@pytest.mark.parametrize("step", range(WHOLE + 1))
def test_a_fork_of_it_begins_where_its_agent_did(first: Run, model: str, step: int) -> None:
    source = fork(first.folder, SHARED, agent=ASKING, model=model)
    again = fork(source.folder, step)
    assert begins_after(again.folder) == min(step, SHARED)
    assert steps_of(again)[:step] == steps_of(source)[:step]
    assert len(steps_of(again)) == min(step, SHARED) + 4 and again.summary.ended == "submitted"
    if step >= SHARED:
        assert outcome(again.folder) == outcome(source.folder)
    assert verify(again.folder).ok


@pytest.mark.parametrize("step", [1, SHARED, SHARED + 1, SHARED + 2])
def test_a_fork_of_it_can_be_stopped_and_resumed_and_forked_in_turn(
    first: Run, model: str, step: int
) -> None:
    source = fork(first.folder, SHARED, agent=ASKING, model=model)
    folder = stopped_fork(source, model, StopAt(step=SHARED + 1))
    again = resume(folder)
    deeper = fork(folder, step)
    assert again.summary.ended == deeper.summary.ended == "submitted"
    assert begins_after(deeper.folder) == min(step, SHARED)


@pytest.mark.parametrize("step", [0, 1, SHARED, SHARED + 1])
def test_a_fork_of_it_with_yet_another_agent_begins_after_its_step(first: Run, model: str, step: int) -> None:
    source = fork(first.folder, SHARED, agent=ASKING, model=model)
    with pytest.raises(Stopped):
        fork(source.folder, step, agent=ELSEWHERE, watch=StopAt(step=step + 2))
    (made,) = (run for run in find_runs([source.folder.parents[2]]) if run.request().agent == ELSEWHERE)
    assert begins_after(made.path) == step
    again = resume(made.path)
    assert steps_of(again)[:step] == steps_of(source)[:step]
    assert len(steps_of(again)) == step + 4 and again.summary.ended == "submitted"


def test_settings_of_the_agent_that_took_over_may_be_others_after_its_own_steps(
    first: Run, tmp_path: Path
) -> None:
    mine = [listing(), reading("notes.txt"), submitting()]
    script = actions_file(tmp_path / "mine.jsonl", mine)
    taken = fork(
        fork(first.folder, 1, agent="starter").folder, 1, agent="scripted", settings={"file": script}
    )
    assert [step.action for step in steps_of(taken)] == [FIRST[0], *mine]
    other = actions_file(tmp_path / "other.jsonl", [*mine[:1], writing("x.txt", "x"), submitting()])
    again = fork(taken.folder, 2, settings={"file": other})
    assert [step.action.name for step in steps_of(again)][2:] == ["Write File", "Final Answer"]


def test_one_killed_while_its_beginning_was_written_is_not_resumed_but_made_again(first: Run) -> None:
    source = RunFolder.open(first.folder)
    origin = Origin(run=first.folder.name, step=SHARED, begins_after=SHARED)
    request = source.request().model_copy(update={"id": new_run_id(), "agent": "starter", "origin": origin})
    half = RunFolder.create(source.store().folder.parent, "default", request)
    log = half.log()
    for event in source.history().events[:2]:
        log.append(event)
    log.close()
    with pytest.raises(UsageError, match=f"fork {first.folder.name} --step {SHARED} -a starter"):
        resume(half.path)


def test_a_record_from_before_this_was_kept_still_loads() -> None:
    assert Origin.model_validate({"run": "r", "step": 3}).begins_after == 0


class TestModels:
    """An agent that takes over has the run's models, unless it needs none."""

    @pytest.fixture
    def asked(self, first: Run, model: str) -> Run:
        choice = ModelChoice(act=model, options={"top_p": 0.5}, prices={"mock/x": (1.0, 2.0)})
        return fork(first.folder, 0, agent=ASKING, model=choice)

    @pytest.mark.parametrize("agent", ["starter", MODEST])
    def test_one_that_needs_none_has_none(self, asked: Run, agent: str) -> None:
        forked = fork(asked.folder, 1, agent=agent)
        request = RunFolder.open(forked.folder).request()
        assert (request.model, request.model_options, request.prices) == ("", {}, {})
        assert forked.summary.model == "" and forked.folder.parent.name.endswith("--no-model")
        assert "Edit Script (AI)" not in request.actions and "Execute Script" in request.actions

    def test_one_that_needs_none_has_what_is_named(self, asked: Run, model: str) -> None:
        forked = fork(asked.folder, 1, agent="starter", model=model)
        request = RunFolder.open(forked.folder).request()
        assert (request.model, request.model_options) == (model, {"top_p": 0.5})

    def test_one_that_needs_one_and_the_same_one_keep_it(self, asked: Run, model: str) -> None:
        other = fork(asked.folder, 1, agent=ELSEWHERE)
        modest = fork(asked.folder, 1, agent=MODEST, model=model)
        for run in (other, modest, fork(modest.folder, 1, agent=MODEST)):
            assert run.summary.model == model

    def test_actions_that_need_a_model_come_back_with_one(self, asked: Run, model: str) -> None:
        without = fork(asked.folder, 1, agent="starter")
        again = fork(without.folder, 1, agent=ASKING, model=model)
        shown = RunFolder.open(asked.folder).request().actions
        assert "Edit Script (AI)" in shown and RunFolder.open(again.folder).request().actions == shown


def test_the_record_says_where_it_comes_from(first: Run) -> None:
    forked = fork(first.folder, SHARED, agent="starter")
    assert forked.summary.forked and not first.summary.forked
    notes = [event.text for event in events_of(forked) if isinstance(event, Note)]
    assert notes == [f"Forked from {first.folder.name} after step {SHARED}."]
