"""What runs on one task gain."""

from __future__ import annotations

from pathlib import Path

from support.histories import History
from support.runs import graded, write_run

from mlagentbench.evaluation.gains import gains_of
from mlagentbench.record.summary import Summary, read_summary


def summaries(runs: Path, *gains: float | str | None) -> list[Summary]:
    """One run each: a gain, None for one that left nothing valid, a word for one of which the gain is not known."""
    found = []
    for seed, gain in enumerate(gains):
        grade = (
            graded("snapshot-1", 0.0).model_copy(update={"improvement": None})
            if isinstance(gain, str)
            else graded("snapshot-1", gain)
        )
        events = History().step("Final Answer").end().events
        found.append(read_summary(write_run(runs, f"run-{seed}", events, [grade], seed=seed)))
    return found


def test_what_left_nothing_valid_gained_nothing(tmp_path):
    assert gains_of(summaries(tmp_path, 0.5, None)) == [(0, 0.5), (1, 0.0)]
    assert gains_of(summaries(tmp_path / "none", None, None)) == [(0, 0.0), (1, 0.0)]


def test_where_no_gain_can_be_known_failures_alone_do_not_make_one(tmp_path):
    assert gains_of(summaries(tmp_path, "unknown", None)) == []
    assert gains_of(summaries(tmp_path / "some", "unknown", 0.5, None)) == [(1, 0.5), (2, 0.0)]
