"""Runs as other tools read them: all that a record tells, whatever is in it, with one run in memory at a time."""

from __future__ import annotations

import json
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from support.acting import executing, play, submitting, writing
from support.histories import History
from support.runs import graded, write_run

from mlagentbench import Run, export
from mlagentbench.errors import RecordError, UsageError
from mlagentbench.model.spec import Message, Request, Sampling, Tool, ToolCall, Usage
from mlagentbench.record.events import Denied, LimitHit, ModelCalled, Note
from mlagentbench.record.folder import STORE, RunFolder
from mlagentbench.record.tables import LONGEST_TEXT, RunRow, StepRow, column_types
from mlagentbench.workspace import Store

ROOT = Path(__file__).parents[2]
HOSTILE = "\x1b[2J\x00\x07</script>\u202e\u2028 \udce2 \ud800 ```\r\n" + "é" * 10


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def asked(runs: Path, history: History, **request: Any) -> History:
    """What the calls of a history asked, put into the store."""
    content = Request(
        messages=(
            Message(role="system", content="You do research."),
            Message(role="user", content="What next?"),
            Message(
                role="assistant",
                content="",
                tool_calls=(ToolCall(id="c1", name="List Files", arguments="{"),),
            ),
            Message(role="tool", content="train.py", tool_call_id="c1"),
        ),
        sampling=Sampling(max_tokens=77, temperature=0.25, stop=("Observation:",)),
        tools=(
            Tool(name="List Files", description="Lists.", parameters={"type": "object", "properties": {}}),
        ),
        **request,
    )
    with Store(runs / STORE) as store:
        name = store.put(content.model_dump_json().encode())
    history.events = [
        event.model_copy(update={"request": name}) if isinstance(event, ModelCalled) else event
        for event in history.events
    ]
    return history


def told() -> History:
    return (
        History("Improve train.py.")
        .call("Thought: look.\nAction: List Files", usage=Usage(input=1000, output=50, cached=300))
        .step("List Files", "train.py", args={"dir_path": "."})
        .call("no action at all")
        .call("Thought: run it.", waited=2.0)
        .call("a summary", role="fast", inside=True)
        .step("Execute Script", "ValueError: no\nExit status 1", ok=False, ran=True, args={"script_name": "train.py"})
        .call("Thought: done.")
        .step("Final Answer", "Submitted.", args={"final_answer": "RMSE 0.13"})
        .end()
    )  # fmt: skip


class TestTables:
    @pytest.fixture
    def made(self, tiny_task: Path, runs: Path) -> Run:
        print_much = writing("much.py", "print('much\\n' * 20_000)")
        return play(tiny_task, [print_much, executing("much.py"), executing("train.py"), submitting()], runs)

    def test_tell_of_a_real_run_what_its_record_tells(self, made: Run, tmp_path: Path) -> None:
        files = export([made.folder], tmp_path / "out", "jsonl")
        assert [file.name for file in files] == ["runs.jsonl", "steps.jsonl"]
        (run,), steps = lines(files[0]), lines(files[1])
        assert made.grade is not None
        assert (run["run"], run["task"], run["variant"], run["agent"]) == (
            made.folder.name, "ball", "mini", "scripted",
        )  # fmt: skip
        assert (run["score"], run["success"], run["valid"]) == (made.grade.score, made.grade.success, True)
        assert (run["ended"], run["steps"], run["model"], run["imported"]) == ("submitted", 4, None, False)
        assert [step["action"] for step in steps] == [
            "Write File", "Execute Script", "Execute Script", "Final Answer",
        ]  # fmt: skip
        assert steps[1]["exit_status"] == 0 and steps[1]["output"] and steps[1]["wall_seconds"] > 0
        assert json.loads(steps[0]["arguments"])["file_name"] == "much.py"
        assert json.loads(steps[2]["changed"]) == ["submission.csv"]
        assert steps[0]["exit_status"] is None and steps[3]["score"] == made.grade.score

    def test_have_the_columns_that_the_page_documents_and_no_others(self, made: Run, tmp_path: Path) -> None:
        page = (ROOT / "docs" / "import-export.md").read_text()
        for kind, file in zip((RunRow, StepRow), export([made.folder], tmp_path, "jsonl"), strict=True):
            assert list(lines(file)[0]) == list(column_types(kind))
            undocumented = [name for name in column_types(kind) if f"`{name}`" not in page]
            assert not undocumented

    def test_hold_tokens_costs_and_words_by_step(self, runs: Path, tmp_path: Path) -> None:
        write_run(runs, "20260101-000000-a", told().events, [graded("snapshot-3", 0.3)], model="test/told")
        run_file, step_file = export([runs], tmp_path / "out", "jsonl")
        (run,), steps = lines(run_file), lines(step_file)
        assert (run["tokens_in"], run["tokens_cached"], run["model_calls"]) == (1400, 300, 5)
        assert run["cost"] == pytest.approx(0.05) and run["improvement"] == 0.3
        assert [step["model_calls"] for step in steps] == [1, 3, 1]
        assert [step["said"] for step in steps] == [
            "Thought: look.\nAction: List Files", "Thought: run it.", "Thought: done.",
        ]  # fmt: skip

    def test_are_the_same_in_parquet(self, made: Run, runs: Path, tmp_path: Path) -> None:
        parquet = pytest.importorskip("pyarrow.parquet")
        write_run(runs, "20260101-000000-a", told().events, model="test/told")
        as_lines = export([runs], tmp_path, "jsonl")
        as_columns = export([runs], tmp_path, "parquet")
        for one, other in zip(as_lines, as_columns, strict=True):
            assert parquet.read_table(other).to_pylist() == lines(one)

    def test_have_a_row_for_a_run_that_cannot_be_read(self, made: Run, runs: Path, tmp_path: Path) -> None:
        write_run(runs, "20260101-000000-a", told().events)
        broken = write_run(runs, "20260101-000000-b", told().events)
        broken.events_file.write_bytes(broken.events_file.read_bytes().replace(b"look", b"lock"))
        torn = write_run(runs, "20260101-000000-c", told().events)
        torn.request_file.write_text("{")
        rows = {row["run"]: row for row in lines(export([runs], tmp_path / "out", "jsonl")[0])}
        assert len(rows) == 4
        assert "changed from outside" in rows["20260101-000000-b"]["damage"]
        assert (
            rows["20260101-000000-b"]["task"] == "house-price" and rows["20260101-000000-b"]["steps"] is None
        )
        assert "damaged" in rows["20260101-000000-c"]["damage"]
        assert rows["20260101-000000-a"]["damage"] is None

    def test_of_an_unfinished_run_have_null_for_its_end(self, runs: Path, tmp_path: Path) -> None:
        write_run(runs, "20260101-000000-a", told().events[:-1])
        (row,) = lines(export([runs], tmp_path / "out", "jsonl")[0])
        assert row["ended"] is None and row["graded"] is False and row["score"] is None


def hostile_history() -> History:
    """What a record can hold; lone surrogates cannot get into one, so they are in what is only bounded here."""
    evil = HOSTILE.replace("\udce2", "").replace("\ud800", "")
    return (
        History(evil)
        .call(evil)
        .step("Write File", evil + "x" * (LONGEST_TEXT + 5000), args={evil: evil, "content": "y" * (3 * LONGEST_TEXT)})
        .step(evil, evil, ok=False)
        .end("error", evil)
    )  # fmt: skip


@pytest.mark.parametrize("format", ["jsonl", "parquet", "inspect"])
def test_hostile_and_gigantic_texts_break_no_file(format: str, runs: Path, tmp_path: Path) -> None:
    write_run(runs, "20260101-000000-a", hostile_history().events, model="test/\x1b[2Jtold", agent="evil\x07")
    files = export([runs], tmp_path / "out", format)
    assert files
    if format == "jsonl":
        steps = lines(files[1])
        assert len(steps) == 2 and steps[0]["observation_characters"] > LONGEST_TEXT
        assert "characters left out" in steps[0]["observation"]
        assert b"\x1b" not in files[1].read_bytes() and b"\x00" not in files[1].read_bytes()
    elif format == "parquet":
        assert pytest.importorskip("pyarrow.parquet").read_table(files[1]).num_rows == 2
    else:
        log = read_log(files[0])
        assert len(log.samples) == 1 and log.samples[0].error.message.startswith("\x1b[2J")
        assert max(len(message.text) for message in log.samples[0].messages) < LONGEST_TEXT + 1000


def read_log(file: Path) -> Any:
    from inspect_ai.log import read_eval_log

    return read_eval_log(file, resolve_attachments=True)


class TestInspect:
    @pytest.fixture
    def sample(self, runs: Path, tmp_path: Path) -> Any:
        history = asked(runs, told())
        history.events.insert(-1, Denied(text="It wrote to a read-only place."))
        history.events.insert(-1, LimitHit(name="steps", value=3))
        grade = graded("snapshot-3", 0.3, notes=("Measured here.",))
        write_run(
            runs, "20260101-000000-a", history.events, [grade], model="test/told", settings={"depth": 2}
        )
        (file,) = export([runs], tmp_path / "out", "inspect")
        (sample,) = read_log(file).samples
        return sample

    def test_the_conversation_is_what_the_agent_said_did_and_saw(self, sample: Any) -> None:
        assert sample.input == "Improve train.py."
        said = [(message.role, message.text) for message in sample.messages]
        assert said == [
            ("user", "Improve train.py."),
            ("assistant", "Thought: look.\nAction: List Files"),
            ("tool", "train.py"),
            ("assistant", "no action at all"),
            ("assistant", "Thought: run it."),
            ("tool", "ValueError: no\nExit status 1"),
            ("assistant", "Thought: done."),
            ("tool", "Submitted."),
        ]
        call = sample.messages[4].tool_calls[0]
        assert (call.function, call.arguments) == ("Execute Script", {"script_name": "train.py"})
        assert sample.messages[5].error is not None and sample.messages[2].error is None
        assert sample.messages[5].tool_call_id == call.id
        assert sample.output.completion == "RMSE 0.13"

    def test_each_call_of_a_model_has_what_it_was_asked(self, sample: Any) -> None:
        calls = [event for event in sample.events if event.event == "model"]
        assert [call.role for call in calls] == ["act", "act", "act", "fast", "act"]
        assert [message.role for message in calls[0].input] == ["system", "user", "assistant", "tool"]
        assert calls[0].input[2].tool_calls[0].parse_error
        assert (calls[0].config.max_tokens, calls[0].config.temperature) == (77, 0.25)
        assert calls[0].tools[0].name == "List Files"
        assert (
            calls[0].output.usage.input_tokens == 700 and calls[0].output.usage.input_tokens_cache_read == 300
        )
        inside = calls[3]
        assert inside.span_id == "20260101-000000-a-step-2"

    def test_each_step_is_a_tool_with_its_result_and_snapshot(self, sample: Any) -> None:
        tools = [event for event in sample.events if event.event == "tool"]
        assert [tool.function for tool in tools] == ["List Files", "Execute Script", "Final Answer"]
        assert tools[1].error is not None and tools[1].metadata["snapshot"] == "snapshot-2"
        assert tools[1].metadata["execution"]["exit_status"] == 1
        assert any(event.event == "info" and "read-only" in event.data for event in sample.events)

    def test_the_verdict_is_there_with_its_explanation(self, sample: Any) -> None:
        values = {name: score.value for name, score in sample.scores.items()}
        assert values == {"success": "C", "valid": True, "score": pytest.approx(70), "improvement": 0.3}
        assert "+30.0 %" in sample.scores["success"].explanation
        assert "Measured here." in sample.scores["success"].explanation
        assert sample.scores["success"].metadata["baseline"]["mean"] == 100
        assert sample.scores["success"].answer == "RMSE 0.13"

    def test_usage_times_and_limits_are_there(self, sample: Any) -> None:
        usage = sample.model_usage["test/told"]
        assert (usage.input_tokens, usage.input_tokens_cache_read, usage.output_tokens) == (1100, 300, 90)
        assert usage.total_cost == pytest.approx(0.05)
        assert sample.role_usage["fast"].output_tokens == 10
        assert (sample.limit.type, sample.limit.limit) == ("turn", 3)
        assert sample.total_time == 10.0 and sample.working_time == 8.0
        assert sample.metadata["variant"] == "mini" and sample.metadata["data_digest"] == "d" * 64
        assert sample.metadata["task_version"] == "1" and sample.metadata["seed"] == 0

    def test_there_is_a_log_for_each_task_agent_and_model_and_each_run_is_in_one(
        self, runs: Path, tmp_path: Path
    ) -> None:
        for number, (agent, model, gain) in enumerate(
            [("research", "test/told", 0.3), ("research", "test/told", None), ("starter", "", 0.0)]
        ):
            grade = graded("snapshot-3", gain)
            write_run(runs, f"20260101-000000-{number}", told().events, [grade], agent=agent, model=model)
        broken = write_run(runs, "20260101-000000-3", told().events, model="test/told")
        broken.events_file.write_bytes(broken.events_file.read_bytes()[:-50] + b"\n")
        unfinished = write_run(runs, "20260101-000000-4", told().events[:4], model="test/told")
        unfinished.summary_file.unlink(missing_ok=True)
        logs = {log.eval.solver: log for log in map(read_log, export([runs], tmp_path / "out", "inspect"))}
        assert set(logs) == {"research", "starter"}
        log = logs["research"]
        assert (log.eval.task, log.eval.task_version, log.eval.model) == ("house-price", 1, "test/told")
        assert logs["starter"].eval.model == "none/none"
        ids = [sample.id for sample in log.samples]
        assert ids == [f"20260101-000000-{number}" for number in (0, 1, 3, 4)]
        metrics = {score.name: score.metrics["mean"].value for score in log.results.scores if score.metrics}
        assert metrics["success"] == 0.25, "every run stays in the denominator"
        assert metrics["improvement"] == 0.3
        problems = {sample.id[-1]: sample.error.message for sample in log.samples if sample.error}
        assert "line" in problems["3"] and "has not ended" in problems["4"] and set(problems) == {"3", "4"}

    def test_a_run_away_from_its_store_is_told_without_what_was_asked(
        self, runs: Path, tmp_path: Path
    ) -> None:
        run = write_run(runs, "20260101-000000-a", told().events, model="test/told")
        (alone := tmp_path / "alone" / "a" / "b" / "c").mkdir(parents=True)
        moved = run.path.rename(alone / run.path.name)
        (sample,) = read_log(export([moved], tmp_path / "out", "inspect")[0]).samples
        calls = [event for event in sample.events if event.event == "model"]
        assert calls[0].input == [] and "not in the store" in calls[0].metadata["problem"]

    def test_a_copied_run_is_told_apart(self, runs: Path, tmp_path: Path) -> None:
        import shutil

        run = write_run(runs, "20260101-000000-a", told().events, model="test/told")
        shutil.copytree(run.path, run.path.with_name("20260101-000000-b"))
        (file,) = export([runs], tmp_path / "out", "inspect")
        assert [sample.id for sample in read_log(file).samples] == [
            "20260101-000000-a", "20260101-000000-a-copy-2",
        ]  # fmt: skip

    def test_the_archive_holds_what_inspect_view_asks_for(self, runs: Path, tmp_path: Path) -> None:
        write_run(runs, "20260101-000000-a", told().events, model="test/told")
        (file,) = export([runs], tmp_path / "out", "inspect")
        from inspect_ai.log import list_eval_logs

        (listed,) = list_eval_logs(str(tmp_path / "out"))
        assert listed.task == "house-price-1-mini" or listed.task == "house-price"
        with zipfile.ZipFile(file) as archive:
            assert {"header.json", "summaries.json", "_journal/start.json"} <= set(archive.namelist())

    def test_written_again_it_is_the_same(self, runs: Path, tmp_path: Path) -> None:
        write_run(runs, "20260101-000000-a", told().events, model="test/told")
        (one,), (other,) = (export([runs], tmp_path / name, "inspect") for name in ("one", "other"))
        with zipfile.ZipFile(one) as left, zipfile.ZipFile(other) as right:
            assert left.namelist() == right.namelist()
            assert all(left.read(name) == right.read(name) for name in left.namelist())


@pytest.mark.parametrize(("format", "module"), [("inspect", "inspect_ai"), ("parquet", "pyarrow")])
def test_without_its_library_a_format_says_what_to_install(
    format: str, module: str, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(runs, "20260101-000000-a", told().events)
    for name in [
        name for name in sys.modules if name.startswith(("mlagentbench.record.inspect_", f"{module}."))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match="pip install"):
        export([runs], tmp_path / "out", format)
    assert not (tmp_path / "out").exists()


def test_a_folder_without_runs_and_an_unknown_format_are_refused(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There are no runs"):
        export([runs], tmp_path / "out")
    with pytest.raises(RecordError, match="does not exist"):
        export([tmp_path / "nothing"], tmp_path / "out")
    write_run(runs, "20260101-000000-a", told().events)
    with pytest.raises(UsageError, match="jsonl"):
        export([runs], tmp_path / "out", "excel")


@pytest.mark.parametrize("format", ["jsonl", "inspect"])
def test_memory_does_not_grow_with_the_number_of_runs(format: str, runs: Path, tmp_path: Path) -> None:
    history = History()
    for number in range(10):
        history.call("z" * 20_000).step("Execute Script", str(number) * 20_000, ran=True)
    events = [*history.end().events, Note(text="end")]
    for number in range(24):
        write_run(
            runs / ("few" if number < 4 else "many"), f"20260101-000000-{number:02}", events, model="a/b"
        )

    def peak(place: str) -> int:
        export([runs / place], tmp_path / f"{format}-{place}-warm", format)
        tracemalloc.start()
        export([runs / place], tmp_path / f"{format}-{place}", format)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    assert peak("many") < 1.5 * peak("few"), "five times as many runs"


def test_a_run_folder_and_the_folder_above_it_name_a_run_once(runs: Path, tmp_path: Path) -> None:
    run = write_run(runs, "20260101-000000-a", told().events)
    assert len(lines(export([runs, run.path], tmp_path / "out", "jsonl")[0])) == 1
    assert RunFolder.open(run.path).summary_file.exists()
