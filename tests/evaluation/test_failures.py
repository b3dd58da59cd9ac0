"""One failure mode a run, as it was planted."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.histories import History
from support.planted import PLANTED, Planted, confusion, found
from support.runs import graded

from mlagentbench.evaluation.claims import Claims
from mlagentbench.evaluation.failures import Failure, rule
from mlagentbench.evaluation.process import process_of
from mlagentbench.record.annotations import MODES
from mlagentbench.record.events import RunStarted

DOCS = Path(__file__).parents[2] / "docs" / "process.md"


@pytest.fixture(scope="module")
def all_found(tmp_path_factory: pytest.TempPathFactory, tiny_task: Path) -> dict[str, Failure]:
    folder = tmp_path_factory.mktemp("planted")
    return {
        each.name: found(each, tiny_task, folder / str(number) / "runs")
        for number, each in enumerate(PLANTED)
    }


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_a_planted_failure_is_found_as_what_it_is(planted: Planted, all_found: dict[str, Failure]) -> None:
    failure = all_found[planted.name]
    assert failure.mode == planted.mode, failure.evidence
    assert failure.by == "rules" and 10 < len(failure.evidence) <= 500


def test_every_mode_is_planted_at_least_three_times() -> None:
    assert {mode: sum(each.mode == mode for each in PLANTED) >= 3 for mode in MODES} == dict.fromkeys(
        MODES, True
    )


def test_the_table_in_the_docs_is_the_one_that_is_measured(all_found: dict[str, Failure]) -> None:
    table = confusion([(each.mode, all_found[each.name].mode) for each in PLANTED])
    assert table in DOCS.read_text(encoding="utf-8"), "run tools/process_tables.py"


def test_the_evidence_names_what_was_seen(all_found: dict[str, Failure]) -> None:
    said = {name: (failure.step, failure.evidence) for name, failure in all_found.items()}
    assert "1.25" in said["made-up score in the answer"][1]
    assert said["four failing programs"][0] == 2 and "ModuleNotFoundError" in said["four failing programs"][1]
    assert "tokenizer" in said["an agent that crashes"][1]
    assert "cut off" in said["replies that are cut off"][1]
    assert "steps (6)" in said["steps used up while at work"][1]
    assert "circles" in said["round in circles"][1]


def test_a_run_that_goes_on_has_not_failed() -> None:
    events = [RunStarted(problem="", snapshot="")]
    assert rule(events, None, process_of(events), Claims()).mode == "none"


def test_an_agent_that_decides_by_scripts_is_judged_by_the_replies_that_hold_them() -> None:
    told = History().call(role="edit").step("No Action").call(role="edit").step("Execute Script", ran=True)
    events = told.step("Final Answer").end().events
    failure = rule(events, graded("snapshot-3", 0.0), process_of(events), Claims())
    assert failure.mode == "bad plan", failure.evidence
