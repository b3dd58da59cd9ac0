"""A person's consent: what it is asked for, what a refusal leaves, and how words reach the agent and its record."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from support.acting import (
    appending,
    copying,
    events_of,
    executing,
    inspecting,
    listing,
    reading,
    repl,
    submitting,
    undoing,
    writing,
)

from mlagentbench import Action, Environment
from mlagentbench.environment.actions.registry import all_actions
from mlagentbench.environment.consent import Agreeable, Answer, Proposal
from mlagentbench.environment.making import new_setup
from mlagentbench.environment.models import ModelChoice
from mlagentbench.workspace import diff


@dataclass
class Told:
    """A person who answers as a test says, and yes when it says nothing more."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[Proposal] = field(default_factory=list)
    saying: list[str] = field(default_factory=list)

    def consider(self, proposal: Proposal) -> Answer:
        self.asked.append(proposal)
        return self.answers.pop(0) if self.answers else Answer(True)

    def help(self, question: str) -> str:
        return f"About {question!r}: yes."

    def words(self) -> str:
        return self.saying.pop(0) if self.saying else ""


@pytest.fixture
def accompanied(tiny_task, runs):
    opened: list[Environment] = []

    def open_with(person) -> Environment:
        setup = new_setup(tiny_task, "own", {}, ModelChoice(), {"runs": runs})
        opened.append(Environment(replace(setup, person=person)))
        opened[-1].reset()
        return opened[-1]

    yield open_with
    for env in opened:
        env.suspend()


def test_reading_is_never_asked_about_and_everything_else_is(accompanied):
    person = Told()
    env = accompanied(person)
    for action in (
        listing(),
        reading("train.py"),
        inspecting("train.py"),
        Action("Request Help", {"request": "x"}),
    ):
        assert env.step(action).ok
    assert not person.asked
    for action in (writing("a.py", "1"), appending("a.py", "2"), copying("a.py", "b.py"), undoing("b.py"),
                   executing("a.py"), repl("1"), submitting()):  # fmt: skip
        env.step(action)
    assert [proposal.effect for proposal in person.asked] == ["changes"] * 4 + ["runs"] * 2 + ["ends"]
    assert env.terminated


def test_an_action_that_says_nothing_of_its_effect_is_asked_about():
    silent = {name for name, kind in all_actions().items() if kind.effect == "runs"}
    assert {"Execute Script", "Python REPL", "Run Command"} <= silent


def test_a_change_is_shown_before_it_is_agreed_to_and_a_refusal_leaves_nothing_of_it(accompanied):
    person = Told([Answer(True), Answer(False, "not that")])
    env = accompanied(person)
    env.step(writing("a.py", "one\n"))
    observation = env.step(writing("a.py", "two\n"))
    assert not observation.ok and observation.text.endswith("[The person says: not that]")
    proposal = person.asked[1]
    (change,) = diff(proposal.store, proposal.before, proposal.after)
    assert change.path == "a.py" and proposal.store.get(change.after.hash) == b"two\n"
    assert env.step(reading("a.py")).text == "one\n"
    first, refused, _ = env.history
    assert [c.path for c in first.changes] == ["a.py"] and refused.changes == () and refused.edits == ()
    assert refused.snapshot == first.snapshot
    assert env.step(undoing("a.py")).ok, "the edit before the refused one is the one that is undone"


def test_what_is_refused_is_not_run(accompanied):
    person = Told([Answer(True), Answer(False)])
    env = accompanied(person)
    env.step(writing("a.py", "open('made', 'w')"))
    observation = env.step(executing("a.py"))
    assert not observation.ok and "nothing was run" in observation.text and observation.execution is None
    assert "made" not in env.step(listing()).text


def test_mistakes_are_told_to_the_agent_and_not_asked_of_the_person(accompanied):
    person = Told()
    env = accompanied(person)
    for action in (
        Action("Execute Script", {}),
        Action("Dance"),
        writing("../x", "x"),
        writing("train.csv", "x"),
    ):
        assert not env.step(action).ok
    assert not person.asked


def test_words_before_an_action_stop_it_and_words_during_it_are_told_with_it(accompanied):
    person = Told(saying=["wait, first this", "", "", "", "and now that"])
    env = accompanied(person)
    assert "This was not done" in env.step(submitting()).text and not env.done
    assert env.step(listing()).ok
    observation = env.step(listing())
    assert observation.ok and observation.text.endswith("[The person says: and now that]")
    assert [step.observation.text for step in env.history][2] == observation.text


def test_the_end_can_be_refused(accompanied):
    env = accompanied(Told([Answer(False, "check it first")]))
    assert "[The person says: check it first]" in env.step(submitting()).text
    assert not env.terminated
    env.step(submitting())
    assert env.terminated


def test_a_replay_asks_nobody(accompanied):
    env = accompanied(Told([Answer(False, "no")]))
    env.step(writing("a.py", "1"))
    env.step(listing())
    told = [step.observation for step in env.history]
    folder = env.folder
    env.suspend()
    person = Told()
    again = Environment(replace(env._setup, person=person, folder=folder))
    again.reset()
    assert [again.step(writing("a.py", "1")), again.step(listing())] == told
    assert not person.asked
    again.suspend()
    assert len(events_of(folder.path)) == 4


def test_who_is_agreeable_allows_all_and_answers_nothing(accompanied):
    env = accompanied(Agreeable())
    assert "Nobody is there" in env.step(Action("Request Help", {"request": "x"})).text
    assert env.step(writing("a.py", "1")).ok and env.step(submitting()).ok
