"""The parkinsons-disease task: its study, the published form of it, its grader, and those who cheat it."""

from __future__ import annotations

import csv
import math
import random
import runpy
import shutil
import statistics
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.acting import executing, play, steps_of, submitting, writing
from support.sources_parkinsons_disease import CLINICAL, FILES, MONTHS, PEPTIDES, PROTEINS, SIZES, publish
from support.suite import contents, preparing

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "parkinsons-disease"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grading = runpy.run_path(str(TASK / "grade.py"))
grade, smape = grading["grade"], grading["smape"]

PARTS = ("updrs_1", "updrs_2", "updrs_3", "updrs_4")
AHEAD = (0, 6, 12, 24)
PUBLIC = {
    "train_clinical_data.csv", "train_proteins.csv", "train_peptides.csv", "supplemental_clinical_data.csv",
    "test.csv", "test_proteins.csv", "test_peptides.csv", "sample_submission.csv", "data_description.txt",
}  # fmt: skip


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def answers(folder: Path) -> dict[str, str]:
    return {row["prediction_id"]: row["rating"] for row in rows(folder / "private" / "answers.csv")}


def header(file: Path) -> str:
    with file.open() as stream:
        return stream.readline().rstrip("\n")


def patients(file: Path) -> set[str]:
    return {row["patient_id"] for row in rows(file)}


def submission(folder: Path, ratings: dict[str, object]) -> Path:
    file = folder / "submission.csv"
    lines = "".join(f"{prediction},{rating}\n" for prediction, rating in ratings.items())
    file.write_text("prediction_id,rating\n" + lines)
    return file


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture
def source(tmp_path, monkeypatch) -> Path:
    """A tiny study in the published form, and a prepare.py that takes its size for the published one."""
    for name, size in SIZES.items():
        monkeypatch.setitem(prepare.__globals__, name, size)
    return publish(tmp_path / "source")


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name
    assert definition.variants["full"].sources[0].files == FILES
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_another_study(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = prepared(tmp_path / "other", seed=1)
    known = patients(mini / "public" / "test.csv")
    assert len(known & patients(other / "public" / "test.csv")) < len(known) / 4


def test_mini_has_the_published_columns_and_says_that_it_is_synthetic(mini):
    public = mini / "public"
    assert {file.name for file in public.iterdir()} == PUBLIC
    assert header(public / "train_clinical_data.csv") == CLINICAL
    assert header(public / "supplemental_clinical_data.csv") == CLINICAL
    assert header(public / "train_proteins.csv") == PROTEINS
    assert header(public / "train_peptides.csv") == PEPTIDES
    assert header(public / "test_proteins.csv") == PROTEINS + ",group_key"
    assert header(public / "test_peptides.csv") == PEPTIDES + ",group_key"
    assert header(public / "test.csv") == "visit_id,visit_month,patient_id,updrs_test,row_id,group_key"
    assert header(public / "sample_submission.csv") == "prediction_id,rating"
    assert "synthetic" in (public / "data_description.txt").read_text()
    assert sum(file.stat().st_size for file in public.iterdir()) < 5_000_000


@pytest.mark.parametrize("variant", ["mini", "full"])
def test_a_fifth_of_the_patients_is_hidden_with_all_of_their_ratings(request, mini, tmp_path, variant):
    folder = mini
    if variant == "full":
        folder = prepared(tmp_path / "full", "full", 3, request.getfixturevalue("source"))
    public = folder / "public"
    hidden = patients(public / "test.csv")
    known = patients(public / "train_clinical_data.csv")
    assert len(hidden) == round(0.2 * len(hidden | known)) and not hidden & known
    for name in ("proteins", "peptides"):
        assert patients(public / f"test_{name}.csv") <= hidden
        assert not patients(public / f"train_{name}.csv") & hidden
    assert not patients(public / "supplemental_clinical_data.csv") & hidden
    rated = [file.name for file in public.iterdir() if "updrs_1" in header(file).split(",")]
    assert sorted(rated) == ["supplemental_clinical_data.csv", "train_clinical_data.csv"]
    assert {row["rating"] for row in rows(public / "sample_submission.csv")} == {"0"}


def test_every_visit_asks_for_four_parts_at_four_times_and_answers_agree_between_visits(mini):
    asked = rows(mini / "public" / "test.csv")
    expected = [f"{row['row_id']}_plus_{ahead}_months" for row in asked for ahead in AHEAD]
    hidden = answers(mini)
    assert list(hidden) == expected
    assert [row["prediction_id"] for row in rows(mini / "public" / "sample_submission.csv")] == expected
    visits = {row["visit_id"] for row in asked}
    assert len(asked) == 4 * len(visits)
    for row in asked:
        for ahead in AHEAD:
            later = f"{row['patient_id']}_{int(row['visit_month']) + ahead}"
            rating = hidden[f"{row['row_id']}_plus_{ahead}_months"]
            if later in visits:
                assert rating == hidden[f"{later}_{row['updrs_test']}_plus_0_months"]
            else:
                assert rating == ""
    assert sum(bool(rating) for rating in hidden.values()) > 3000


def test_ratings_are_skewed_and_grow_and_the_last_part_is_often_zero_or_missing(mini):
    clinical = rows(mini / "public" / "train_clinical_data.csv")
    for part in PARTS:
        ratings = [float(row[part]) for row in clinical if row[part]]
        assert statistics.fmean(ratings) > statistics.median(ratings)
        early, late = (
            [float(row[part]) for row in clinical if row[part] and (int(row["visit_month"]) >= 48) is end]
            for end in (False, True)
        )
        assert statistics.fmean(late) > statistics.fmean(early)
    last = [row["updrs_4"] for row in clinical]
    assert 0.2 < last.count("") / len(last) < 0.6
    assert last.count("0.0") / (len(last) - last.count("")) > 0.3


def test_samples_are_of_some_visits_and_what_is_below_detection_is_missing(mini):
    visits = {row["visit_id"] for row in rows(mini / "public" / "train_clinical_data.csv")}
    measured = defaultdict(dict)
    for row in rows(mini / "public" / "train_proteins.csv"):
        measured[row["visit_id"]][row["UniProt"]] = float(row["NPX"])
    assert measured.keys() < visits and len(measured) > len(visits) / 4
    names = {name for sample in measured.values() for name in sample}
    missing = 1 - statistics.fmean(len(sample) for sample in measured.values()) / len(names)
    assert len(names) == 20 and 0.02 < missing < 0.15
    assert all(value > 0 for sample in measured.values() for value in sample.values())


def test_full_is_split_by_patient_whatever_the_order_of_rows(source, tmp_path):
    one = prepared(tmp_path / "one", "full", 7, source)
    assert {file.name for file in (one / "public").iterdir()} == PUBLIC
    visits = 8 * len(MONTHS)
    assert len(answers(one)) == visits * 16
    assert len(rows(one / "public" / "test_proteins.csv")) == 8 * 2 * 3
    assert len(rows(one / "public" / "train_peptides.csv")) == 32 * 2 * 3 * 2
    published = {row["visit_id"]: row for row in rows(source / "train_clinical_data.csv")}
    for prediction, rating in answers(one).items():
        patient, month, _, part, _, ahead, _ = prediction.split("_")
        row = published.get(f"{patient}_{int(month) + int(ahead)}")
        assert rating == (row[f"updrs_{part}"] if row else "")

    (tmp_path / "shuffled").mkdir()
    for name in FILES:
        first, *lines = (source / name).read_text().splitlines(keepends=True)
        random.Random(0).shuffle(lines)
        (tmp_path / "shuffled" / name).write_text(first + "".join(lines))
    two = prepared(tmp_path / "two", "full", 7, tmp_path / "shuffled")
    assert contents(one) == contents(two)
    three = prepared(tmp_path / "three", "full", 8, source)
    assert contents(three)["private/answers.csv"] != contents(one)["private/answers.csv"]


def test_ratings_of_hidden_patients_among_the_supplemental_ones_are_left_out(source, tmp_path, monkeypatch):
    shutil.copy(source / "train_clinical_data.csv", source / "supplemental_clinical_data.csv")
    sizes = SIZES["FULL_ROWS"]
    same = {**sizes, "supplemental_clinical_data.csv": sizes["train_clinical_data.csv"]}
    monkeypatch.setitem(prepare.__globals__, "FULL_ROWS", same)
    folder = prepared(tmp_path / "full", "full", 0, source)
    hidden = patients(folder / "public" / "test.csv")
    assert hidden and not hidden & patients(folder / "public" / "supplemental_clinical_data.csv")


def replaced(old: str, new: str):
    return lambda text: text.replace(old, new, 1)


def without_last_row(text: str) -> str:
    return "".join(text.splitlines(keepends=True)[:-1])


def last_cell(value: str):
    return lambda text: text.rstrip()[: text.rstrip().rindex(",")] + value + "\n"


ALMOST_RIGHT = {
    "column renamed": (
        "train_proteins.csv", replaced("NPX", "Npx"), "it lacks 'NPX'; it has in addition 'Npx'",
    ),
    "columns swapped": (
        "train_clinical_data.csv", replaced("patient_id,visit_month", "visit_month,patient_id"),
        "their order differs",
    ),
    "column missing": (
        "supplemental_clinical_data.csv",
        lambda text: "".join(line.rpartition(",")[0] + "\n" for line in text.splitlines()),
        "it lacks 'upd23b_clinical_state_on_medication'",
    ),
    "row missing": ("train_peptides.csv", without_last_row, "479 rows, not 480"),
    "row cut": ("train_peptides.csv", last_cell(""), "5 values on line 481, not 6"),
    "not a number": ("train_proteins.csv", last_cell(",much"), "the NPX 'much' on line 241"),
    "infinite": ("train_proteins.csv", last_cell(",inf"), "the NPX 'inf' on line 241"),
    "visit of another patient": (
        "train_proteins.csv", lambda text: text.replace("\n", "\n1", 1), "not patient_month",
    ),
    "row twice": (
        "train_proteins.csv",
        lambda text: "".join([*text.splitlines(keepends=True)[:-1], text.splitlines(keepends=True)[1]]),
        "1 rows that are there more than once",
    ),
    "empty": ("train_clinical_data.csv", lambda text: "", "is empty"),
    "one file missing": ("train_peptides.csv", None, "does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_files_that_are_almost_right_are_refused_and_the_difference_named(source, tmp_path, defect):
    name, change, sentence = ALMOST_RIGHT[defect]
    if change is None:
        (source / name).unlink()
    else:
        (source / name).write_text(change((source / name).read_text()))
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path / "full", "full", 0, source)
    assert sentence in str(refusal.value) and name in str(refusal.value)
    assert "take the files of amp-parkinsons" in str(refusal.value)


def test_another_number_of_patients_is_refused(source, tmp_path, monkeypatch):
    monkeypatch.setitem(prepare.__globals__, "FULL_PATIENTS", 41)
    with pytest.raises(PreparationError, match="is of 40 patients, not 41"):
        prepared(tmp_path / "full", "full", 0, source)


def test_bytes_that_are_not_text_are_refused(source, tmp_path):
    (source / "train_proteins.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PreparationError, match="is not a CSV file"):
        prepared(tmp_path / "full", "full", 0, source)


IDS = [f"7_0_updrs_1_plus_{ahead}_months" for ahead in AHEAD]


@pytest.fixture
def private(tmp_path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    ratings = zip(IDS, ("9.0", "", "0.0", "3.0"), strict=True)
    (folder / "answers.csv").write_text(
        "prediction_id,rating\n" + "".join(f"{prediction},{rating}\n" for prediction, rating in ratings)
    )
    return folder


def score(private: Path, *ratings: object, order: int = 1) -> float:
    given = dict(list(zip(IDS, ratings, strict=True))[::order])
    return grade(submission(private.parent, given), private)


def test_the_score_is_smape_of_ratings_plus_one_by_id_where_there_is_a_rating(private):
    assert score(private, 9, 100, 0, 3) == 0
    assert score(private, 9, 0, 0, 3, order=-1) == 0
    # 10 against 6, 1 against 3, 4 against 4.
    expected = 100 * (2 * 4 / 16 + 2 * 2 / 4 + 0) / 3
    assert math.isclose(score(private, 5, 50, 2, 3), expected)
    assert math.isclose(score(private, 5, 50, 2, 3, order=-1), expected)


@given(st.floats(0, 200), st.floats(0, 200))
def test_smape_is_symmetric_bounded_and_zero_only_for_the_truth(true, predicted):
    error = smape(true + 1, predicted + 1)
    assert error == smape(predicted + 1, true + 1) and 0 <= error < 2
    assert (error == 0) == (true + 1 == predicted + 1)
    assert math.isclose(error, 2 * math.tanh(abs(math.log1p(true) - math.log1p(predicted)) / 2), abs_tol=1e-9)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda text: "".join(text.splitlines(keepends=True)[:-1]), "ids are missing"),
        (lambda text: text + "8_0_updrs_1_plus_0_months,1\n", "not in the test set"),
        (lambda text: text + f"{IDS[0]},1\n", "again on line 6"),
        (replaced(",1\n", ",nan\n"), "write a finite number"),
        (replaced(",1\n", ",inf\n"), "write a finite number"),
        (replaced(",1\n", ",\n"), "is empty"),
        (replaced(",1\n", ",-1\n"), "write a number from 0 to 200"),
        (replaced(",1\n", ",1e300\n"), "write a number from 0 to 200"),
        (replaced("rating", "value"), "there is no column 'rating'"),
        (replaced("prediction_id,rating", "prediction_id,rating,group_key"), "'group_key' too many"),
        (lambda text: "", "it is empty"),
    ],
)
def test_what_cannot_be_graded_is_refused(private, change, sentence):
    file = submission(private.parent, dict.fromkeys(IDS, 1))
    file.write_text(change(file.read_text()))
    with pytest.raises(SubmissionRefusedError) as refusal:
        grade(file, private)
    assert sentence in str(refusal.value)


def needed_for_success() -> float:
    starter = read_definition(TASK / "task.toml").variants["mini"].bands.starter
    assert starter is not None
    return 0.9 * starter[1]


def test_knowing_nothing_does_not_succeed(mini, tmp_path):
    sample = grade(mini / "public" / "sample_submission.csv", mini / "private")
    assert sample > needed_for_success()
    hidden = answers(mini)
    for rating in (1, 3, 6, 10, 20, 200):
        constant = submission(tmp_path, dict.fromkeys(hidden, rating))
        assert grade(constant, mini / "private") > needed_for_success()
    ratings = [rating or "3" for rating in hidden.values()]
    far = len(ratings) // 2 + 5
    shifted = submission(tmp_path, dict(zip(hidden, ratings[far:] + ratings[:far], strict=True)))
    assert grade(shifted, mini / "private") > needed_for_success()


def test_the_best_constant_for_each_part_does_not_beat_the_straight_lines_of_the_starter(mini, tmp_path):
    clinical = rows(mini / "public" / "train_clinical_data.csv")
    best, lines = {}, {}
    for part in PARTS:
        known = [(float(row["visit_month"]), float(row[part])) for row in clinical if row[part]]
        lines[part] = statistics.linear_regression(*zip(*known, strict=True))
        best[part] = min(range(40), key=lambda c: sum(smape(rating + 1, c + 1) for _, rating in known))
    constant, straight = {}, {}
    for prediction in answers(mini):
        _, month, _, number, _, ahead, _ = prediction.split("_")
        slope, start = lines[f"updrs_{number}"]
        constant[prediction] = best[f"updrs_{number}"]
        straight[prediction] = max(0.0, start + slope * (int(month) + int(ahead)))
    baseline = grade(submission(tmp_path, straight), mini / "private")
    assert grade(submission(tmp_path, constant), mini / "private") > 0.9 * baseline


def test_visits_of_the_training_part_do_not_count(mini, tmp_path):
    known = {
        f"{row['visit_id']}_{part}_plus_0_months": row[part]
        for row in rows(mini / "public" / "train_clinical_data.csv")
        for part in PARTS
        if row[part]
    }
    for cheat in (known, {**dict.fromkeys(answers(mini), 5), **known}):
        with pytest.raises(SubmissionRefusedError, match="not in the test set"):
            grade(submission(tmp_path, cheat), mini / "private")


CHEATER = """
import csv, os

with open("sample_submission.csv") as stream:
    ids = [row["prediction_id"] for row in csv.DictReader(stream)]
with open("test.csv") as stream:
    patients = {row["patient_id"] for row in csv.DictReader(stream)}
asked, found = set(ids), set()
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        if name.endswith(".csv"):
            try:
                with open(os.path.join(folder, name)) as stream:
                    for row in csv.DictReader(stream):
                        rated = row.get("prediction_id") in asked and row.get("rating") not in (None, "", "0")
                        if rated or (row.get("patient_id") in patients and row.get("updrs_1")):
                            found.add(name)
            except (OSError, UnicodeDecodeError, csv.Error):
                continue
print("files with ratings:", len(found))
with open("submission.csv", "w") as stream:
    stream.write("prediction_id,rating\\n")
    stream.writelines(f"{prediction},5\\n" for prediction in ids)
"""


def test_a_script_that_looks_for_the_ratings_finds_none(tmp_path):
    made = play(
        "parkinsons-disease",
        [
            writing("test.csv", "visit_id\n"),
            writing("train.py", CHEATER),
            executing("train.py"),
            submitting(),
        ],
        tmp_path / "play" / "runs",
    )
    forged, _, looked, *_ = steps_of(made)
    assert not forged.observation.ok and "read-only" in forged.observation.text
    assert "files with ratings: 0" in looked.observation.text
    assert made.grade is not None and made.grade.valid and made.grade.success is False
