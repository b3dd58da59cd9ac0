"""Resuming is replaying; forking is replaying up to a step. What was spent stays spent, what the user says counts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.acting import (
    actions_file,
    content,
    copying,
    events_of,
    execute,
    executing,
    listing,
    play,
    reading,
    repl,
    steps_of,
    submitting,
    undoing,
    writing,
)
from support.trees import tree

from mlagentbench import Action, Environment, Run, fork, resume, run, verify
from mlagentbench.agent.spec import Settings
from mlagentbench.environment.making import recorded_setup
from mlagentbench.environment.watch import Silence
from mlagentbench.errors import DivergedError, RecordError, UsageError
from mlagentbench.record.events import LimitHit, Note, Resumed, RunEnded, StepTaken
from mlagentbench.record.folder import RunFolder
from mlagentbench.workspace import materialise

STORY = [
    writing("model.py", "print('one')"),
    writing("model.py", "print('two')"),
    executing("model.py"),
    undoing("model.py"),
    copying("model.py", "inner/copy.py"),
    repl("open('from-repl.txt', 'w').write('r')"),
    executing("train.py"),
    submitting(),
]


class Stopped(BaseException):
    """As if the harness were stopped from outside."""


class StopAfter(Silence):
    """Looks on until a step, and stops the run there."""

    def __init__(self, step: int) -> None:
        self._step = step

    def step(self, step: StepTaken, replayed: bool) -> None:
        if step.index == self._step and not replayed:
            raise Stopped


def stopped_after(
    step: int, task: Path, runs: Path, story: list[Action] = STORY, **options: object
) -> RunFolder:
    with pytest.raises(Stopped):
        play(task, story, runs, watch=StopAfter(step), **options)
    (found,) = runs.glob("default/*/*/*/run.json")
    return RunFolder.open(found.parent)


@pytest.fixture
def whole(tiny_task: Path, runs: Path) -> Run:
    return play(tiny_task, STORY, runs)


def outcome(folder: Path) -> list[tuple[Action, str, bool]]:
    return [(step.action, step.snapshot, step.observation.ok) for step in steps_of(folder)]


@pytest.mark.parametrize("step", range(1, len(STORY) + 1))
def test_a_run_stopped_after_any_step_goes_on_to_the_same_end(
    tiny_task: Path, tmp_path: Path, step: int
) -> None:
    reference = play(tiny_task, STORY, tmp_path / "reference" / "runs")
    folder = stopped_after(step, tiny_task, tmp_path / "runs")
    before = steps_of(folder.path)
    assert len(before) == step
    again = resume(folder.path)
    assert steps_of(folder.path)[:step] == before
    assert outcome(folder.path) == outcome(reference.folder)
    assert again.grade is not None and reference.grade is not None
    assert again.grade.score == reference.grade.score and again.summary.ended == "submitted"


def test_a_resumed_run_has_exactly_the_workspace_of_its_last_step(
    tiny_task: Path, runs: Path, tmp_path: Path
) -> None:
    folder = stopped_after(7, tiny_task, runs)
    (folder.workspace / "model.py").write_text("changed behind its back")
    (folder.workspace / "added.txt").write_text("added")
    (folder.workspace / "from-repl.txt").unlink()
    (folder.workspace / "inner" / "copy.py").chmod(0o600)
    env = Environment(recorded_setup(folder, replays=False))
    env.reset()
    (tmp_path / "expected").mkdir()
    materialise(folder.store(), steps_of(folder.path)[-1].snapshot, tmp_path / "expected")
    found = {
        name: data for name, data in tree(folder.workspace).items() if name not in ("train.csv", "test.csv")
    }
    assert found == tree(tmp_path / "expected")
    assert content(env, "train.csv").startswith("id,speed"), "read-only data is there too"
    env.suspend()


def test_the_spent_time_stays_spent(tiny_task: Path, runs: Path) -> None:
    story = [
        writing("slow.py", "import time; time.sleep(0.7)"),
        executing("slow.py"),
        executing("slow.py"),
        executing("slow.py"),
        submitting(),
    ]
    folder = stopped_after(2, tiny_task, runs, story, limits={"time": 1.9})
    spent = steps_of(folder.path)[-1].elapsed
    assert spent >= 0.7
    again = resume(folder.path)
    assert again.summary.ended == "limit" and again.summary.elapsed >= 1.9
    assert [e.name for e in events_of(again) if isinstance(e, LimitHit)] == ["time"]
    assert len(steps_of(again)) < len(story)


def test_the_spent_steps_stay_spent(tiny_task: Path, runs: Path) -> None:
    folder = stopped_after(3, tiny_task, runs, limits={"steps": 5})
    again = resume(folder.path)
    assert again.summary.ended == "limit" and again.summary.steps == 5


def test_limits_that_the_user_gives_when_resuming_count_from_then_on(tiny_task: Path, runs: Path) -> None:
    folder = stopped_after(3, tiny_task, runs, limits={"steps": 4})
    again = resume(folder.path, limits={"steps": 6})
    assert again.summary.steps == 6 and again.summary.ended == "limit"


def test_limits_that_are_none_are_refused_when_resuming_and_forking(tiny_task: Path, runs: Path) -> None:
    folder = stopped_after(3, tiny_task, runs)
    with pytest.raises(UsageError, match="stps"):
        resume(folder.path, limits={"stps": 6})
    with pytest.raises(UsageError, match="steps"):
        fork(folder.path, 1, limits={"steps": "few"})


def test_a_fewer_steps_limit_ends_a_resumed_run_where_it_is(tiny_task: Path, runs: Path) -> None:
    folder = stopped_after(5, tiny_task, runs)
    again = resume(folder.path, limits={"steps": 2})
    assert again.summary.ended == "limit" and again.summary.steps == 5


def test_resuming_a_run_that_has_ended_changes_nothing_and_gives_its_verdict(whole: Run) -> None:
    before = (whole.folder / "events.jsonl").read_bytes()
    again = resume(whole.folder)
    assert (whole.folder / "events.jsonl").read_bytes() == before
    assert again.grade == whole.grade


def test_a_run_that_ended_ungraded_is_graded_when_resumed(whole: Run) -> None:
    (whole.folder / "grades.json").unlink()
    (whole.folder / "summary.json").unlink()
    again = resume(whole.folder)
    assert again.grade is not None and again.grade == whole.grade


def test_a_torn_last_line_is_dropped_and_said_so(tiny_task: Path, runs: Path) -> None:
    folder = stopped_after(3, tiny_task, runs)
    events = folder.events_file.read_bytes()
    folder.events_file.write_bytes(events[:-20])
    dropped = len(events) - 20 - (events[:-20].rfind(b"\n") + 1)
    assert f"a torn last line of {dropped} bytes" in " ".join(verify(folder.path).checked)
    again = resume(folder.path)
    told = [event for event in events_of(again) if isinstance(event, Resumed)]
    assert [(event.step, event.dropped) for event in told] == [(2, dropped)]
    assert again.summary.steps == len(STORY)


def test_a_damaged_record_is_not_resumed(tiny_task: Path, runs: Path) -> None:
    folder = stopped_after(3, tiny_task, runs)
    folder.events_file.write_bytes(
        folder.events_file.read_bytes().replace(b"print('one')", b"print('six')", 1)
    )
    with pytest.raises(RecordError, match="line 2"):
        resume(folder.path)


def test_an_agent_that_asks_for_something_else_has_diverged_and_is_told_where(
    tiny_task: Path, runs: Path
) -> None:
    folder = stopped_after(4, tiny_task, runs)
    file = Path(folder.request().settings["file"])
    actions_file(file, [*STORY[:2], listing(), *STORY[3:]])
    with pytest.raises(
        DivergedError, match=r"step 3: it now asks for List Files .* recorded is Execute Script"
    ):
        resume(folder.path)
    assert len(steps_of(folder.path)) == 4
    actions_file(file, STORY)
    assert resume(folder.path).summary.steps == len(STORY)


def test_two_processes_cannot_go_on_with_one_run(tiny_task: Path, runs: Path) -> None:
    folder = stopped_after(2, tiny_task, runs)
    env = Environment(recorded_setup(folder))
    env.reset()
    with pytest.raises(RecordError, match="another process"):
        resume(folder.path)
    env.suspend()


def test_undo_knows_the_edits_from_before_the_resume(env: Environment) -> None:
    env.step(writing("a.py", "one"))
    env.step(writing("a.py", "two"))
    folder = env.folder
    env.suspend()
    again = Environment(recorded_setup(RunFolder.open(folder.path), replays=False))
    again.reset()
    assert again.step(undoing("a.py")).ok and content(again, "a.py") == "one"
    assert again.step(undoing("a.py")).ok and not again.step(reading("a.py")).ok
    again.suspend()


class Failing:
    def run(self, env: Environment) -> None:
        env.step(executing("train.py"))
        raise KeyError("a mistake in the agent")


def test_an_agent_that_crashes_ends_its_run_recorded_and_graded(tiny_task: Path, runs: Path) -> None:
    made = run(tiny_task, f"{__name__}:Failing", runs=runs)
    assert made.summary.ended == "error" and "KeyError: 'a mistake in the agent'" in made.summary.detail
    assert made.grade is not None and made.grade.valid


class TestForking:
    @pytest.mark.parametrize("step", range(len(STORY) + 1))
    def test_at_every_step_it_comes_to_the_same_end(self, tiny_task: Path, tmp_path: Path, step: int) -> None:
        original = play(tiny_task, STORY, tmp_path / "runs")
        before = tree(original.folder)
        forked = fork(original.folder, step)
        assert tree(original.folder) == before, "the run that it goes on from stays as it was"
        assert forked.folder != original.folder
        assert outcome(forked.folder) == outcome(original.folder)
        assert forked.grade is not None and original.grade is not None
        assert forked.grade.score == original.grade.score
        request = RunFolder.open(forked.folder).request()
        assert request.origin is not None
        assert (request.origin.run, request.origin.step) == (original.folder.name, step)
        assert steps_of(forked)[:step] == steps_of(original)[:step]
        assert any(isinstance(event, Note) and "Forked" in event.text for event in events_of(forked))
        assert verify(forked.folder).ok

    def test_with_another_agent_it_goes_on_from_the_workspace_of_that_step(self, whole: Run) -> None:
        forked = fork(whole.folder, 3, agent="starter")
        assert [step.action.name for step in steps_of(forked)] == [
            "Write File", "Write File", "Execute Script", "Execute Script", "Final Answer",
        ]  # fmt: skip
        assert RunFolder.open(forked.folder).request().agent == "starter"
        assert forked.folder.parent.name == "starter--no-model"
        assert forked.grade is not None and forked.grade.valid

    def test_with_other_settings_the_replayed_steps_must_still_be_asked_for(
        self, whole: Run, tmp_path: Path
    ) -> None:
        other = actions_file(tmp_path / "other.jsonl", [*STORY[:3], writing("else.txt", "x"), submitting()])
        forked = fork(whole.folder, 3, settings={"file": other})
        assert [step.action.name for step in steps_of(forked)][3:] == ["Write File", "Final Answer"]
        with pytest.raises(DivergedError):
            fork(whole.folder, 5, settings={"file": other})

    def test_limits_given_when_forking_are_recorded(self, whole: Run) -> None:
        forked = fork(whole.folder, 2, limits={"steps": 4})
        assert forked.summary.ended == "limit" and forked.summary.steps == 4
        assert RunFolder.open(forked.folder).request().limits.steps == 4

    def test_at_a_step_that_there_is_not_it_is_refused(self, whole: Run) -> None:
        for step in (-1, len(STORY) + 1):
            with pytest.raises(UsageError, match=f"1 to {len(STORY)}"):
                fork(whole.folder, step)

    def test_whole_outputs_go_with_it(self, tiny_task: Path, runs: Path) -> None:
        talk = writing("talk.py", "print('much\\n' * 20_000)")
        original = play(tiny_task, [talk, executing("talk.py"), submitting()], runs)
        forked = fork(original.folder, 2)
        output = steps_of(forked)[1].observation.output
        assert (
            output
            and (forked.folder / "outputs" / output).read_bytes()
            == (original.folder / "outputs" / output).read_bytes()
        )

    def test_of_a_run_that_has_not_ended_works_too(self, tiny_task: Path, runs: Path) -> None:
        folder = stopped_after(4, tiny_task, runs)
        forked = fork(folder.path, 4)
        assert forked.summary.ended == "submitted"
        assert resume(folder.path).summary.ended == "submitted"


def test_an_agent_of_ones_own_is_named_by_module_and_class(tiny_task: Path, runs: Path) -> None:
    made = run(tiny_task, f"{__name__}:Counting", settings={"times": 3}, runs=runs)
    assert made.summary.steps == 4
    assert RunFolder.open(made.folder).request().settings == {"times": 3}


class Counting:
    class Settings(Settings):
        times: int = 1

    def __init__(self, settings: Settings) -> None:
        self._times = settings.model_dump()["times"]

    def run(self, env: Environment) -> None:
        for _ in range(self._times):
            env.step(listing())
        env.step(submitting())


def test_a_run_resumed_on_the_other_backend_goes_on(
    backend: str, open_env: Callable[..., Environment]
) -> None:
    other = {"bwrap": "landlock", "landlock": "bwrap"}[backend]
    env = open_env(sandbox=backend)
    execute(env, "open('made.txt', 'w').write('by ' + open('train.csv').readline())")
    folder = env.folder
    env.suspend()
    again = Environment(recorded_setup(RunFolder.open(folder.path), sandbox=other, replays=False))
    again.reset()
    assert content(again, "made.txt").startswith("by id,speed")
    said = execute(
        again, "print(open('made.txt').read(), len(open('train.csv').read()) > 1000)", name="look.py"
    )
    assert said.ok and "True" in said.text
    assert not any(isinstance(event, RunEnded) for event in events_of(folder.path))
    again.suspend()
