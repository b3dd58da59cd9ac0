"""Runs of the original benchmark become runs of this one. What is missing or damaged is told; nothing is skipped."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.acting import executing, play, steps_of, submitting
from support.oldruns import STARTED, TURNS, Turn, call_log, old_run
from support.tasks import original_task
from support.trees import tree

from mlagentbench import compare, export, fork, gc, grade, import_runs, prepare, resume, show, verify
from mlagentbench.errors import UsageError
from mlagentbench.evaluation.claims import Claims
from mlagentbench.evaluation.failures import rule
from mlagentbench.evaluation.importing import Import
from mlagentbench.evaluation.oldnames import action_name, model_name
from mlagentbench.evaluation.process import process_of
from mlagentbench.grading import Grade
from mlagentbench.record.events import ModelCalled, Note, RunEnded, StepTaken
from mlagentbench.record.folder import STORE, RunFolder
from mlagentbench.record.original.folder import OldFolder
from mlagentbench.record.original.run import read_old_run
from mlagentbench.record.packing import pack
from mlagentbench.record.summary import read_summary
from mlagentbench.record.unpacking import unpack
from mlagentbench.workspace import read


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    return tmp_path / "logs"


def taken_in(folder: Path, runs: Path, **said: object) -> Import:
    (only,) = import_runs(folder, runs=runs, **said)
    return only


def ending(run: Path) -> RunEnded:
    return next(e for e in RunFolder.open(run).history().events if isinstance(e, RunEnded))


class TestWhole:
    @pytest.fixture
    def done(self, logs: Path, runs: Path) -> Import:
        return taken_in(old_run(logs / "one"), runs)

    def test_all_that_it_tells_is_there(self, done: Import) -> None:
        assert done.ok and done.missing == () and done.damaged == ()
        request = RunFolder.open(done.run).request()
        assert (request.task, request.variant, request.agent) == ("cifar10@1", "full", "research")
        assert (request.model, request.limits.steps, request.limits.time) == (
            "anthropic/claude-v1",
            50,
            18000,
        )
        assert request.imported is not None and request.imported.flags["max_time"] == 18000
        assert request.created == STARTED - 2.5
        steps = steps_of(done.run)
        assert [step.action.name for step in steps] == [turn.action for turn in TURNS]
        assert [step.time - STARTED for step in steps] == [10, 20, 30, 40]
        assert steps[2].observation.text == "epochs: 20, accuracy: 0.91\n" and steps[3].final
        assert [each.path for each in steps[2].changes] == ["submission.csv"]
        assert [each.action.name for each in steps[1].primitives] == ["Read File", "Write File"]
        assert steps[0].primitives == ()
        end = ending(done.run)
        assert (end.reason, end.elapsed) == ("submitted", 42.5)

    def test_its_snapshots_are_its_files_after_each_step(self, done: Import) -> None:
        folder = RunFolder.open(done.run)
        store = folder.store()
        after = [read(store, step.snapshot, "train.py", 1000) for step in steps_of(done.run)]
        assert (
            after[0] == b"print('epochs: 2')\n"
            and after[1:] == [b"print('epochs: 20, accuracy: 0.91')\n"] * 3
        )
        assert read(store, ending(done.run).snapshot, "submission.csv", 10_000).startswith(b"id,target")

    def test_what_models_were_asked_and_answered_is_there_with_the_tokens(self, done: Import) -> None:
        calls = [e for e in RunFolder.open(done.run).history().events if isinstance(e, ModelCalled)]
        assert [(call.role, call.inside) for call in calls] == [
            ("act", False), ("act", False), ("edit", True), ("act", False), ("act", False),
        ]  # fmt: skip
        assert calls[0].completion is not None and calls[0].completion.text.startswith(
            "Thought: I take step 0."
        )
        assert b"Step 0?" in RunFolder.open(done.run).store().get(calls[0].request)
        summary = read_summary(RunFolder.open(done.run))
        assert (summary.tokens_in, summary.tokens_out) == (4 * 1200 + 300, 4 * 80 + 40)
        assert summary.cost is None and summary.imported and summary.unknown == ("cost", "execution")

    def test_it_is_shown_verified_packed_and_looked_at_like_any_other(
        self, done: Import, tmp_path: Path
    ) -> None:
        text = show(done.run)
        assert "imported" in text and "sandbox none" in text and "Execute Script" in text
        assert "+print('epochs: 20, accuracy: 0.91')" in show(done.run, 2)
        checked = verify(done.run)
        assert checked.ok and any("the chain holds only since then" in line for line in checked.checked)
        there = unpack(pack(done.run, tmp_path / "p.tar.gz"), tmp_path / "elsewhere")
        assert verify(there).ok
        process = process_of(RunFolder.open(done.run).history().events)
        assert (process.steps, process.edits, process.experiments) == (4, 1, 1)

    def test_the_folder_it_came_from_is_as_it_was(self, logs: Path, runs: Path) -> None:
        folder = old_run(logs / "one")
        (folder / "env_log" / "traces" / "step_1_files" / "train.py").chmod(0o200)
        (folder / "env_log" / "traces" / "step_2_files").chmod(0o000)

        def looks() -> dict[Path, tuple[int, ...]]:
            """Modes, sizes, and times, which tell a change of mode that was taken back."""
            status = {path: path.lstat() for path in sorted(folder.rglob("*"))}
            return {path: (s.st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in status.items()}

        before = looks()
        assert taken_in(folder, runs).ok
        assert looks() == before
        (folder / "env_log" / "traces" / "step_2_files").chmod(0o755)

    def test_imported_again_it_is_noticed_and_stays_one_run(
        self, logs: Path, runs: Path, done: Import
    ) -> None:
        before = tree(runs)
        again = taken_in(logs / "one", runs)
        assert again.ok and again.run == done.run and "before" in again.problem
        assert {name: data for name, data in tree(runs).items() if STORE not in name} == {
            name: data for name, data in before.items() if STORE not in name
        }


class TestGraded:
    @pytest.fixture
    def left(self, tiny_task: Path, runs: Path) -> dict[str, str]:
        """A submission in the form that our task asks for."""
        made = play(tiny_task, [executing("train.py"), submitting()], runs / "made")
        folder = RunFolder.open(made.folder)
        return {
            "submission.csv": read(
                folder.store(), ending(made.folder).snapshot, "submission.csv", 10**6
            ).decode()
        }

    def test_by_our_grader_where_the_submission_has_our_form(
        self, logs: Path, runs: Path, tiny_task: Path, left: dict[str, str]
    ) -> None:
        folder = old_run(logs / "ball", [Turn("Execute Script", {}, "", left), TURNS[3]])
        done = taken_in(folder, runs, task=tiny_task, variant="mini")
        assert (
            done.grade is not None
            and done.grade.valid
            and done.grade.improvement == pytest.approx(0, abs=0.05)
        )
        assert read_summary(RunFolder.open(done.run)).grade == done.grade
        assert grade(done.run) == done.grade
        assert any("the same verdict" in line for line in verify(done.run).checked)

    def test_by_the_original_s_own_grader_where_its_task_folder_is_named(
        self, logs: Path, runs: Path, tmp_path: Path
    ) -> None:
        task = original_task(
            tmp_path / "benchmarks" / "thing",
            starter="open('submission.csv', 'w').write('0.5')\n",
            grader="def get_score(folder):\n    return float(open(folder + '/submission.csv').read())\n",
        )
        prepare(task)
        folder = old_run(
            logs / "thing", [Turn("Execute Script", {}, "", {"submission.csv": "0.75"}), TURNS[3]]
        )
        done = taken_in(folder, runs, task=task)
        assert done.grade is not None and done.grade.score == 0.75, done.not_graded
        assert RunFolder.open(done.run).request().task == "original-thing@1"

    def test_not_where_it_has_another_and_the_reason_is_told(
        self, logs: Path, runs: Path, tiny_task: Path, left: dict[str, str]
    ) -> None:
        done = taken_in(old_run(logs / "ball"), runs, task=tiny_task, variant="mini")
        assert done.grade is None and "has not the form" in done.not_graded
        assert "Not graded: what the run left" in show(done.run)
        assert verify(done.run).ok

    def test_not_where_the_task_is_none_of_ours(self, logs: Path, runs: Path) -> None:
        done = taken_in(old_run(logs / "x", task="my-own-thing"), runs)
        assert RunFolder.open(done.run).request().task == "my-own-thing@0"
        assert "'my-own-thing' is no task of ours" in done.not_graded and "--task" in done.not_graded
        assert "my-own-thing@0" in show(done.run)

    def test_not_without_data_and_told_how_to_get_them(self, logs: Path, runs: Path) -> None:
        done = taken_in(old_run(logs / "x"), runs)
        assert "mlagentbench prepare cifar10 --variant full" in done.not_graded


def cut_trace(folder: Path) -> None:
    file = folder / "env_log" / "trace.json"
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])


def lose_a_step(folder: Path) -> None:
    shutil.rmtree(folder / "env_log" / "traces" / "step_1_files")


def crash(folder: Path) -> None:
    shutil.rmtree(folder / "env_log" / "traces" / "step_final_files")
    trace = json.loads((folder / "env_log" / "trace.json").read_text())
    del trace["steps"][-1]
    (folder / "env_log" / "trace.json").write_text(json.dumps(trace))
    (folder / "env_log" / "error.txt").write_text(
        'Traceback (most recent call last):\n  File "x.py", line 1, in f\nanthropic.APIError: \x1b[31mno luck\n'
    )


def lose_thoughts(folder: Path) -> None:
    shutil.rmtree(folder / "agent_log")


def break_time(folder: Path) -> None:
    (folder / "env_log" / "overall_time.txt").write_text("half an hour\x1b[2J")


def link_out(folder: Path) -> None:
    (folder / "env_log" / "traces" / "step_2_files" / "data").symlink_to("/etc")
    (folder / "env_log" / "traces" / "step_2_files" / "up").symlink_to("../../../../..")
    os.mkfifo(folder / "env_log" / "traces" / "step_2_files" / "pipe")


def replace_a_step_by_a_link(folder: Path) -> None:
    lose_a_step(folder)
    (folder / "env_log" / "traces" / "step_1_files").symlink_to("/etc")


def lose_everything(folder: Path) -> None:
    shutil.rmtree(folder / "env_log")
    shutil.rmtree(folder / "agent_log")
    (folder / "env_log").mkdir()


def lose_steps_logs(folder: Path) -> None:
    for file in (folder / "agent_log").glob("step_*"):
        file.unlink()


def tear_a_log(folder: Path) -> None:
    file = folder / "agent_log" / "step_2_log.log"
    file.write_text(file.read_text()[:60])


def write_no_utf8(folder: Path) -> None:
    file = folder / "env_log" / "trace.json"
    file.write_bytes(file.read_bytes().replace(b"epochs: 20", b"epochs: \xff\xfe"))


def write_surrogates(folder: Path) -> None:
    file = folder / "env_log" / "trace.json"
    file.write_bytes(file.read_bytes().replace(b"epochs: 20", rb"\ud800\u0000 \u001b[2J"))


def write_wrong_things(folder: Path) -> None:
    trace = json.loads((folder / "env_log" / "trace.json").read_text())
    trace["steps"][0] = "nothing of the kind"
    trace["steps"][1]["timestamp"] = float("nan")
    trace["steps"][2]["action"]["args"] = ["a", 10**400, {"deep": [[[1]]]}]
    trace["steps"][3]["action"]["args"] = "Done!"
    (folder / "env_log" / "trace.json").write_text(json.dumps(trace))


def nest_without_end(folder: Path) -> None:
    (folder / "env_log" / "trace.json").write_text('{"steps": [' + "[" * 200_000)


DAMAGES: dict[Callable[[Path], None], tuple[str, int, str, str]] = {
    cut_trace: ("damaged", 3, "stopped", "is no whole JSON"),
    lose_a_step: ("missing", 4, "submitted", "The files after step 2 are missing"),
    crash: ("missing", 3, "error", "There is no step_final_files"),
    lose_thoughts: ("missing", 4, "submitted", "There is no agent_log"),
    break_time: ("damaged", 4, "submitted", "which is no time"),
    link_out: ("damaged", 4, "submitted", "'data' is a link that leads out"),
    replace_a_step_by_a_link: ("damaged", 4, "submitted", "is a link (to '/etc')"),
    lose_everything: ("missing", 0, "died", "There are no files of the run at all"),
    lose_steps_logs: ("missing", 4, "submitted", "What it said is from agent_log/main_log"),
    tear_a_log: ("damaged", 4, "submitted", "step_2_log.log: 1 of its calls cannot be read"),
    write_no_utf8: ("damaged", 4, "submitted", "is not UTF-8"),
    write_surrogates: ("missing", 4, "submitted", ""),
    write_wrong_things: ("damaged", 4, "submitted", "step 0 has no action and no observation"),
    nest_without_end: ("damaged", 0, "stopped", "0 steps could be read"),
}


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_folder_becomes_a_run_and_the_damage_is_told(
    damage: Callable[[Path], None], logs: Path, runs: Path
) -> None:
    kind, steps, reason, sentence = DAMAGES[damage]
    folder = old_run(logs / "cifar10" / "one")
    damage(folder)
    done = taken_in(folder, runs)
    assert done.ok and done.steps == steps and done.ended == reason
    told = done.missing if kind == "missing" else done.damaged
    assert not sentence or any(sentence in each for each in told), (done.missing, done.damaged)
    request = RunFolder.open(done.run).request()
    assert request.task == "cifar10@1", "told by the path where nothing else tells it"
    assert request.imported is not None and request.imported.missing == done.missing
    shown = show(done.run)
    assert all(part in shown for part in (done.run.name, *(each[:30].split("\\")[0] for each in told)))
    assert "\x1b" not in shown
    assert verify(done.run).ok
    for index in range(1, steps + 1):
        show(done.run, index)
    export([done.run], runs / "out", "jsonl")


def test_a_step_whose_files_are_lost_has_those_before_it(logs: Path, runs: Path) -> None:
    folder = old_run(logs / "one")
    lose_a_step(folder)
    steps = steps_of(taken_in(folder, runs).run)
    assert steps[0].snapshot == steps[1].snapshot and steps[1].changes == ()


def test_a_link_is_kept_as_a_link_and_never_followed(logs: Path, runs: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("a secret")
    folder = old_run(logs / "one")
    files = folder / "env_log" / "traces" / "step_final_files"
    (files / "key").symlink_to(tmp_path / "secret")
    (folder / "env_log" / "error.txt").symlink_to(tmp_path / "secret")
    (folder / "agent_log" / "main_log").unlink()
    (folder / "agent_log" / "main_log").symlink_to(tmp_path / "secret")
    done = taken_in(folder, runs)
    assert any("'key' is a link" in each for each in done.damaged)
    assert any("error.txt" in each for each in done.damaged)
    assert b"a secret" not in b"".join(tree(runs).values())


def test_an_error_is_kept_whole_and_its_last_line_told(logs: Path, runs: Path) -> None:
    folder = old_run(logs / "one")
    crash(folder)
    done = taken_in(folder, runs)
    assert ending(done.run).detail == "anthropic.APIError: \x1b[31mno luck"
    assert "in f" in (done.run / "outputs" / "error.txt").read_text()


@pytest.mark.parametrize(
    ("error", "turns", "reason"),
    [
        ("MLAgentBench.environment.TimeoutException: Timed out!", 3, "limit"),
        ("", 3, "limit"),
        ("", 2, "stopped"),
        (None, 2, "died"),
    ],
)
def test_how_it_ended_is_told_as_far_as_the_folder_tells(
    error: str | None, turns: int, reason: str, logs: Path, runs: Path
) -> None:
    folder = old_run(logs / "one", TURNS[:turns], flags={"max_steps": 3})
    if error is None:
        (folder / "env_log" / "overall_time.txt").unlink()
    elif error:
        (folder / "env_log" / "error.txt").write_text(error)
    assert taken_in(folder, runs).ended == reason


def test_actions_that_failed_are_told_by_what_was_seen(logs: Path, runs: Path) -> None:
    seen = [
        "EnvError: no such file",
        "The script has been executed.\nTraceback (most recent call last):\n…",
        "fine",
    ]
    folder = old_run(logs / "one", [Turn("Execute Script", {"script_name": "x"}, text) for text in seen])
    assert [step.observation.ok for step in steps_of(taken_in(folder, runs).run)] == [False, False, True]


def test_a_long_observation_is_cut_and_kept_whole_beside(logs: Path, runs: Path) -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    done = taken_in(old_run(logs / "one", [Turn("Execute Script", {}, text)]), runs)
    (step,) = steps_of(done.run)
    assert len(step.observation.text) < 50_000 < len(text)
    assert (done.run / "outputs" / step.observation.output).read_text() == text


def test_a_folder_of_folders_and_one_that_holds_nothing_all_have_their_place(logs: Path, runs: Path) -> None:
    for name in ("cifar10/1", "cifar10/2", "imdb/1"):
        old_run(logs / name, TURNS[3:], task="")
    (logs / "empty").mkdir()
    done = import_runs(logs, logs / "empty", logs / "missing", runs=runs)
    assert [each.ok for each in done] == [True, True, True, False, False]
    tasks = [RunFolder.open(each.run).request().task for each in done[:3]]
    assert tasks == ["cifar10@1", "cifar10@1", "imdb@1"]
    assert "no run folder" in done[3].problem and "no such folder" in done[4].problem


def test_names_of_the_original_are_ours(logs: Path, runs: Path) -> None:
    assert action_name("execute_script") == "Execute Script" and action_name("Fly") == "Fly"
    assert model_name("gpt-4") == "openai/gpt-4" and model_name("openai/gpt-4-0314") == "openai/gpt-4-0314"
    old = old_run(
        logs / "p", task="amp-parkinsons-disease-progression-prediction", agent="ReasoningActionAgent"
    )
    request = RunFolder.open(taken_in(old, runs).run).request()
    assert (request.task, request.agent) == ("parkinsons-disease@1", "react")


def test_hostile_names_lead_nowhere(logs: Path, runs: Path) -> None:
    old = old_run(logs / "p", task="../../../evil\x00", agent="../../x" * 100, model="../../../\x00y/" * 50)
    done = taken_in(old, runs)
    assert done.ok and done.run.is_relative_to(runs / "imported")
    assert not list(logs.parent.glob("**/evil*/run.json")) or done.run.is_relative_to(runs)


def test_without_states_of_the_agent_the_flags_are_read_from_what_it_printed(logs: Path, runs: Path) -> None:
    folder = old_run(logs / "p")
    for file in (folder / "agent_log").glob("agent_*.json"):
        file.unlink()
    (folder / "log").write_text(
        "Namespace(task='imdb', max_steps=7, agent_type='SimpleActionAgent', llm_name='gpt-4', resume=None)\n"
    )
    request = RunFolder.open(taken_in(folder, runs).run).request()
    assert (request.task, request.agent, request.limits.steps) == ("imdb@1", "act", 7)


def test_a_reply_that_looks_like_a_log_does_no_harm(logs: Path, runs: Path) -> None:
    folder = old_run(logs / "p", TURNS[3:])
    evil = call_log("inner", "reply", "gpt-4")
    (folder / "agent_log" / "step_0_log.log").write_text(call_log("ask", f"see: {evil}", "claude-v1") * 3)
    assert taken_in(folder, runs).ok


def test_nothing_is_left_behind_where_writing_fails(logs: Path, runs: Path) -> None:
    old_run(logs / "p")
    (runs / "imported").write_text("in the way")
    done = taken_in(logs / "p", runs)
    assert not done.ok and done.problem
    assert not list((runs / STORE).glob("importing-*"))


def test_the_notes_say_where_it_came_from(logs: Path, runs: Path) -> None:
    done = taken_in(old_run(logs / "p"), runs)
    notes = [e.text for e in RunFolder.open(done.run).history().events if isinstance(e, Note)]
    assert notes[0] == f"Imported from {logs / 'p'}."


def test_sizes_are_bounded_and_what_is_beyond_is_told(
    logs: Path, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = old_run(logs / "p")
    monkeypatch.setattr("mlagentbench.record.original.trace.MOST_STEPS", 2)
    monkeypatch.setattr("mlagentbench.record.original.folder.MOST_BYTES", 4_000)
    done = taken_in(folder, runs)
    assert done.steps == 2 and any("the first 2 are read" in each for each in done.damaged)
    assert any("is read here" in each for each in done.damaged)
    assert verify(done.run).ok


def test_a_huge_file_of_a_workspace_is_named_and_not_kept(logs: Path, runs: Path) -> None:
    folder = old_run(logs / "p")
    with (folder / "env_log" / "traces" / "step_final_files" / "huge.bin").open("wb") as file:
        file.truncate(2**42)
    done = taken_in(folder, runs)
    assert any("'huge.bin' is not kept: larger than" in each for each in done.damaged)
    assert verify(done.run).ok


def test_what_it_needs_is_not_collected(logs: Path, runs: Path) -> None:
    done = taken_in(old_run(logs / "p"), runs)
    assert gc(runs).objects == 0
    assert verify(done.run).ok


def test_nothing_can_go_on_with_it_and_that_is_said(logs: Path, runs: Path) -> None:
    done = taken_in(old_run(logs / "p"), runs)
    before = tree(runs / "imported")
    for going_on in (lambda: resume(done.run), lambda: fork(done.run, 1)):
        with pytest.raises(UsageError, match="was imported"):
            going_on()
    assert tree(runs / "imported") == before


_WHOLE = json.dumps(
    {
        "steps": [
            {"action": {"name": "List Files", "args": {"dir_path": "."}}, "observation": "a\nb", "timestamp": STARTED},
            {"action": {"name": "Final Answer", "args": "Done"}, "observation": "end", "timestamp": STARTED + 9},
        ],
        "low_level_steps": [],
        "action_infos": {},
        "task_description": "Improve.",
    },
    indent=4,
).encode()  # fmt: skip


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, len(_WHOLE) - 1), change=st.binary(max_size=3), cut=st.booleans())
def test_whatever_bytes_a_trace_holds_it_is_read_or_told(
    tmp_path: Path, place: int, change: bytes, cut: bool
) -> None:
    folder = tmp_path / "old"
    (folder / "env_log").mkdir(parents=True, exist_ok=True)
    data = _WHOLE[:place] + change + (b"" if cut else _WHOLE[place + len(change) :])
    (folder / "env_log" / "trace.json").write_bytes(data)
    with OldFolder(folder) as old:
        run = read_old_run(old)
    assert run.trace.steps or run.damaged
    for step in run.trace.steps:
        assert isinstance(step.args, dict) and json.dumps(step.args) and step.text.encode() is not None


@settings(max_examples=40, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
        max_leaves=12,
    )
)
def test_whatever_json_a_trace_is_it_is_read_or_told(value: object) -> None:
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "env_log" / "trace.json"
        file.parent.mkdir()
        file.write_text(
            json.dumps({"steps": [value, {"action": value, "observation": value, "timestamp": value}]})
        )
        with OldFolder(Path(place)) as old:
            run = read_old_run(old)
    assert len(run.trace.steps) == 2 and run.damaged


def events_in(run: Path) -> list[str]:
    """What happened, in order: what was said last in each call, and the steps."""
    told = []
    for event in RunFolder.open(run).history().events:
        if isinstance(event, ModelCalled) and event.completion is not None:
            told.append(event.completion.text.splitlines()[-1])
        elif isinstance(event, StepTaken):
            told.append(f"step {event.index}")
    return told


def mode_of(run: Path) -> str:
    """Why it failed, if its submission was refused."""
    events = RunFolder.open(run).history().events
    refusal = Grade(snapshot="", task="ball@1", variant="mini", data_digest="", valid=False, reason="none")
    return rule(events, refusal, process_of(events), Claims()).mode


def test_calls_after_an_input_that_was_no_json_stay_with_their_steps(logs: Path, runs: Path) -> None:
    folder = old_run(logs / "one", [TURNS[0], TURNS[2], TURNS[3]])
    thoughts = folder / "agent_log"
    state = (thoughts / "agent_0_0.json").read_text()
    for file in thoughts.glob("*_*"):
        if file.name != "main_log":
            file.unlink()
    # The second turn took no step; after the third, the agent has forgotten it and counts from two again.
    for number, said in {
        0: [("P0", "list")],
        1: [("P1", "no json")],
        2: [("P2", "unusable"), ("P2 again", "execute"), ("P3", "answer")],
    }.items():
        (thoughts / f"step_{number}_log.log").write_text(
            "".join(call_log(prompt, reply, "claude-v1") for prompt, reply in said)
        )
    for name in ("agent_0_0", "agent_0_1", "agent_1_2", "agent_2_2"):
        (thoughts / f"{name}.json").write_text(state)
    done = taken_in(folder, runs)
    assert done.damaged == () and events_in(done.run) == [
        "list", "step 1", "no json", "unusable", "execute", "step 2", "answer", "step 3",
    ]  # fmt: skip
    for file in thoughts.glob("step_*"):
        file.unlink()
    (thoughts / "main_log").write_text(
        "".join(
            f"Step {number}:\n\n\nAssistant:\n{said}\nObservation:\n\n```\nseen\n```\n\n"
            for number, said in ((0, "list"), (1, "no json"), (2, "execute"), (2, "answer"))
        )
    )
    done = taken_in(folder, runs / "again")
    assert events_in(done.run) == ["list", "step 1", "no json", "execute", "step 2", "answer", "step 3"]


def test_the_last_line_of_what_a_program_wrote_is_shown(logs: Path, runs: Path) -> None:
    seen = "epoch 1\nepoch 2\naccuracy: 0.75"
    done = taken_in(old_run(logs / "one", [Turn("Execute Script", {"script_name": "x"}, seen)]), runs)
    assert "        accuracy: 0.75\n" in show(done.run)


def test_runs_with_the_research_log_are_another_agent(logs: Path, runs: Path) -> None:
    for name, retrieval in (("with", True), ("without", False)):
        old_run(logs / name, flags={"retrieval": retrieval})
    done = {each.source.name: RunFolder.open(each.run).request() for each in import_runs(logs, runs=runs)}
    assert (done["with"].called, done["without"].called) == ("research-log", "research")
    assert done["with"].settings == {"retrieval": True} and not done["without"].settings
    found = compare(runs)
    assert {group.agent for group in found.groups} == {"research-log", "research"}
    assert found.paired is not None and not any(task.paired for task in found.paired.tasks)


@pytest.mark.parametrize(
    ("called", "task"),
    [
        ("kaggle_training_reg", "house-price@1"),
        ("kaggle_training_class", "spaceship-titanic@1"),
        ("speed-up", "llama-inference@2"),
        ("vectorisation", "vectorization@1"),
    ],
)
def test_tasks_have_had_other_names(called: str, task: str, logs: Path, runs: Path) -> None:
    done = taken_in(old_run(logs / "one", TURNS[3:], task=called), runs)
    assert RunFolder.open(done.run).request().task == task


def test_a_prompt_that_was_too_long_is_a_matter_of_token_length(logs: Path, runs: Path) -> None:
    folder = old_run(logs / "one", TURNS[:2])
    (folder / "env_log" / "error.txt").write_text(
        "Traceback (most recent call last):\nMLAgentBench.schema.TooLongPromptError\n"
    )
    done = taken_in(folder, runs)
    assert done.ended == "stopped" and "TooLongPromptError" in ending(done.run).detail
    assert mode_of(done.run) == "token length"


def test_an_agent_that_got_no_reply_it_could_use_gave_up_as_ours_does(logs: Path, runs: Path) -> None:
    folder = old_run(logs / "one", TURNS[:2], flags={"max_retries": 3})
    (folder / "agent_log" / "step_2_log.log").write_text(
        "".join(call_log("P" + " again" * number, "no", "claude-v1") for number in range(3))
    )
    done = taken_in(folder, runs)
    assert done.ended == "stopped" and mode_of(done.run) == "debugging"
    assert "None of 3 replies could be used." in show(done.run)


def test_a_run_without_a_submission_is_graded_as_one(logs: Path, runs: Path, tiny_task: Path) -> None:
    prepare(tiny_task)
    done = taken_in(old_run(logs / "one", TURNS[:2]), runs, task=tiny_task, variant="mini")
    assert done.grade is not None and not done.grade.valid and "submission.csv" in done.grade.reason
    assert done.not_graded == ""
