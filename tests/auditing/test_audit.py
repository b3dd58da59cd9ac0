"""The audit passes the task that `new-task` makes; and broken in any way that it must catch, it catches it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.tasks import original_task, replace_in, without_folder

from mlagentbench import audit
from mlagentbench.auditing.report import AuditReport
from mlagentbench.errors import UsageError


def failed(report: AuditReport) -> dict[str, str]:
    return {item.name: item.detail for item in report.failures}


def test_the_template_passes_every_item(tiny_task: Path) -> None:
    report = audit(tiny_task, starter_runs=3)
    assert report.ok, failed(report)
    assert {item.name for item in report.items} >= {
        "the problem's text is whole",
        "preparing twice gives the same bytes",
        "the starter runs and yields a baseline",
        "the plain model beats or equals the starter",
        "the oracle beats the starter by the threshold",
        "the starter's noise is below the threshold",
        "the untouched starter does not succeed",
        "grading twice gives the same verdict",
        "the order of rows does not matter",
        "nothing private can be reached from the workspace",
        "no public table holds the answers",
    }
    assert sum(item.name.startswith("malformed: ") for item in report.items) >= 12
    assert sum(item.name.startswith("worthless: ") for item in report.items) >= 3
    assert len(report.references.starter) == 3 and report.references.oracle and report.references.plain


def test_the_template_passes_with_a_key_and_in_its_other_variant(own_task: Path) -> None:
    report = audit(own_task, variant="full", key="a secret", seed=4)
    assert report.ok, failed(report)


def starter_crashes(task: Path) -> None:
    replace_in(task / "starter" / "train.py", "def main() -> None:", "def main() -> None:\n    1 / 0")


def starter_writes_nothing(task: Path) -> None:
    replace_in(task / "starter" / "train.py", '"submission.csv"', '"elsewhere.csv"')


def starter_is_the_oracle(task: Path) -> None:
    (task / "starter" / "train.py").write_text((task / "solution" / "train.py").read_text())


def plain_is_worse(task: Path) -> None:
    replace_in(
        task / "plain" / "train.py", 'sum(other["distance"] for other in nearest) / len(nearest)', "0.0"
    )


def plain_is_missing(task: Path) -> None:
    without_folder(task, "plain")


def oracle_is_missing(task: Path) -> None:
    without_folder(task, "solution")


def oracle_crashes(task: Path) -> None:
    replace_in(task / "solution" / "train.py", "def main() -> None:", "def main() -> None:\n    1 / 0")


def oracle_is_hardly_better(task: Path) -> None:
    (task / "solution" / "train.py").write_text((task / "starter" / "train.py").read_text())


def bands_are_elsewhere(task: Path) -> None:
    file = task / "task.toml"
    file.write_text(file.read_text() + "[variants.mini.bands]\noracle = [1000.0, 2000.0]\n")


def grade_with(body: str) -> Callable[[Path], None]:
    """A grader with another body; `truth` and the submission's lines are at hand."""

    def change(task: Path) -> None:
        (task / "grade.py").write_text(
            "import csv, math, random\nfrom mlagentbench.errors import SubmissionRefusedError\n"
            "from mlagentbench.grading.table import number, read_submission\n\n"
            "def good(submission, truth):\n"
            "    return read_submission(submission, 'id', {'distance': number(-1e6, 1e6)}, truth)\n\n"
            "def error(rows, truth):\n"
            "    return math.fsum(abs(rows[i]['distance'] - truth[i]) for i in truth) / len(truth)\n\n"
            "def grade(submission, private):\n"
            "    with open(private / 'answers.csv', newline='') as stream:\n"
            "        truth = {row['id']: float(row['distance']) for row in csv.DictReader(stream)}\n"
            + "".join(f"    {line}\n" for line in body.splitlines())
        )

    return change


def loose(reading: str) -> Callable[[Path], None]:
    """A grader that reads rows in its own, careless way, and scores whatever it got."""
    return grade_with(
        "with open(submission, newline='', errors='replace') as stream:\n"
        "    lines = list(csv.DictReader(stream))\n"
        f"{reading}\n"
        "return math.fsum(abs(rows.get(i, 0.0) - truth[i]) for i in truth) / len(truth)"
    )


by_position = grade_with(
    "good(submission, truth)\n"
    "with open(submission, newline='') as stream:\n"
    "    values = [float(row['distance']) for row in csv.DictReader(stream)]\n"
    "return sum(abs(a - b) for a, b in zip(values, truth.values())) / len(truth)"
)
constants_succeed = grade_with(
    "rows = good(submission, truth)\nreturn 50.0 - len({row['distance'] for row in rows.values()}) % 2 * 49"
)
anything_succeeds = grade_with(
    "rows = good(submission, truth)\nerror_now = error(rows, truth)\nreturn error_now if error_now < 16 else 0.5"
)
at_random = grade_with("return error(good(submission, truth), truth) + random.random()")
not_a_number = grade_with("good(submission, truth)\nreturn math.nan")
crashes_on_bad_input = grade_with(
    "with open(submission, newline='') as stream:\n"
    "    values = {row['id']: float(row['distance']) for row in csv.DictReader(stream)}\n"
    "assert values.keys() == truth.keys()\n"
    "return sum(abs(values[i] - truth[i]) for i in truth) / len(truth)"
)
one_message_for_all = grade_with(
    "try:\n    rows = good(submission, truth)\n"
    "except SubmissionRefusedError:\n    raise SubmissionRefusedError('That is not right.') from None\n"
    "return error(rows, truth)"
)
careless = loose(
    "rows = {}\nfor line in lines:\n    try:\n        rows[line['id']] = float(line['distance'])\n"
    "    except (ValueError, TypeError, KeyError):\n        pass\n"
    "rows = {i: v if math.isfinite(v) else 0.0 for i, v in rows.items()}"
)


def accepting(trick: str) -> Callable[[Path], None]:
    """A grader that is right but for one kind of malformed submission, which it mends instead of refusing it."""
    return grade_with(
        "data = submission.read_bytes()\n"
        "try:\n    rows = good(submission, truth)\n"
        "except SubmissionRefusedError:\n"
        f"    if not ({trick}):\n        raise\n"
        "    return 100.0\n"
        "return error(rows, truth)"
    )


def prepare_draws_from_elsewhere(task: Path) -> None:
    replace_in(task / "prepare.py", "random.Random(seed)", "random.Random()")


def prepare_writes_the_time(task: Path) -> None:
    replace_in(
        task / "prepare.py",
        "    chance = random.Random(seed)",
        "    import time\n    (public / 'made.txt').write_text(str(time.time_ns()))\n    chance = random.Random(seed)",
    )


def answers_copied_into_public(task: Path) -> None:
    replace_in(
        task / "prepare.py",
        "[(i, throws[i][-1]) for i in test])",
        "[(i, throws[i][-1]) for i in test])\n"
        "    (public / 'notes.dat').write_bytes((private / 'answers.csv').read_bytes())",
    )


def answers_as_a_column(task: Path) -> None:
    replace_in(
        task / "prepare.py",
        'write(public / "test.csv", ("id", *FEATURES), [(i, *throws[i][:-1]) for i in test])',
        'write(public / "test.csv", ("id", *FEATURES, "hint"), [(i, *throws[i]) for i in test])',
    )


def answers_in_the_starter(task: Path) -> None:
    replace_in(
        task / "prepare.py",
        "[(i, throws[i][-1]) for i in test])",
        "[(i, throws[i][-1]) for i in test])\n"
        "    (Path(__file__).parent / 'starter' / 'cache.bin').write_bytes((private / 'answers.csv').read_bytes())",
    )


def problem_without_submission(task: Path) -> None:
    file = task / "problem.md"
    file.write_text(file.read_text().replace("{submission}", "a file"))


def problem_with_unknown_blank(task: Path) -> None:
    file = task / "problem.md"
    file.write_text(file.read_text() + "\nSee {appendix}.\n")


def floor_at_the_baseline(task: Path) -> None:
    (task / "starter" / "train.py").write_text(
        "import csv\nwith open('submission.csv', 'w') as out:\n    print('id,distance', file=out)\n"
        "    for row in csv.DictReader(open('test.csv')):\n        print(row['id'], 1.0, sep=',', file=out)\n"
    )
    grade_with("good(submission, truth)\nreturn 0.0")(task)


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "the starter crashes": (starter_crashes, "the starter runs and yields a baseline"),
    "the starter submits nothing": (starter_writes_nothing, "the starter runs and yields a baseline"),
    "the starter is as good as the oracle": (
        starter_is_the_oracle,
        "the oracle beats the starter by the threshold",
    ),
    "the plain model is worse than the starter": (
        plain_is_worse,
        "the plain model beats or equals the starter",
    ),
    "there is no plain model": (plain_is_missing, "the plain model beats or equals the starter"),
    "there is no oracle": (oracle_is_missing, "the oracle beats the starter by the threshold"),
    "the oracle crashes": (oracle_crashes, "the oracle beats the starter by the threshold"),
    "the oracle is hardly better": (oracle_is_hardly_better, "the oracle beats the starter by the threshold"),
    "scores lie out of the stated bands": (bands_are_elsewhere, "scores lie in their stated bands"),
    "rows are matched by position": (by_position, "the order of rows does not matter"),
    "a constant succeeds": (constants_succeed, "worthless: constant (the first row's values)"),
    "values dealt at random succeed": (anything_succeeds, "worthless: random (values dealt to other ids)"),
    "the grader draws at random": (at_random, "grading twice gives the same verdict"),
    "the grader gives no number": (not_a_number, "the starter runs and yields a baseline"),
    "the grader crashes on bad input": (crashes_on_bad_input, "malformed: a missing row"),
    "one message for everything": (one_message_for_all, "malformed: a row twice"),
    "an empty file is accepted": (accepting("data == b''"), "malformed: an empty file"),
    "no rows are accepted": (
        accepting("data.count(b'\\n') == 1"),
        "malformed: a header and no rows",
    ),
    "bytes that are no text are accepted": (
        accepting("data.startswith(b'\\xff\\xfe')"),
        "malformed: bytes that are not text",
    ),
    "a missing column is accepted": (accepting("b',' not in data"), "malformed: a missing column"),
    "a renamed column is accepted": (
        accepting("b'id,other' in data"),
        "malformed: a renamed column",
    ),
    "missing rows are accepted": (careless, "malformed: a missing row"),
    "rows too many are accepted": (careless, "malformed: a row with an unknown id"),
    "rows given twice are accepted": (careless, "malformed: a row twice"),
    "values that are no numbers are accepted": (careless, "malformed: a value that cannot be parsed"),
    "values that are not finite are accepted": (careless, "malformed: a value that is not finite"),
    "empty values are accepted": (careless, "malformed: an empty value"),
    "short rows are accepted": (careless, "malformed: a row that is too short"),
    "prepare draws from elsewhere": (prepare_draws_from_elsewhere, "preparing twice gives the same bytes"),
    "prepare writes the time": (prepare_writes_the_time, "preparing twice gives the same bytes"),
    "a copy of the answers is public": (
        answers_copied_into_public,
        "nothing private can be reached from the workspace",
    ),
    "a copy of the answers is in the starter": (
        answers_in_the_starter,
        "nothing private can be reached from the workspace",
    ),
    "the answers are a column of a public table": (answers_as_a_column, "no public table holds the answers"),
    "the problem never names the submission": (problem_without_submission, "the problem's text is whole"),
    "the problem has a blank that nothing fills": (problem_with_unknown_blank, "the problem's text is whole"),
    "the baseline lies at the metric's floor": (
        floor_at_the_baseline,
        "the oracle beats the starter by the threshold",
    ),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_task_that_is_broken_is_caught(own_task: Path, how: str) -> None:
    breaking, caught_by = BROKEN[how]
    breaking(own_task)
    report = audit(own_task)
    assert caught_by in failed(report), failed(report) or "nothing failed"
    assert not report.ok


def test_two_kinds_of_malformed_that_are_refused_alike_are_caught(own_task: Path) -> None:
    grade_with(
        "try:\n    rows = good(submission, truth)\n"
        "except SubmissionRefusedError as refusal:\n"
        "    data = submission.read_bytes()\n"
        "    odd = b',nan' in data or data.count(b'\\n') == len(truth) + 2 and b'no-such-id' not in data\n"
        "    raise SubmissionRefusedError('Mend the rows.' if odd else str(refusal)) from None\n"
        "return error(rows, truth)"
    )(own_task)
    report = audit(own_task)
    said = failed(report)
    assert len(said) == 1, said
    ((name, detail),) = said.items()
    assert name == "malformed: a value that is not finite" and "the same message as a row twice" in detail


def test_noise_of_the_starter_above_the_threshold_is_caught_with_several_runs(own_task: Path) -> None:
    replace_in(
        own_task / "starter" / "train.py",
        "    model = Model().fit(rows[held_out:])",
        "    model = Model().fit(rows[held_out:])\n    model.intercept += random.Random(seed).uniform(-30, 30)",
    )
    report = audit(own_task, starter_runs=4)
    assert "chance alone could succeed" in failed(report)["the starter's noise is below the threshold"]


def test_one_broken_promise_does_not_hide_the_others(own_task: Path) -> None:
    plain_is_worse(own_task)
    problem_without_submission(own_task)
    answers_as_a_column(own_task)
    assert set(failed(audit(own_task))) >= {
        "the plain model beats or equals the starter",
        "the problem's text is whole",
        "no public table holds the answers",
    }


def test_a_folder_in_the_originals_format_cannot_be_audited(tmp_path: Path) -> None:
    folder = original_task(tmp_path / "old", starter="", grader="")
    with pytest.raises(UsageError, match="cannot be audited"):
        audit(folder)
