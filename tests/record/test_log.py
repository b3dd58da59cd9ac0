"""The chain of events: what was written is read back, and any byte that changed is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.acting import executing, listing, play, submitting, writing

from mlagentbench.errors import RecordError
from mlagentbench.record.events import (
    EVENT,
    Denied,
    Edit,
    Event,
    LimitHit,
    Note,
    PathChange,
    Resumed,
    RunEnded,
    RunStarted,
    StepTaken,
)
from mlagentbench.record.folder import RunFolder, find_runs
from mlagentbench.record.log import EventLog, History, read_history
from mlagentbench.record.steps import Action, Execution, Observation, Primitive

ROOT = b'{"what": "was asked"}'

text = st.text(max_size=40)
json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
numbers = st.floats(0, 1e9)
actions = st.builds(Action, text, st.dictionaries(text, json, max_size=3))
observations = st.builds(
    Observation,
    text=text,
    ok=st.booleans(),
    output=text,
    execution=st.none()
    | st.builds(
        Execution,
        exit_status=st.none() | st.integers(0, 255),
        signal=st.none(),
        wall_seconds=numbers,
        cpu_seconds=numbers,
        peak_memory=st.integers(0, 2**40),
    ),
)
events: st.SearchStrategy[Event] = st.one_of(
    st.builds(RunStarted, problem=text, snapshot=text),
    st.builds(
        StepTaken,
        index=st.integers(1, 1000),
        action=actions,
        observation=observations,
        primitives=st.tuples(st.builds(Primitive, action=actions, observation=observations)) | st.just(()),
        snapshot=text,
        changes=st.tuples(st.builds(PathChange, path=text, kind=st.just("added"))) | st.just(()),
        edits=st.tuples(st.builds(Edit, source=text, saved=text)) | st.just(()),
        seconds=numbers,
        elapsed=numbers,
    ),
    st.builds(Denied, text=text),
    st.builds(LimitHit, name=st.sampled_from(["steps", "time"]), value=numbers),
    st.builds(Note, text=text),
    st.builds(Resumed, step=st.integers(0, 9), dropped=st.integers(0, 9)),
    st.builds(RunEnded, reason=st.just("limit"), detail=text, snapshot=text, elapsed=numbers),
)


def write(file: Path, log: list[Event], history: History | None = None) -> None:
    writer = EventLog(file, history or read_history(file, ROOT))
    for event in log:
        writer.append(event)
    writer.close()


@settings(deadline=None)
@given(log=st.lists(events, max_size=6))
def test_events_are_read_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, log: list[Event]
) -> None:
    file = tmp_path_factory.mktemp("log") / "events.jsonl"
    write(file, log)
    history = read_history(file, ROOT)
    assert list(history.events) == log
    assert history.dropped == 0 and history.intact == (file.stat().st_size if log else 0)


@settings(max_examples=200, deadline=None)
@given(
    log=st.lists(events, min_size=1, max_size=4),
    where=st.integers(0, 10**6),
    change=st.integers(1, 255),
)
def test_any_changed_byte_is_noticed(
    tmp_path_factory: pytest.TempPathFactory, log: list[Event], where: int, change: int
) -> None:
    file = tmp_path_factory.mktemp("log") / "events.jsonl"
    write(file, log)
    data = bytearray(file.read_bytes())
    data[where % len(data)] ^= change
    file.write_bytes(data)
    try:
        history = read_history(file, ROOT)
    except RecordError as error:
        assert "line" in str(error)
    else:  # the last newline is gone: a torn line, which is dropped and counted
        assert where % len(data) == len(data) - 1
        assert list(history.events) == log[:-1] and history.dropped > 0


@settings(deadline=None)
@given(log=st.lists(events, min_size=1, max_size=4), where=st.integers(0, 10**6), change=st.integers(1, 255))
def test_a_changed_byte_of_what_was_asked_breaks_the_chain(
    tmp_path_factory: pytest.TempPathFactory, log: list[Event], where: int, change: int
) -> None:
    file = tmp_path_factory.mktemp("log") / "events.jsonl"
    write(file, log)
    root = bytearray(ROOT)
    root[where % len(root)] ^= change
    with pytest.raises(RecordError, match="line 1"):
        read_history(file, bytes(root))


@settings(deadline=None)
@given(log=st.lists(events, min_size=2, max_size=5), data=st.data())
def test_lines_that_are_missing_moved_or_doubled_break_the_chain(
    tmp_path_factory: pytest.TempPathFactory, log: list[Event], data: st.DataObject
) -> None:
    file = tmp_path_factory.mktemp("log") / "events.jsonl"
    write(file, log)
    lines = file.read_bytes().splitlines(keepends=True)
    which = data.draw(st.integers(0, len(lines) - 2))
    for changed in (
        lines[:which] + lines[which + 1 :],
        [*lines[:which], lines[which + 1], lines[which], *lines[which + 2 :]],
        [*lines[: which + 1], lines[which], *lines[which + 1 :]],
    ):
        file.write_bytes(b"".join(changed))
        with pytest.raises(RecordError):
            read_history(file, ROOT)


@settings(deadline=None)
@given(
    log=st.lists(events, min_size=1, max_size=4), cut=st.integers(1, 10**6), more=st.lists(events, max_size=2)
)
def test_a_log_cut_anywhere_keeps_its_whole_lines_and_goes_on_from_there(
    tmp_path_factory: pytest.TempPathFactory, log: list[Event], cut: int, more: list[Event]
) -> None:
    file = tmp_path_factory.mktemp("log") / "events.jsonl"
    write(file, log)
    data = file.read_bytes()[: cut % file.stat().st_size]
    file.write_bytes(data)
    kept = log[: data.count(b"\n")]
    history = read_history(file, ROOT)
    assert list(history.events) == kept
    assert history.dropped == len(data) - (data.rfind(b"\n") + 1)
    write(file, more, history)
    assert list(read_history(file, ROOT).events) == kept + more


def test_an_event_of_a_later_version_is_told_as_that(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    write(file, [Note(text="known")])
    assert EVENT.validate_json(Note(text="known").model_dump_json())

    class Later:
        def model_dump_json(self) -> str:
            return '{"type":"telepathy","format":1,"time":1}'

    writer = EventLog(file, read_history(file, ROOT))
    writer.append(Later())  # type: ignore[arg-type]
    writer.close()
    with pytest.raises(RecordError, match="line 2 holds no event that this version knows"):
        read_history(file, ROOT)


def test_a_real_record_notices_a_change_at_every_byte(tiny_task: Path, runs: Path) -> None:
    """One flipped bit at each of many places of `events.jsonl` and `run.json`."""
    made = play(tiny_task, [writing("a.txt", "a"), listing(), executing("train.py"), submitting()], runs)
    folder = RunFolder.open(made.folder)
    for file in (folder.events_file, folder.request_file):
        whole = file.read_bytes()
        for place in range(0, len(whole) - 1, 7):
            data = bytearray(whole)
            data[place] ^= 1
            file.write_bytes(data)
            with pytest.raises(RecordError):
                folder.history()
        file.write_bytes(whole)
    folder.history()


def test_a_run_is_written_by_one_process_at_a_time(tiny_task: Path, runs: Path) -> None:
    made = play(tiny_task, [submitting()], runs)
    one, other = RunFolder.open(made.folder), RunFolder.open(made.folder)
    one.lock()
    with pytest.raises(RecordError, match="another process"):
        other.lock()
    one.unlock()
    other.lock()
    other.unlock()


def test_a_damaged_request_is_told_with_its_file(tiny_task: Path, runs: Path) -> None:
    folder = RunFolder.open(play(tiny_task, [submitting()], runs).folder)
    folder.request_file.write_text("{}")
    with pytest.raises(RecordError, match=r"run\.json is damaged"):
        folder.request()


def test_runs_are_found_below_a_folder_and_those_that_an_agent_faked_are_not(
    tiny_task: Path, runs: Path
) -> None:
    made = [play(tiny_task, [submitting()], runs, experiment=name).folder for name in ("one", "two")]
    fake = made[0] / "workspace" / "run.json"
    fake.parent.mkdir()
    fake.write_text("{}")
    assert [folder.path for folder in find_runs([runs])] == sorted(made, key=lambda path: path.name)
    assert [folder.path for folder in find_runs([made[1]])] == [made[1]]
    with pytest.raises(RecordError, match="does not exist"):
        find_runs([runs / "nowhere"])
    with pytest.raises(RecordError, match="not a run"):
        RunFolder.open(runs / "one")
