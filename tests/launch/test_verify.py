"""Each kind of damage to a run is found, and an undamaged one is found whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.acting import execute, executing, play, submitting, writing

from mlagentbench import Environment, Run, verify
from mlagentbench.grading.grade import Grade, Interval
from mlagentbench.launch.verify import agree
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.packing import objects_of


@pytest.fixture
def made(tiny_task: Path, runs: Path) -> Run:
    talk = writing(
        "talk.py", "print('much\\n' * 20_000); open('own.bin', 'wb').write(bytes(range(256)) * 999)"
    )
    return play(tiny_task, [talk, executing("talk.py"), executing("train.py"), submitting()], runs)


def test_an_undamaged_run_is_found_whole_and_is_graded_again(made: Run) -> None:
    checked = verify(made.folder)
    assert checked.ok and checked.problems == []
    said = " ".join(checked.checked)
    assert "4 steps" in said and "objects" in said and "the same verdict when graded again" in said


def test_without_grading_again_it_reads_only(made: Run) -> None:
    assert not any("verdict" in line for line in verify(made.folder, regrade=False).checked)


def change_event(made: Run) -> None:
    events = made.folder / "events.jsonl"
    events.write_bytes(events.read_bytes().replace(b"much", b"many", 1))


def change_last_event(made: Run) -> None:
    events = made.folder / "events.jsonl"
    data = events.read_bytes()
    last = data.rstrip(b"\n").rfind(b"\n")
    events.write_bytes(data[:last] + data[last:].replace(b'"submitted"', b'"stopped"'))


def drop_last_event(made: Run) -> None:
    events = made.folder / "events.jsonl"
    events.write_bytes(b"".join(events.read_bytes().splitlines(keepends=True)[:-1]))
    assert (made.folder / "summary.json").exists()


def change_request(made: Run) -> None:
    file = made.folder / "run.json"
    file.write_text(
        file.read_text().replace('"network":false', '"network": false').replace('"seed"', ' "seed"')
    )


def an_object(made: Run, smallest: int = 0) -> Path:
    folder = RunFolder.open(made.folder)
    paths = (folder.store().folder / "objects" / name for name in objects_of(folder))
    return next(path for path in paths if path.stat().st_size > smallest)


def remove_object(made: Run) -> None:
    an_object(made).unlink()


def corrupt_object(made: Run) -> None:
    path = an_object(made, smallest=1000)
    data = bytearray(path.read_bytes())
    data[500] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)


def cut_object(made: Run) -> None:
    path = an_object(made, smallest=1000)
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-1])


def change_grade(field: str, value: object) -> Callable[[Run], None]:
    def change(made: Run) -> None:
        file = made.folder / "grades.json"
        grades = json.loads(file.read_text())
        for grade in grades["grades"].values():
            assert grade[field] != value
            grade[field] = value
        file.write_text(json.dumps(grades))

    return change


def spoil_grades(made: Run) -> None:
    (made.folder / "grades.json").write_text("{")


def remove_grades(made: Run) -> None:
    (made.folder / "grades.json").unlink()


def change_summary(made: Run) -> None:
    file = made.folder / "summary.json"
    summary = json.loads(file.read_text())
    summary["grade"]["success"] = True
    file.write_text(json.dumps(summary))


def remove_output(made: Run) -> None:
    (output,) = (made.folder / "outputs").iterdir()
    output.unlink()


def move_from_store(made: Run) -> None:
    store = RunFolder.open(made.folder).store().folder
    store.rename(store.with_name("elsewhere"))


DAMAGE: dict[str, tuple[Callable[[Run], None], str]] = {
    "a changed event": (change_event, "line 2"),
    "a changed last event": (change_last_event, "line 6"),
    "a missing last event": (drop_last_event, "was cut"),
    "a changed request": (change_request, "line 1"),
    "a missing object": (remove_object, "missing"),
    "a corrupted object": (corrupt_object, "damaged"),
    "an object cut short": (cut_object, "damaged"),
    "a changed score": (change_grade("score", 0.001), "Graded again"),
    "a changed success": (change_grade("success", True), "Graded again"),
    "a changed improvement": (change_grade("improvement", 0.9), "does not follow"),
    "a verdict turned invalid": (change_grade("valid", False), "Graded again"),
    "grades that cannot be read": (spoil_grades, "grades.json"),
    "no grades": (remove_grades, "not graded"),
    "a changed summary": (change_summary, "summary.json"),
    "a missing output": (remove_output, "whole output of step 2"),
    "no store": (move_from_store, "snapshots"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_found_and_named(made: Run, what: str) -> None:
    damage, words = DAMAGE[what]
    damage(made)
    checked = verify(made.folder)
    assert not checked.ok
    assert words in " ".join(checked.problems), checked.problems


def test_a_run_that_has_not_ended_is_whole_as_far_as_it_is(env: Environment) -> None:
    execute(env, "print('so far')")
    checked = verify(env.folder.path)
    assert checked.ok and any("has not ended" in line for line in checked.checked)


def test_verifying_leaves_no_trace(made: Run) -> None:
    before = {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")}
    verify(made.folder)
    assert {path: path.stat().st_mtime_ns for path in made.folder.rglob("*")} == before


def verdict(score: float | None, success: bool = True, timed: bool = False) -> Grade:
    interval = Interval(low=score, high=score) if timed and score is not None else None
    return Grade(
        task="t@1", variant="mini", valid=score is not None, score=score, interval=interval, success=success
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (verdict(0.058, timed=True), verdict(0.063, timed=True), True),
        (verdict(0.058, timed=True), verdict(0.3, timed=True), False),
        (verdict(0.85, timed=True), verdict(0.92, success=False, timed=True), False),
        (verdict(0.058, timed=True), verdict(None, success=False), False),
        (verdict(0.058), verdict(0.058), True),
        (verdict(0.058), verdict(0.0580001), False),
    ],
)
def test_a_ratio_of_times_agrees_with_a_near_one_and_a_plain_score_with_itself_alone(
    one: Grade, other: Grade, same: bool
) -> None:
    assert agree(one, other) == agree(other, one) == same
