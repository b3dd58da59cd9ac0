"""The spaceship-titanic task: its passengers, their published form, its grader, and those who cheat it."""

from __future__ import annotations

import csv
import random
import runpy
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from support.acting import executing, play, steps_of, submitting, writing
from support.sources_spaceship_titanic import HEADER, ROWS, publish
from support.suite import contents, preparing

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "spaceship-titanic"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grade = runpy.run_path(str(TASK / "grade.py"))["grade"]

AMENITIES = ("RoomService", "FoodCourt", "ShoppingMall", "Spa", "VRDeck")


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def group(row: dict[str, str]) -> str:
    return row["PassengerId"].partition("_")[0]


def submission(folder: Path, fates: dict[str, str]) -> Path:
    file = folder / "submission.csv"
    lines = "".join(f"{passenger},{fate}\n" for passenger, fate in fates.items())
    file.write_text("PassengerId,Transported\n" + lines)
    return file


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture(scope="module")
def answers(mini) -> dict[str, str]:
    return {row["PassengerId"]: row["Transported"] for row in rows(mini / "private" / "answers.csv")}


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return publish(tmp_path_factory.mktemp("source"))


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_passengers(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = prepared(tmp_path / "other", seed=1)
    assert rows(other / "public" / "train.csv")[:5] != rows(mini / "public" / "train.csv")[:5]


def test_mini_has_the_published_columns_and_says_that_it_is_synthetic(mini):
    public = mini / "public"
    assert (public / "train.csv").read_text().splitlines()[0] == HEADER
    assert (public / "test.csv").read_text().splitlines()[0] == HEADER.removesuffix(",Transported")
    description = (public / "data_description.txt").read_text()
    assert "synthetic" in description
    assert set(HEADER.split(",")) <= {line.split()[0] for line in description.splitlines() if line}


def test_fates_of_test_passengers_are_in_private_only(mini, answers):
    train, test = rows(mini / "public" / "train.csv"), rows(mini / "public" / "test.csv")
    assert len(train) + len(test) == 7500 and 3000 <= len(test) < 3008
    assert list(answers) == [row["PassengerId"] for row in test]
    assert "Transported" not in test[0]
    assert not {group(row) for row in train} & {group(row) for row in test}, "groups stay together"
    assert {file.name for file in (mini / "public").iterdir()} == {
        "train.csv", "test.csv", "sample_submission.csv", "data_description.txt",
    }  # fmt: skip


def test_about_as_many_vanish_as_arrive_and_a_little_of_everything_is_missing(mini):
    train = rows(mini / "public" / "train.csv")
    assert 0.45 < sum(row["Transported"] == "True" for row in train) / len(train) < 0.55
    for column in HEADER.split(",")[1:-1]:
        assert 0.01 < sum(not row[column] for row in train) / len(train) < 0.04
    assert all(row["Transported"] in ("True", "False") for row in train)


def test_groups_share_a_home_and_sleepers_spend_nothing(mini):
    train = rows(mini / "public" / "train.csv")
    homes = defaultdict(set)
    for row in train:
        if row["HomePlanet"]:
            homes[group(row)].add(row["HomePlanet"])
        if row["CryoSleep"] == "True":
            assert all(row[amenity] in ("0.0", "") for amenity in AMENITIES)
    assert all(len(planets) == 1 for planets in homes.values())
    sizes = Counter(Counter(map(group, train)).values())
    assert sizes[1] > sizes[2] > sizes[3] and max(sizes) <= 8


def test_full_is_split_by_group_whatever_the_order_of_rows(source, tmp_path):
    one = prepared(tmp_path / "one", "full", 7, source)
    train, test = rows(one / "public" / "train.csv"), rows(one / "private" / "answers.csv")
    assert len(train) + len(test) == ROWS and len(test) - ROWS / 5 < 8
    assert not {group(row) for row in train} & {group(row) for row in test}
    header, *lines = (source / "train.csv").read_text().splitlines(keepends=True)
    random.Random(0).shuffle(lines)
    (tmp_path / "shuffled").mkdir()
    (tmp_path / "shuffled" / "train.csv").write_text(header + "".join(lines))
    two = prepared(tmp_path / "two", "full", 7, tmp_path / "shuffled")
    assert contents(one) == contents(two)
    three = prepared(tmp_path / "three", "full", 8, source)
    assert contents(three)["private/answers.csv"] != contents(one)["private/answers.csv"]
    assert {path.name for path in (one / "public").iterdir()} == {
        "train.csv", "test.csv", "sample_submission.csv", "data_description.txt",
    }  # fmt: skip


def last_cell(text: str, value: str) -> str:
    return text.rstrip()[: text.rstrip().rindex(",")] + value + "\n"


ALMOST_RIGHT = {
    "column renamed": (
        lambda text: text.replace("VRDeck", "VrDeck", 1),
        "it lacks 'VRDeck'; it has in addition 'VrDeck'",
    ),
    "the competition's test.csv": (
        lambda text: "".join(line.rpartition(",")[0] + "\n" for line in text.splitlines()),
        "it lacks 'Transported'",
    ),
    "columns swapped": (lambda text: text.replace("Age,VIP", "VIP,Age", 1), "their order differs"),
    "row missing": (lambda text: "".join(text.splitlines(keepends=True)[:-1]), "8692 rows, not 8693"),
    "row cut": (lambda text: last_cell(text, ""), "13 values on line 8694, not 14"),
    "fate as a number": (lambda text: last_cell(text, ",1"), "the Transported '1', not True or False"),
    "id without group": (lambda text: text.replace("0001_01", "1", 1), "the PassengerId '1'"),
    "row twice": (
        lambda text: "".join([*text.splitlines(keepends=True)[:-1], text.splitlines(keepends=True)[1]]),
        "a PassengerId more than once",
    ),
    "empty": (lambda text: "", "is not a CSV file"),
}


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_a_file_that_is_almost_right_is_refused_and_the_difference_named(source, tmp_path, defect):
    change, sentence = ALMOST_RIGHT[defect]
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.csv").write_text(change((source / "train.csv").read_text()))
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path, "full", 0, tmp_path / "source")
    assert sentence in str(refusal.value) and "take train.csv of spaceship-titanic" in str(refusal.value)


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
        "PassengerId,Transported\n0001_01,True\n0001_02,False\n0002_01,False\n0003_01,True\n"
    )
    return folder


def score(private: Path, text: str) -> float:
    file = private.parent / "submission.csv"
    file.write_text(text)
    return grade(file, private)


RIGHT = "PassengerId,Transported\n0001_01,True\n0001_02,False\n0002_01,False\n0003_01,True\n"


def test_the_score_is_the_share_of_right_fates_by_id(private):
    assert score(private, RIGHT) == 1
    header, *lines = RIGHT.splitlines()
    assert score(private, "\n".join([header, *reversed(lines)])) == 1
    assert score(private, RIGHT.replace("0001_02,False", "0001_02,True")) == 0.75
    swapped = RIGHT.replace("True", "?").replace("False", "True").replace("?", "False")
    assert score(private, swapped) == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (RIGHT.replace("0003_01,True\n", ""), "ids are missing"),
        (RIGHT + "0004_01,True\n", "not in the test set"),
        (RIGHT + "0001_01,True\n", "again on line 6"),
        (RIGHT.replace("0003_01,True", "0003_01,"), "write one of 'True', 'False'"),
        (RIGHT.replace("0003_01,True", "0003_01,1"), "write one of 'True', 'False'"),
        (RIGHT.replace("0003_01,True", "0003_01,nan"), "write one of 'True', 'False'"),
        (RIGHT.replace("0003_01,True", "0003_01,0.9"), "write one of 'True', 'False'"),
        (RIGHT.replace("Transported", "Fate"), "there is no column 'Transported'"),
        ("", "it is empty"),
    ],
)
def test_what_cannot_be_graded_is_refused(private, text, sentence):
    with pytest.raises(SubmissionRefusedError) as refusal:
        score(private, text)
    assert sentence in str(refusal.value)


def test_knowing_nothing_does_not_succeed(mini, answers, tmp_path):
    starter = read_definition(TASK / "task.toml").variants["mini"].bands.starter
    needed = 1.1 * starter[0]
    assert grade(mini / "public" / "sample_submission.csv", mini / "private") < needed
    for fate in ("True", "False"):
        assert grade(submission(tmp_path, dict.fromkeys(answers, fate)), mini / "private") < needed
    fates = list(answers.values())
    far = len(fates) // 2
    shifted = dict(zip(answers, fates[far:] + fates[:far], strict=True))
    assert grade(submission(tmp_path, shifted), mini / "private") < needed


def test_passengers_of_the_training_part_do_not_count(mini, answers, tmp_path):
    known = {row["PassengerId"]: row["Transported"] for row in rows(mini / "public" / "train.csv")}
    for cheat in (known, {**dict.fromkeys(answers, "True"), **known}):
        with pytest.raises(SubmissionRefusedError, match="not in the test set"):
            grade(submission(tmp_path, cheat), mini / "private")


CHEATER = """
import csv, os

with open("test.csv") as stream:
    ids = [row["PassengerId"] for row in csv.DictReader(stream)]
found = {}
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        if name.endswith(".csv"):
            try:
                with open(os.path.join(folder, name)) as stream:
                    rows = [row for row in csv.DictReader(stream) if row.get("PassengerId") in ids[:5]]
            except (OSError, UnicodeDecodeError, csv.Error):
                continue
            if any(row.get("Transported") == "True" for row in rows):
                found[name] = rows
print("files with fates:", len(found))
with open("submission.csv", "w") as stream:
    stream.write("PassengerId,Transported\\n")
    stream.writelines(f"{passenger},True\\n" for passenger in ids)
"""


def test_a_script_that_looks_for_the_fates_finds_none(tmp_path):
    made = play(
        "spaceship-titanic",
        [
            writing("test.csv", "PassengerId\n"),
            writing("train.py", CHEATER),
            executing("train.py"),
            submitting(),
        ],
        tmp_path / "play" / "runs",
    )
    forged, _, looked, *_ = steps_of(made)
    assert not forged.observation.ok and "read-only" in forged.observation.text
    assert "files with fates: 0" in looked.observation.text
    assert made.grade is not None and made.grade.valid and made.grade.success is False
