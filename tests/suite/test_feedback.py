"""The feedback task: its essays, their published form, its grader, and those who cheat it."""

from __future__ import annotations

import csv
import math
import random
import re
import runpy
import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.acting import executing, play, steps_of, submitting, writing
from support.sources_feedback import ROWS, SCORES, SIZES, publish
from support.suite import contents, preparing

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "feedback"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grade = runpy.run_path(str(TASK / "grade.py"))["grade"]

HEADER = "text_id,full_text,cohesion,syntax,vocabulary,phraseology,grammar,conventions"
SUBMITTED = HEADER.replace("full_text,", "")


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def write(file: Path, table: list[dict[str, str]]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return file


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture
def source(tmp_path, monkeypatch) -> Path:
    """A small file in the published form, and a prepare.py that takes its size for the published one."""
    for name, size in SIZES.items():
        monkeypatch.setitem(prepare.__globals__, name, size)
    return publish(tmp_path / "source")


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text and SUBMITTED in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_essays(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = prepared(tmp_path / "other", seed=1)
    texts, others = ({row["full_text"] for row in rows(f / "public" / "train.csv")} for f in (mini, other))
    assert not texts & others


def test_mini_has_the_published_columns_and_says_that_it_is_synthetic(mini):
    public = mini / "public"
    assert {file.name for file in public.iterdir()} == {
        "train.csv", "test.csv", "sample_submission.csv", "data_description.txt",
    }  # fmt: skip
    assert (public / "train.csv").read_text().splitlines()[0] == HEADER
    assert (public / "test.csv").read_text().splitlines()[0] == "text_id,full_text"
    description = (public / "data_description.txt").read_text()
    assert "synthetic" in description
    assert set(HEADER.split(",")) <= {line.split()[0] for line in description.splitlines() if line}


def test_scores_of_test_essays_are_in_private_only(mini):
    train, test = rows(mini / "public" / "train.csv"), rows(mini / "public" / "test.csv")
    answers = rows(mini / "private" / "answers.csv")
    assert (len(train), len(test)) == (1600, 1000)
    assert [row["text_id"] for row in answers] == [row["text_id"] for row in test]
    assert not {row["text_id"] for row in train} & {row["text_id"] for row in test}
    assert not {row["full_text"] for row in train} & {row["full_text"] for row in test}
    assert all(re.fullmatch("[0-9A-F]{12}", row["text_id"]) for row in train + test)
    # Nor do names or order tell anything.
    ranks = range(len(answers))
    for score in SCORES:
        assert abs(statistics.correlation(ranks, [float(row[score]) for row in answers])) < 0.12


def test_scores_are_spread_and_go_together_as_in_the_published_essays(mini):
    train = rows(mini / "public" / "train.csv")
    columns = {score: [float(row[score]) for row in train] for score in SCORES}
    for values in columns.values():
        assert set(values) <= {half / 2 for half in range(2, 11)}
        assert 2.9 < statistics.fmean(values) < 3.4 and 0.5 < statistics.stdev(values) < 0.8
    for one in SCORES:
        for other in SCORES:
            assert one == other or 0.5 < statistics.correlation(columns[one], columns[other]) < 0.75


DISAGREEMENT = r"(?i)\b(?:they|we|you) (?:is|was|\w+[^s\W]s)\b|\b(?:it|he|she) (?:are|were)\b"


def test_each_skill_shows_in_the_text_and_none_gives_its_score_away(mini):
    train = rows(mini / "public" / "train.csv")
    seen = {
        "conventions": lambda text: len(re.findall(r"\. [a-z]", text)) / text.count("."),
        "vocabulary": lambda text: -len(re.findall(r"\w{9,}", text)) / len(text.split()),
        "grammar": lambda text: len(re.findall(DISAGREEMENT, text)) / len(text.split()),
        "cohesion": lambda text: -len(re.findall(r"[.!?] (?:\w+ ){1,4}?\w+,", text)) / len(text.split()),
    }
    for score, measure in seen.items():
        values = [measure(row["full_text"]) for row in train]
        strength = -statistics.correlation(values, [float(row[score]) for row in train])
        assert 0.1 < strength < 0.7, (score, strength)
    length = [len(row["full_text"].split()) for row in train]
    for score in SCORES:
        assert 0.05 < statistics.correlation(length, [float(row[score]) for row in train]) < 0.45


def test_full_is_split_by_id_whatever_the_order_of_rows(source, tmp_path):
    one = prepared(tmp_path / "one", "full", 7, source)
    table = rows(source / "train.csv")
    answers = rows(one / "private" / "answers.csv")
    assert len(rows(one / "public" / "train.csv")) == ROWS - ROWS // 5 and len(answers) == ROWS // 5
    # Texts come through as they are, with their line breaks and quotes.
    texts = {row["text_id"]: row["full_text"] for row in table}
    public = rows(one / "public" / "train.csv") + rows(one / "public" / "test.csv")
    assert {row["text_id"]: row["full_text"] for row in public} == texts
    random.Random(0).shuffle(table)
    write(tmp_path / "shuffled" / "train.csv", table)
    assert contents(prepared(tmp_path / "two", "full", 7, tmp_path / "shuffled")) == contents(one)
    other = prepared(tmp_path / "three", "full", 8, source)
    assert contents(other)["private/answers.csv"] != contents(one)["private/answers.csv"]


def without_last_cell(text: str) -> str:
    return text.rstrip()[: text.rstrip().rindex(",")] + "\n"


ALMOST_RIGHT = {
    "column renamed": (
        lambda text: text.replace("phraseology", "phrasing", 1),
        "it lacks 'phraseology'; it has in addition 'phrasing'",
    ),
    "columns swapped": (
        lambda text: text.replace("cohesion,syntax", "syntax,cohesion", 1),
        "their order differs",
    ),
    "scores missing": (lambda text: "text_id,full_text\nA,b\n", "it lacks 'cohesion', 'syntax'"),
    "row cut": (without_last_cell, f"7 values in row {ROWS}, not 8"),
    "score not a half": (lambda text: without_last_cell(text).rstrip() + ",3.2\n", "conventions '3.2'"),
    "score off the scale": (lambda text: without_last_cell(text).rstrip() + ",0.5\n", "conventions '0.5'"),
    "quote not closed": (lambda text: text + '"', "is not a CSV file"),
    "empty": (lambda text: "", "is not a CSV file"),
}


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_a_file_that_is_almost_right_is_refused_and_the_difference_named(source, tmp_path, defect):
    change, sentence = ALMOST_RIGHT[defect]
    file = source / "train.csv"
    with file.open(newline="", encoding="utf-8") as stream:
        changed = change(stream.read())
    file.write_text(changed, newline="", encoding="utf-8")
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path, "full", 0, source)
    assert sentence in str(refusal.value)
    assert "take train.csv of feedback-prize-english-language-learning as it is" in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda table: table[:-1], f"{ROWS - 1} rows, not {ROWS}"),
        (lambda table: [*table[:-1], table[0]], "a text_id more than once"),
        (lambda table: [*table[:-1], {**table[-1], "full_text": " "}], "without text"),
    ],
)
def test_rows_that_are_missing_repeated_or_empty_are_refused(source, tmp_path, change, sentence):
    write(source / "train.csv", change(rows(source / "train.csv")))
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path, "full", 0, source)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe\x00"])
def test_a_missing_or_binary_source_is_refused(tmp_path, content):
    (tmp_path / "source").mkdir()
    if content is not None:
        (tmp_path / "source" / "train.csv").write_bytes(content)
    with pytest.raises(PreparationError, match=r"does not exist|is not a CSV file"):
        prepared(tmp_path, "full", 0, tmp_path / "source")


@pytest.fixture
def private(tmp_path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "answers.csv").write_text(
        f"{SUBMITTED}\nA,1.0,2.0,3.0,4.0,5.0,3.0\nB,3.0,2.0,3.0,4.0,5.0,3.0\n"
    )
    return folder


def score(private: Path, text: str) -> float:
    file = private.parent / "submission.csv"
    file.write_text(text)
    return grade(file, private)


def test_the_score_is_the_mean_of_the_columns_root_mean_squared_errors_by_id(private):
    assert score(private, f"{SUBMITTED}\nB,3,2,3,4,5,3\nA,1,2,3,4,5,3\n") == 0
    # cohesion: errors 2 and 0, root of 2; grammar: 1 and 1; the others none.
    assert math.isclose(
        score(private, f"{SUBMITTED}\nB,3,2,3,4,4,3\nA,3,2,3,4,6,3\n"), (math.sqrt(2) + 1) / 6, rel_tol=1e-12
    )
    columns = "text_id,conventions,grammar,phraseology,vocabulary,syntax,cohesion"
    assert score(private, f"{columns}\nA,3,5,4,3,2,1\nB,3,5,4,3,2,3\n") == 0


@given(
    st.lists(
        st.tuples(*[st.sampled_from([half / 2 for half in range(2, 11)])] * 6, *[st.floats(-9, 9)] * 6),
        min_size=1,
        max_size=8,
    )
)
def test_it_agrees_with_the_formula_written_otherwise(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("formula")
    (folder / "private").mkdir()
    for name, columns in (("private/answers.csv", slice(0, 6)), ("submission.csv", slice(6, 12))):
        lines = [f"{place},{','.join(map(repr, row[columns]))}\n" for place, row in enumerate(table)]
        (folder / name).write_text(f"{SUBMITTED}\n{''.join(lines)}")
    distances = [math.dist([row[i] for row in table], [row[i + 6] for row in table]) for i in range(6)]
    expected = statistics.fmean(distances) / math.sqrt(len(table))
    assert math.isclose(
        grade(folder / "submission.csv", folder / "private"), expected, rel_tol=1e-9, abs_tol=1e-12
    )


GOOD = "A,1,2,3,4,5,3\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{SUBMITTED}\n{GOOD}", "1 of 2 ids are missing"),
        (f"{SUBMITTED}\n{GOOD}B,3,2,3,4,5,3\nC,3,2,3,4,5,3\n", "not in the test set"),
        (f"{SUBMITTED}\n{GOOD}{GOOD}B,3,2,3,4,5,3\n", "again on line 3"),
        (f"{SUBMITTED}\n{GOOD}B,nan,2,3,4,5,3\n", "cohesion is 'nan'; write a finite number"),
        (f"{SUBMITTED}\n{GOOD}B,3,2,3,4,inf,3\n", "grammar is 'inf'; write a finite number"),
        (f"{SUBMITTED}\n{GOOD}B,3,2,3,4,1e30,3\n", "write a number from -100 to 100"),
        (f"{SUBMITTED}\n{GOOD}B,3,2,3,4,,3\n", "grammar is empty"),
        (f"{SUBMITTED.replace('syntax', 'Syntax')}\n{GOOD}", "there is no column 'syntax'"),
        (f"{SUBMITTED},mean\nA,1,2,3,4,5,3,3\n", "there is a column 'mean' too many"),
        ("", "it is empty"),
    ],
)
def test_what_cannot_be_graded_is_refused(private, text, sentence):
    with pytest.raises(SubmissionRefusedError) as refusal:
        score(private, text)
    assert sentence in str(refusal.value)


def mildest(folder: Path) -> float:
    """The best that one and the same row for every essay can reach: the spread of the answers themselves."""
    answers = rows(folder / "private" / "answers.csv")
    return statistics.fmean(statistics.pstdev(float(row[score]) for row in answers) for score in SCORES)


def test_the_sample_and_every_constant_do_no_better_than_the_starter_may(mini):
    band = read_definition(TASK / "task.toml").variants["mini"].bands.starter
    assert band is not None
    assert grade(mini / "public" / "sample_submission.csv", mini / "private") > mildest(mini)
    assert mildest(mini) > 0.9 * band[1], "even the best constant is no success over the starter"


def test_ids_of_the_training_essays_and_shifted_rows_gain_nothing(mini, tmp_path):
    train, answers = rows(mini / "public" / "train.csv"), rows(mini / "private" / "answers.csv")
    known = [{column: row[column] for column in SUBMITTED.split(",")} for row in train]
    with pytest.raises(SubmissionRefusedError, match="not in the test set"):
        grade(write(tmp_path / "known.csv", known), mini / "private")
    with pytest.raises(SubmissionRefusedError, match="not in the test set"):
        grade(write(tmp_path / "both.csv", answers + known), mini / "private")
    with pytest.raises(SubmissionRefusedError, match="write each id once"):
        grade(write(tmp_path / "twice.csv", answers + answers[:1]), mini / "private")
    shifted = [{**row, "text_id": answers[i - 1]["text_id"]} for i, row in enumerate(answers)]
    assert grade(write(tmp_path / "shifted.csv", shifted), mini / "private") > mildest(mini)


CHEATER = """
import csv, os

with open("test.csv", newline="", encoding="utf-8") as stream:
    essays = [row["text_id"] for row in csv.DictReader(stream)]
with open("sample_submission.csv", newline="") as stream:
    sample = {row["text_id"]: row for row in csv.DictReader(stream)}
found = {}
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        path = os.path.join(folder, name)
        if not name.endswith(".csv") or path in (os.path.abspath("sample_submission.csv"),):
            continue
        try:
            with open(path, newline="", encoding="utf-8") as stream:
                rows = {row["text_id"]: row for row in csv.DictReader(stream) if row.get("cohesion")}
        except (OSError, KeyError, UnicodeDecodeError, csv.Error):
            continue
        found.update((essay, rows[essay]) for essay in essays if essay in rows and rows[essay] != sample[essay])
print("scores found:", len(found))
with open("submission.csv", "w", newline="") as stream:
    columns = list(sample[essays[0]])
    writer = csv.DictWriter(stream, columns, extrasaction="ignore")
    writer.writeheader()
    writer.writerows(found.get(essay, sample[essay]) for essay in essays)
"""


def test_a_cheater_finds_no_scores_and_gets_no_success(runs):
    made = play(
        "feedback",
        [
            writing("test.csv", "text_id,full_text\n"),
            writing("train.py", CHEATER),
            executing("train.py"),
            submitting(),
        ],
        runs,
    )
    forged, _, looked, *_ = steps_of(made)
    assert not forged.observation.ok and "read-only" in forged.observation.text
    assert "scores found: 0" in looked.observation.text
    assert made.grade is not None and made.grade.valid and made.grade.success is False
