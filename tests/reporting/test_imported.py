"""A report of runs of the original benchmark: what nobody knows of them is said to be unknown, in every format."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest
from support.histories import History
from support.oldruns import TURNS, old_run
from support.runs import graded, write_run

from mlagentbench import import_runs
from mlagentbench.record.annotations import FailureMark, add_annotations
from mlagentbench.record.folder import RunFolder
from mlagentbench.reporting.report import Written, report

UNKNOWN = (
    "seed", "version", "sandbox", "host", "success", "decided", "improvement", "failure", "cost", "model_seconds",
    "waiting_seconds", "execution_seconds", "harness_seconds", "execution_cpu", "peak_memory", "denied",
)  # fmt: skip


@pytest.fixture
def written(tmp_path: Path, runs: Path) -> Written:
    """Three imported runs: one whole, one with a trace that is cut off, one that lost its thoughts and its time. Beside
    them is one of our own, of the same task."""
    logs = tmp_path / "logs"
    old_run(logs / "whole")
    trace = old_run(logs / "cut", TURNS[:3]) / "env_log" / "trace.json"
    trace.write_bytes(trace.read_bytes()[: trace.stat().st_size // 2])
    lost = old_run(logs / "cifar10" / "lost")
    shutil.rmtree(lost / "agent_log")
    shutil.rmtree(lost / "env_log" / "tool_logs")
    (lost / "env_log" / "overall_time.txt").unlink()
    assert all(each.ok for each in import_runs(logs, runs=runs))
    own = (
        History()
        .call("Plan")
        .step("Execute Script", "fine", ran=True, snapshot="s")
        .step("Final Answer")
        .end()
    )
    write_run(
        runs,
        "own",
        own.events,
        [graded("snapshot-2", 0.2)],
        task="cifar10@1",
        variant="full",
        model="test/told",
    )
    return report(runs, output=tmp_path / "report")


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def _section(written: Written, title: str) -> str:
    text = (written.folder / "report.md").read_text("utf-8").replace("\\", "")
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def _line(section: str, start: str) -> list[str]:
    (line,) = [line for line in section.splitlines() if line.startswith(f"| {start}")]
    return line.strip("| ").split(" | ")


def test_what_is_unknown_is_null_in_tables(written: Written) -> None:
    rows = _rows(written.folder / "runs.csv")
    imported = [row for row in rows if row["imported"] == "true"]
    assert len(rows) == 4 and len(imported) == 3
    for row in imported:
        assert {name: row[name] for name in UNKNOWN} == dict.fromkeys(UNKNOWN, "")
    (own,) = [row for row in rows if row["imported"] == "false"]
    assert all(own[name] for name in UNKNOWN)
    known = {row["model"]: (row["seconds"], row["tokens_in"], row["model_calls"]) for row in imported}
    assert known[""] == ("", "", "")
    assert "42.5" in {row["seconds"] for row in imported} and "5100" in {row["tokens_in"] for row in imported}
    for step in _rows(written.folder / "steps.csv"):
        if step["run"] != "own":
            assert not any(
                step[name] for name in ("seconds", "wall_seconds", "cpu_seconds", "peak_memory", "cost")
            )


def test_parquet_has_null_too(written: Written) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = parquet.read_table(written.folder / "runs.parquet").to_pylist()
    for row in rows:
        assert all((row[name] is None) == row["imported"] for name in UNKNOWN)


def test_time_and_cost_have_no_zeros_for_what_is_unknown(written: Written) -> None:
    section = _section(written, "Cost and time")
    whole = _line(section, "research · anthropic/claude-v1")
    assert whole[1] == "not known" and whole[6] == "37.5 s" and whole[7:10] == ["–"] * 3
    assert _line(section, "unknown")[3:10] == ["–"] * 7
    assert _line(section, "research · test/told")[8] != "–"
    assert "imported runs do not tell it" in section
    page = written.page.read_text("utf-8")
    assert "3 runs of which this is not known are left out" in page
    drawn = (written.folder / "figures" / "time-by-agent.svg").read_text("utf-8")
    assert "test/told" in drawn and "claude-v1" not in drawn and "unknown" not in drawn


def test_conditions_of_imported_runs_are_not_ours(written: Written) -> None:
    section = _section(written, "Conditions")
    assert "| hardware | not known: made elsewhere | 3 |" in section
    assert "| version of mlagentbench | none: made elsewhere | 3 |" in section
    assert "unknown, unknown" not in section and "0 cores" not in section
    assert section.count("| research | anthropic/claude-v1 | not known | 50 steps, 300 minutes | 1 |") == 2
    assert _line(section, "unknown | not known")[2:] == ["not known", "not known", "1"]


def test_what_they_lack_and_which_were_damaged_is_told_with_counts(written: Written) -> None:
    section = _section(written, "What was left out")
    assert "Nothing was left out" not in section
    assert "3 runs were imported from the original benchmark" in section
    assert "what they cost (of 3)" in section and "how long they took (of 1)" in section
    assert "of 1: There is no agent_log, so what the agent thought is not known." in section
    assert "1 imported run was read from a damaged folder" in section
    assert "(research · anthropic/claude-v1, cifar10@1): env_log/trace.json is no whole JSON" in section
    assert "3 imported runs are not graded here." in section


def test_without_a_grade_nobody_says_why_it_failed(written: Written) -> None:
    text = (written.folder / "report.md").read_text("utf-8")
    assert "infrastructure 1" not in text and "infrastructure 2" not in text
    assert "Of 3 runs that were imported and not graded here, nobody knows the outcome." in text
    modes = _section(written, "Why runs failed")
    heads = _line(modes, "agent")
    for agent, number in (
        ("research · anthropic/claude-v1", "2"),
        ("unknown", "1"),
        ("research · test/told", "0"),
    ):
        row = dict(zip(heads, _line(modes, agent), strict=True))
        assert (row["not graded"], row["infrastructure"]) == (number, "0")


def test_a_person_can_still_say_why_it_failed(tmp_path: Path, runs: Path) -> None:
    (done,) = import_runs(old_run(tmp_path / "logs" / "one"), runs=runs)
    assert done.run is not None
    add_annotations(RunFolder.open(done.run), failure=FailureMark(mode="bad plan", ruled="none"))
    written = report(runs, output=tmp_path / "report")
    assert "(bad plan 1)" in (written.folder / "report.md").read_text("utf-8")


def test_where_nothing_is_known_of_time_it_is_not_drawn(tmp_path: Path, runs: Path) -> None:
    folder = old_run(tmp_path / "logs" / "one")
    (folder / "env_log" / "overall_time.txt").unlink()
    import_runs(folder, runs=runs)
    written = report(runs, output=tmp_path / "report")
    assert not list((written.folder / "figures").glob("time-*"))
    assert "Where the time went is not known of any run" in _section(written, "Cost and time")
