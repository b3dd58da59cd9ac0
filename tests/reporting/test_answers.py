"""What the report says first, in sentences."""

from __future__ import annotations

from pathlib import Path

from support.histories import History
from support.runs import graded, write_run

from mlagentbench.evaluation.profile import make_profile
from mlagentbench.reporting.answers import answers
from mlagentbench.reporting.reading import Seen
from mlagentbench.reporting.tally import Field


def seen(runs: Path, agent: str, task: str, gain: float) -> Seen:
    events = History().step("Execute Script", ran=True).step("Final Answer").end().events
    folder = write_run(
        runs, f"{agent}-{task}", events, [graded("snapshot-2", gain)], agent=agent, task=f"{task}@1"
    )
    return Seen(folder.path, make_profile(folder), "")


def test_success_on_tasks_that_not_all_have_is_not_denied(tmp_path):
    runs = [
        seen(tmp_path, "a", "one", 0.05),
        seen(tmp_path, "b", "one", 0.0),
        seen(tmp_path, "b", "two", 0.5),
    ]
    which = " ".join(answers(Field("mini", runs))[0].sentences)
    assert "No agent succeeded" not in which
    assert "Nobody succeeds more often than a" in which and "over the 1 task that all agents" in which
