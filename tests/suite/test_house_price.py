"""The house-price task: its data, its published form, and its grader."""

from __future__ import annotations

import csv
import math
import random
import runpy
from pathlib import Path

import pytest
from support.suite import contents, preparing

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "house-price"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grade = runpy.run_path(str(TASK / "grade.py"))["grade"]

PUBLISHED_HEADER = (
    "Id,MSSubClass,MSZoning,LotFrontage,LotArea,Street,Alley,LotShape,LandContour,Utilities,LotConfig,LandSlope,"
    "Neighborhood,Condition1,Condition2,BldgType,HouseStyle,OverallQual,OverallCond,YearBuilt,YearRemodAdd,"
    "RoofStyle,RoofMatl,Exterior1st,Exterior2nd,MasVnrType,MasVnrArea,ExterQual,ExterCond,Foundation,BsmtQual,"
    "BsmtCond,BsmtExposure,BsmtFinType1,BsmtFinSF1,BsmtFinType2,BsmtFinSF2,BsmtUnfSF,TotalBsmtSF,Heating,"
    "HeatingQC,CentralAir,Electrical,1stFlrSF,2ndFlrSF,LowQualFinSF,GrLivArea,BsmtFullBath,BsmtHalfBath,"
    "FullBath,HalfBath,BedroomAbvGr,KitchenAbvGr,KitchenQual,TotRmsAbvGrd,Functional,Fireplaces,FireplaceQu,"
    "GarageType,GarageYrBlt,GarageFinish,GarageCars,GarageArea,GarageQual,GarageCond,PavedDrive,WoodDeckSF,"
    "OpenPorchSF,EnclosedPorch,3SsnPorch,ScreenPorch,PoolArea,PoolQC,Fence,MiscFeature,MiscVal,MoSold,YrSold,"
    "SaleType,SaleCondition,SalePrice"
)


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def write(file: Path, table: list[dict[str, str]]) -> Path:
    with file.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(table[0]))
        writer.writeheader()
        writer.writerows(table)
    return file


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture(scope="module")
def source(mini, tmp_path_factory) -> Path:
    """A file in the published form, with made-up content."""
    folder = tmp_path_factory.mktemp("source")
    write(folder / "train.csv", rows(mini / "public" / "train.csv"))
    return folder


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_houses(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = prepared(tmp_path / "other", seed=1)
    assert rows(other / "public" / "train.csv")[0] != rows(mini / "public" / "train.csv")[0]


def test_mini_has_the_published_columns_and_says_that_it_is_synthetic(mini):
    public = mini / "public"
    assert (public / "train.csv").read_text().splitlines()[0] == PUBLISHED_HEADER
    assert (public / "test.csv").read_text().splitlines()[0] == PUBLISHED_HEADER.removesuffix(",SalePrice")
    description = (public / "data_description.txt").read_text()
    assert "synthetic" in description
    described = {line.split()[0] for line in description.splitlines() if line}
    assert set(PUBLISHED_HEADER.split(",")) <= described


def test_prices_of_test_houses_are_in_private_only(mini):
    train, test = rows(mini / "public" / "train.csv"), rows(mini / "public" / "test.csv")
    answers = rows(mini / "private" / "answers.csv")
    assert (len(train), len(test)) == (1460, 1200)
    assert [row["Id"] for row in answers] == [row["Id"] for row in test]
    assert not {row["Id"] for row in train} & {row["Id"] for row in test}
    assert {file.name for file in (mini / "public").iterdir()} == {
        "train.csv", "test.csv", "sample_submission.csv", "data_description.txt",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("PoolQC", 0.98, 1.0),
        ("MiscFeature", 0.94, 0.98),
        ("Alley", 0.9, 0.97),
        ("Fence", 0.7, 0.86),
        ("FireplaceQu", 0.4, 0.65),
        ("LotFrontage", 0.14, 0.22),
        ("GarageType", 0.03, 0.1),
        ("BsmtQual", 0.01, 0.05),
        ("OverallQual", 0.0, 0.0),
    ],
)
def test_as_much_is_missing_as_in_the_published_data(mini, column, low, high):
    values = [row[column] for row in rows(mini / "public" / "train.csv")]
    assert low <= values.count("NA") / len(values) <= high


def test_prices_are_skewed_and_parts_of_houses_add_up(mini):
    houses = rows(mini / "public" / "train.csv")
    prices = sorted(int(house["SalePrice"]) for house in houses)
    mean = sum(prices) / len(prices)
    deviation = math.sqrt(sum((price - mean) ** 2 for price in prices) / len(prices))
    assert 1 < sum(((price - mean) / deviation) ** 3 for price in prices) / len(prices) < 3
    assert 140_000 < prices[len(prices) // 2] < mean < 220_000
    for house in houses:
        floors = sum(int(house[part]) for part in ("1stFlrSF", "2ndFlrSF", "LowQualFinSF"))
        assert floors == int(house["GrLivArea"])
        ground = sum(int(house[part]) for part in ("BsmtFinSF1", "BsmtFinSF2", "BsmtUnfSF"))
        assert ground == int(house["TotalBsmtSF"])
        assert int(house["YearBuilt"]) <= int(house["YrSold"]) <= 2010
        assert (house["FireplaceQu"] == "NA") == (house["Fireplaces"] == "0")
        assert (house["GarageType"] == "NA") == (house["GarageCars"] == "0")


def test_full_is_split_by_id_whatever_the_order_of_rows(source, tmp_path):
    one = prepared(tmp_path / "one", "full", 7, source)
    assert len(rows(one / "public" / "train.csv")) == 1168
    assert len(rows(one / "private" / "answers.csv")) == 292
    table = rows(source / "train.csv")
    random.Random(0).shuffle(table)
    (tmp_path / "shuffled").mkdir()
    write(tmp_path / "shuffled" / "train.csv", table)
    two = prepared(tmp_path / "two", "full", 7, tmp_path / "shuffled")
    assert contents(one) == contents(two)
    three = prepared(tmp_path / "three", "full", 8, source)
    assert contents(three)["private/answers.csv"] != contents(one)["private/answers.csv"]


def renamed(text):
    return text.replace("LotArea", "LotSize", 1)


ALMOST_RIGHT = {
    "column renamed": (renamed, "it lacks 'LotArea'; it has in addition 'LotSize'"),
    "columns swapped": (
        lambda text: text.replace("MoSold,YrSold", "YrSold,MoSold", 1),
        "their order differs",
    ),
    "row missing": (lambda text: "".join(text.splitlines(keepends=True)[:-1]), "1459 rows, not 1460"),
    "row cut": (
        lambda text: text.rstrip()[: text.rstrip().rindex(",")] + "\n",
        "80 values on line 1461, not 81",
    ),
    "price not a number": (
        lambda text: text.rstrip()[: text.rstrip().rindex(",")] + ",cheap\n",
        "SalePrice 'cheap'",
    ),
    "row twice": (
        lambda text: "".join([*text.splitlines(keepends=True)[:-1], text.splitlines(keepends=True)[1]]),
        "an Id more than once",
    ),
    "empty": (lambda text: "", "is not a CSV file"),
}


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_a_file_that_is_almost_right_is_refused_and_the_difference_named(source, tmp_path, defect):
    change, sentence = ALMOST_RIGHT[defect]
    (tmp_path / "source").mkdir()
    with (source / "train.csv").open(newline="") as stream:
        (tmp_path / "source" / "train.csv").write_text(change(stream.read()), newline="")
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path, "full", 0, tmp_path / "source")
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
    (folder / "answers.csv").write_text("Id,SalePrice\n10,100\n20,200\n30,300\n")
    return folder


def score(private: Path, text: str) -> float:
    file = private.parent / "submission.csv"
    file.write_text(text)
    return grade(file, private)


def test_the_score_is_the_mean_absolute_error_by_id(private):
    assert score(private, "Id,SalePrice\n10,100\n20,200\n30,300\n") == 0
    assert score(private, "Id,SalePrice\n30,310\n10,80\n20,200.0\n") == 10


def test_the_sample_submission_is_valid_and_worse_than_the_starter_could_be(mini):
    assert grade(mini / "public" / "sample_submission.csv", mini / "private") > 45_000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("Id,SalePrice\n10,100\n20,200\n", "ids are missing"),
        ("Id,SalePrice\n10,100\n20,200\n30,300\n40,1\n", "not in the test set"),
        ("Id,SalePrice\n10,100\n10,100\n20,200\n30,300\n", "again on line 3"),
        ("Id,SalePrice\n10,nan\n20,200\n30,300\n", "write a finite number"),
        ("Id,SalePrice\n10,1e300\n20,200\n30,300\n", "write a number from"),
        ("Id,Price\n10,100\n20,200\n30,300\n", "there is no column 'SalePrice'"),
        ("", "it is empty"),
    ],
)
def test_what_cannot_be_graded_is_refused(private, text, sentence):
    with pytest.raises(SubmissionRefusedError) as refusal:
        score(private, text)
    assert sentence in str(refusal.value)
