"""A person's own problem from Python: on a copy, with a person or without, gone on with, and applied more than once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.trees import tree

import mlagentbench
from mlagentbench.environment.consent import Agreeable, Answer, Proposal
from mlagentbench.errors import RecordError, UsageError
from mlagentbench.launch.applying import offer
from mlagentbench.record.folder import RunFolder, find_runs

CONTENT = "print('better')\n"


class Leaves(Agreeable):
    """Agrees until the n-th question, and leaves there."""

    def __init__(self, after: int) -> None:
        self.left = after

    def consider(self, proposal: Proposal) -> Answer:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return Answer(True)


def writing(file: str, content: str) -> tuple[str, dict[str, Any]]:
    return ("Write File", {"file_name": file, "content": content})


DONE = ("Final Answer", {"final_answer": "Done."})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "my project"
    folder.mkdir()
    (folder / "train.py").write_text("print('as it was')\n")
    return folder


@pytest.fixture
def helping(project: Path, runs: Path, tmp_path: Path) -> Callable[..., mlagentbench.Run]:
    """Runs of the scripted agent, which needs no model."""

    def start(*actions: tuple[str, dict[str, Any]], **options: Any) -> mlagentbench.Run:
        file = tmp_path / "actions.jsonl"
        file.write_text("".join(json.dumps({"name": name, "args": args}) + "\n" for name, args in actions))
        return mlagentbench.assist(
            project, "Better, please.", "scripted", settings={"file": file}, runs=runs, **options
        )

    return start


def the_run(runs: Path) -> RunFolder:
    (run,) = find_runs([runs])
    return run


def test_without_a_person_all_is_allowed_in_the_copy_and_nothing_is_graded(helping, project):
    before = tree(project)
    done = helping(writing("train.py", CONTENT), ("Execute Script", {"script_name": "train.py"}), DONE)
    assert done.grade is None and done.summary.ended == "submitted" and done.summary.failed_steps == 0
    assert tree(project) == before
    assert mlagentbench.apply(done.folder).changed == ("train.py",)
    assert (project / "train.py").read_text() == CONTENT
    assert mlagentbench.apply(done.folder).changed == ()
    assert mlagentbench.verify(done.folder).ok
    with pytest.raises(UsageError, match="nothing to grade"):
        mlagentbench.grade(done.folder)
    with pytest.raises(UsageError, match="cannot be forked"):
        mlagentbench.fork(done.folder, 1)
    with pytest.raises(UsageError, match="did not change"):
        mlagentbench.apply(done.folder, ["other.py"])


def test_a_run_that_asks_goes_on_with_a_person_only(helping, runs):
    with pytest.raises(KeyboardInterrupt):
        helping(writing("a.py", "1"), writing("b.py", "2"), DONE, person=Leaves(1))
    run = the_run(runs)
    assert run.request().own.asks
    with pytest.raises(UsageError, match="assist --resume"):
        mlagentbench.resume(run.path)
    assert mlagentbench.resume(run.path, person=Agreeable()).summary.ended == "submitted"
    assert [change.path for change in offer(run).changes] == ["a.py", "b.py"]


def test_what_was_applied_of_a_run_may_be_followed_by_what_it_did_later(helping, project, runs):
    with pytest.raises(KeyboardInterrupt):
        helping(writing("train.py", "1\n"), writing("train.py", "2\n"), DONE, person=Leaves(1))
    run = the_run(runs)
    assert mlagentbench.apply(run.path).changed == ("train.py",)
    assert (project / "train.py").read_text() == "1\n"
    mlagentbench.resume(run.path, person=Agreeable())
    assert mlagentbench.apply(run.path).changed == ("train.py",)
    assert (project / "train.py").read_text() == "2\n"
    assert mlagentbench.verify(run.path).ok


def test_a_run_that_goes_on_cannot_be_applied_meanwhile(helping, runs):
    refused = []

    class Applies(Agreeable):
        def consider(self, proposal: Proposal) -> Answer:
            with pytest.raises(RecordError, match="another process") as refusal:
                mlagentbench.apply(the_run(runs).path)
            refused.append(refusal)
            return Answer(True)

    helping(writing("a.py", "1"), DONE, person=Applies())
    assert len(refused) == 2


@pytest.mark.parametrize("backend", ["bwrap", "landlock"], indirect=True)
def test_what_is_only_shown_can_be_read_and_not_changed(helping, project, backend):
    (project / "large.csv").write_text("a,b\n" * 100)
    before = tree(project)
    done = helping(
        ("Run Command", {"command": "head -1 large.csv; echo x >> large.csv; rm -f large.csv; ls"}),
        writing("large.csv", "mine"),
        ("Read File", {"file_name": "large.csv"}),
        DONE,
        copy_limit=1000,
        sandbox=backend,
    )
    first, second, third, _ = (
        event for event in RunFolder.open(done.folder).history().events if event.type == "step"
    )
    assert first.observation.text.startswith("a,b\n")
    assert "read-only" in second.observation.text and third.observation.text.startswith("a,b\n")
    assert tree(project) == before
    assert offer(RunFolder.open(done.folder)).changes == ()
