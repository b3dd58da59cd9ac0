"""That the measurements run and are told rightly. What they find is not judged here: a clock decides no test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import overhead
import pytest
from demands import Row, settled, table

DEMANDS = (
    "a step that executes nothing, 1 MB in 2 files",
    "· step 40 against step 10",
    "a step that executes a one-line script, 1 MB in 2 files",
    "a step that executes nothing, 2 MB in 150 files",
    "· step 40 against step 10",
    "a step that executes a one-line script, 2 MB in 150 files",
    "50 mixed steps, 2 MB in 150 files: times faster than the copying way",
    "· on disk when the run has ended, against the workspace and what changed",
    "`mlagentbench run` up to the first action, CPU time",
    "`mlagentbench --help`, CPU time",
)


def test_a_quick_look_prints_every_demand(tmp_path: Path):
    argv = [sys.executable, overhead.__file__, "--quick", "--folder", str(tmp_path)]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    head, rule, *lines = ended.stdout.splitlines()
    assert _cells(head) == ["what", "measured", "demanded", "holds"]
    assert set(rule) <= set("|-")
    demanded = [_cells(line) for line in lines if _cells(line)[2]]
    assert tuple(cells[0] for cells in demanded) == DEMANDS
    on_disk = next(cells for cells in demanded if "on disk" in cells[0])
    assert on_disk[3] == "yes", "bytes on disk depend on no clock"
    assert list(tmp_path.iterdir()) == [], "everything it made is gone"


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("row", "holds"),
    [
        (Row("", 1.0, "x"), True),
        (Row("", 1.0, "x", limit=1.0), True),
        (Row("", 1.1, "x", limit=1.0), False),
        (Row("", 1.1, "x", limit=1.0, at_least=True), True),
        (Row("", 0.9, "x", limit=1.0, at_least=True), False),
    ],
)
def test_a_row_knows_whether_its_demand_holds(row: Row, holds: bool):
    assert row.holds is holds
    assert row.as_json()["holds"] is holds


def test_a_missed_demand_stands_out():
    missed, kept = table(
        [Row("slow", 0.3, "ms", "why", 0.2), Row("quick", 0.1, "ms", limit=0.2)]
    ).splitlines()[2:]
    assert _cells(missed) == ["slow", "300.0 ms (why)", "at most 200.0 ms", "**NO**"]
    assert _cells(kept) == ["quick", "100.0 ms", "at most 200.0 ms", "yes"]


def test_what_misses_is_measured_again_and_what_holds_is_not():
    values = iter([3.0, 2.0, 1.0, 0.5])
    (row,) = settled(lambda: [Row("", next(values), "x", limit=1.5)], 4)
    assert (row.value, row.tries) == (1.0, 3)
    values = iter([3.0, 2.0])
    (row,) = settled(lambda: [Row("", next(values), "x", limit=1.5)], 2)
    assert not row.holds
