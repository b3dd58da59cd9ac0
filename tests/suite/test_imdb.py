"""The imdb task: its reviews, their published form, its grader, and those who cheat it."""

from __future__ import annotations

import csv
import json
import os
import random
import re
import runpy
import shutil
import statistics
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from support.acting import executing, play, steps_of, submitting, writing
from support.sources_imdb import (
    MODEL,
    ROWS,
    SIZES,
    parts,
    publish,
    publish_model,
    python_with_parquet,
    reviews,
    write_parquet,
)  # fmt: skip
from support.suite import contents, preparing

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "imdb"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grade = runpy.run_path(str(TASK / "grade.py"))["grade"]
words = runpy.run_path(str(TASK / "words.py"))

SUBMITTED = "id,negative,positive"


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def submission(folder: Path, praise: dict[str, float]) -> Path:
    file = folder / "submission.csv"
    file.write_text(f"{SUBMITTED}\n" + "".join(f"{name},{1 - p},{p}\n" for name, p in praise.items()))
    return file


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text and SUBMITTED in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_reviews(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = prepared(tmp_path / "other", seed=1)
    texts, others = ({row["text"] for row in rows(f / "public" / "train.csv")} for f in (mini, other))
    assert not texts & others


def test_mini_says_that_it_is_synthetic_and_what_its_columns_are(mini):
    public = mini / "public"
    assert {file.name for file in public.iterdir()} == {
        "train.csv", "test.csv", "sample_submission.csv", "data_description.txt",
    }  # fmt: skip
    assert (public / "train.csv").read_text().splitlines()[0] == "id,text,label"
    assert (public / "test.csv").read_text().splitlines()[0] == "id,text"
    description = (public / "data_description.txt").read_text()
    assert "synthetic" in description
    assert {"id", "text", "label"} <= {line.split()[0] for line in description.splitlines() if line}


def test_labels_of_test_reviews_are_in_private_only_and_neither_ids_nor_order_tell_them(mini):
    train, test = rows(mini / "public" / "train.csv"), rows(mini / "public" / "test.csv")
    answers = rows(mini / "private" / "answers.csv")
    assert (len(train), len(test)) == (4000, 2500)
    assert [row["id"] for row in answers] == [row["id"] for row in test]
    assert not {row["id"] for row in train} & {row["id"] for row in test}
    assert not {row["text"] for row in train} & {row["text"] for row in test}
    labels = [int(row["label"]) for row in answers]
    assert abs(statistics.fmean(labels) - 0.5) < 0.03
    assert abs(statistics.correlation(range(len(labels)), labels)) < 0.08
    assert abs(statistics.correlation([int(row["id"], 16) for row in answers], labels)) < 0.08


def test_neither_length_nor_layout_nor_any_word_but_adjectives_tells_the_label(mini):
    train = rows(mini / "public" / "train.csv")
    labels = [int(row["label"]) for row in train]
    for measure in (
        len,
        lambda text: text.count("<br />"),
        lambda text: text.count("!"),
        lambda text: text.count(","),
        lambda text: text.count("."),
        lambda text: len(re.findall(r"\b(?:not|no|never|nothing|hardly)\b", text)),
        lambda text: len(re.findall(r"\b(?:but|although|though|however|while)\b", text.lower())),
        lambda text: sum(letter.isupper() for letter in text),
    ):
        values = [measure(row["text"]) for row in train]
        assert abs(statistics.correlation(values, labels)) < 0.06
    # Of words that judge nothing, the one that leans most leans no more than chance makes the largest of many lean.
    frequent = "ASPECTS PEOPLE DEEDS PLACES STRONG FAINT"
    neutral = {word for name in frequent.split() for word in words[name].split()}
    in_all, in_praise = Counter(), Counter()
    for row, label in zip(train, labels, strict=True):
        found = set(re.findall("[a-z]+", row["text"].lower())) & neutral
        in_all.update(found)
        in_praise.update(found if label else ())
    leanings = [abs(in_praise[word] - n / 2) / (n / 4) ** 0.5 for word, n in in_all.items() if n > 30]
    assert len(leanings) > 150 and max(leanings) < 4


def test_words_lean_to_a_side_and_those_behind_a_negation_or_in_the_mouth_of_others_to_the_other(mini):
    """What a bag of words can learn is there, and so is what it cannot."""
    train = rows(mini / "public" / "train.csv")
    good, bad = ("|".join(words[name].split()) for name in ("GOOD", "BAD"))

    def agreement(pattern: str) -> float:
        """How often a word that matches sides with the label."""
        sides = []
        for row in train:
            for name, side in ((good, "1"), (bad, "0")):
                found = re.findall(pattern.replace("WORD", rf"(?:{name})\b"), row["text"])
                sides += [row["label"] == side] * len(found)
        assert len(sides) > 100, pattern
        return statistics.fmean(sides)

    assert 0.54 < agreement(r"\bWORD") < 0.66
    assert agreement(r"(?:is|was) WORD") > 0.6
    assert agreement(r"(?:is not|never feels|was never|far from|did not find the \w+) WORD") < 0.42
    assert agreement(r"(?:expected|promised|hope for|would be|called the \w+) WORD") < 0.45
    assert (
        agreement(r"(?:[Oo]verall|in all|the end|sum up|verdict|short)[,:] the \w+ (?:is|was|feels) WORD")
        > 0.7
    )
    strong, faint = ("|".join(words[name].split()) for name in ("STRONG", "FAINT"))
    assert (
        agreement(rf"(?:is|was|feels) (?:{strong}) WORD")
        > agreement(rf"(?:is|was|feels) (?:{faint}) WORD") + 0.04
    )


DRIVER = """
import json, runpy, sys
from pathlib import Path
from mlagentbench.errors import PreparationError
script, sizes, cases = json.load(sys.stdin)
prepare = runpy.run_path(script)["prepare"]
prepare.__globals__.update(sizes)
said = {}
for name, seed, source, folder in cases:
    public, private = Path(folder, "public"), Path(folder, "private")
    public.mkdir(parents=True)
    private.mkdir()
    try:
        prepare("full", public, private, seed, Path(source))
        said[name] = ""
    except PreparationError as refusal:
        said[name] = str(refusal)
print(json.dumps(said))
"""


def prepared_in_full(cases: dict[str, tuple[int, Path, Path]]) -> dict[str, str]:
    """What prepare.py said to each (seed, source, folder), on an interpreter that reads Parquet."""
    request = [[name, seed, str(source), str(folder)] for name, (seed, source, folder) in cases.items()]
    done = subprocess.run(
        [python_with_parquet(), "-c", DRIVER],
        input=json.dumps([str(TASK / "prepare.py"), SIZES, request]),
        env={**os.environ, "PYTHONPATH": str(TASK.parents[2])},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, str] = json.loads(done.stdout)
    return said


@pytest.fixture(scope="module")
def _cache_for_module(shared_cache):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLAGENTBENCH_CACHE", str(shared_cache))
        yield


@pytest.fixture(scope="module")
def source(_cache_for_module, tmp_path_factory) -> Path:
    return publish(tmp_path_factory.mktemp("source"))


def test_full_keeps_the_published_parts_and_hides_the_order(source, tmp_path):
    shuffled = tmp_path / "shuffled"
    shutil.copytree(source / MODEL, shuffled / MODEL)
    order = random.Random(0).sample(range(ROWS), ROWS)
    write_parquet(
        {
            file: {name: [column[place] for place in order] for name, column in reviews(part).items()}
            for part, file in parts(shuffled).items()
        }
    )
    said = prepared_in_full(
        {
            "one": (7, source, tmp_path / "one"),
            "two": (7, shuffled, tmp_path / "two"),
            "three": (8, source, tmp_path / "three"),
        }
    )
    assert set(said.values()) == {""}
    one = tmp_path / "one"
    assert contents(one) == contents(tmp_path / "two"), "whatever the order of rows"
    assert contents(one)["private/answers.csv"] != contents(tmp_path / "three")["private/answers.csv"]
    train, test = rows(one / "public" / "train.csv"), rows(one / "public" / "test.csv")
    answers = rows(one / "private" / "answers.csv")
    published = {part: reviews(part) for part in ("train", "test")}
    assert Counter((row["text"], int(row["label"])) for row in train) == Counter(
        zip(*published["train"].values(), strict=True)
    )
    labelled = [
        (row["text"], int(answer["label"]))
        for row, answer in zip(test, answers, strict=True)
        if row["id"] == answer["id"]
    ]
    assert Counter(labelled) == Counter(zip(*published["test"].values(), strict=True))
    assert len({row["id"] for row in test}) == ROWS, "also where a text is there twice"
    labels = [row["label"] for row in answers]
    assert labels != sorted(labels)
    for file in (source / MODEL).iterdir():
        assert (one / "public" / MODEL / file.name).read_bytes() == file.read_bytes()


def replaced(**columns):
    return lambda table: {**table, **columns}


ALMOST_RIGHT = {
    "column renamed": (
        lambda table: {"review": table["text"], "label": table["label"]},
        "it lacks 'text'; it has in addition 'review'",
    ),
    "column too many": (
        lambda table: {**table, "stars": table["label"]},
        "it has in addition 'stars'",
    ),
    "row missing": (
        lambda table: {name: column[:-1] for name, column in table.items()},
        f"{ROWS - 1} rows, not {ROWS}",
    ),
    "unsupervised": (replaced(label=[-1] * ROWS), "in row 0 the label -1, which is neither 0 nor 1"),
    "labels as words": (
        replaced(label=["neg", "pos"] * (ROWS // 2)),
        "label as string, not as string and integer",
    ),
    "one side too large": (replaced(label=[0] * (ROWS - 1) + [1]), f"{ROWS - 1} negative and 1 positive"),
    "empty text": (replaced(text=[""] * ROWS), "in row 0 no text"),
}


@pytest.fixture(scope="module")
def refusals(source, tmp_path_factory) -> dict[str, str]:
    """What is said to each source that is almost right."""
    folder = tmp_path_factory.mktemp("refusals")
    tables = {}
    for name, (change, _) in ALMOST_RIGHT.items():
        shutil.copytree(source, folder / name)
        tables[parts(folder / name)["test"]] = change(reviews("test"))
    write_parquet(tables)
    for name in ("no test part", "cut", "no model", "model incomplete", "another model", "broken config"):
        shutil.copytree(source, folder / name)
    parts(folder / "no test part")["test"].unlink()
    parts(folder / "cut")["train"].write_bytes(parts(source)["train"].read_bytes()[:-100])
    shutil.rmtree(folder / "no model" / MODEL)
    (folder / "model incomplete" / MODEL / "vocab.txt").unlink()
    (folder / "another model" / MODEL / "config.json").write_text('{"model_type": "bert"}')
    (folder / "broken config" / MODEL / "config.json").write_text("[]")
    return prepared_in_full(
        {place.name: (0, place, folder / f"{place.name} made") for place in sorted(folder.iterdir())}
    )


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_a_file_that_is_almost_right_is_refused_and_the_difference_named(refusals, defect):
    said = refusals[defect]
    assert "test-00000-of-00001.parquet" in said and ALMOST_RIGHT[defect][1] in said
    assert "take the Parquet files of stanfordnlp/imdb on huggingface.co as they are" in said


@pytest.mark.parametrize(
    ("defect", "sentence"),
    [
        ("no test part", "test-00000-of-00001.parquet does not exist"),
        ("cut", "train-00000-of-00001.parquet is not a Parquet file"),
        ("no model", "lacks config.json, model.safetensors, tokenizer.json"),
        ("model incomplete", "lacks vocab.txt; take these files of distilbert"),
        ("another model", "has the model_type 'bert', not 'distilbert'"),
        ("broken config", "config.json is not a JSON object"),
    ],
)
def test_a_missing_or_wrong_part_is_refused(refusals, defect, sentence):
    assert sentence in refusals[defect]


def test_an_interpreter_without_a_parquet_reader_is_told_what_to_install(tmp_path):
    publish_model(tmp_path / MODEL)
    (tmp_path / "plain_text").mkdir()
    with pytest.raises(PreparationError, match=r"install pyarrow into it|does not exist"):
        prepared(tmp_path / "made", "full", 0, tmp_path)


@pytest.fixture
def private(tmp_path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "answers.csv").write_text("id,label\na,0\nb,1\nc,1\nd,0\n")
    return folder


def score(private: Path, text: str) -> float:
    file = private.parent / "submission.csv"
    file.write_text(text)
    return grade(file, private)


def test_the_score_is_the_share_of_reviews_whose_greater_probability_is_right_by_id(private):
    assert score(private, f"{SUBMITTED}\na,0.9,0.1\nb,0,1\nc,0.49,0.51\nd,1,0\n") == 1
    assert score(private, f"{SUBMITTED}\nd,1,0\nc,0.6,0.4\nb,0.3,0.7\na,0.2,0.1\n") == 0.75
    assert score(private, "positive,id,negative\n0,d,1\n1,c,0\n1,b,0\n0,a,1\n") == 1
    assert score(private, f"{SUBMITTED}\na,0,1\nb,1,0\nc,1,0\nd,0,1\n") == 0
    # Where both are equal, the first class is taken.
    assert score(private, f"{SUBMITTED}\na,0.5,0.5\nb,0.5,0.5\nc,0.5,0.5\nd,0.5,0.5\n") == 0.5


GOOD = "a,1,0\nb,0,1\nc,0,1\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"{SUBMITTED}\n{GOOD}", "1 of 4 ids are missing"),
        (f"{SUBMITTED}\n{GOOD}d,1,0\ne,1,0\n", "not in the test set"),
        (f"{SUBMITTED}\n{GOOD}c,0,1\nd,1,0\n", "again on line 5"),
        (f"{SUBMITTED}\n{GOOD}d,nan,0\n", "negative is 'nan'; write a finite number"),
        (f"{SUBMITTED}\n{GOOD}d,0,inf\n", "positive is 'inf'; write a finite number"),
        (f"{SUBMITTED}\n{GOOD}d,1e9,0\n", "write a number from 0 to 1"),
        (f"{SUBMITTED}\n{GOOD}d,-0.1,0\n", "write a number from 0 to 1"),
        (f"{SUBMITTED}\n{GOOD}d,1,\n", "positive is empty"),
        ("id,0,1\na,1,0\n", "there is no column 'negative', 'positive'"),
        ("id,label\na,0\n", "there is no column 'negative', 'positive'"),
        ("", "it is empty"),
    ],
)
def test_what_cannot_be_graded_is_refused(private, text, sentence):
    with pytest.raises(SubmissionRefusedError) as refusal:
        score(private, text)
    assert sentence in str(refusal.value)


def test_the_sample_constants_and_shifted_answers_are_worth_a_coin(mini, tmp_path):
    answers = {row["id"]: float(row["label"]) for row in rows(mini / "private" / "answers.csv")}
    names, labels = list(answers), list(answers.values())
    coins = {
        "sample": grade(mini / "public" / "sample_submission.csv", mini / "private"),
        "praise": grade(submission(tmp_path, dict.fromkeys(names, 1.0)), mini / "private"),
        "blame": grade(submission(tmp_path, dict.fromkeys(names, 0.0)), mini / "private"),
        "shifted": grade(
            submission(tmp_path, dict(zip(names, labels[1:] + labels[:1], strict=True))), mini / "private"
        ),
    }
    assert all(0.45 < coin < 0.55 for coin in coins.values()), coins
    band = read_definition(TASK / "task.toml").variants["mini"].bands.starter
    assert band is not None and max(coins.values()) < band[0]


def test_ids_of_the_training_reviews_and_repeated_ids_are_refused(mini, tmp_path):
    known = {row["id"]: float(row["label"]) for row in rows(mini / "public" / "train.csv")}
    guessed = {row["id"]: 1.0 for row in rows(mini / "public" / "test.csv")}
    for cheat in (known, {**guessed, **known}):
        with pytest.raises(SubmissionRefusedError, match="not in the test set"):
            grade(submission(tmp_path, cheat), mini / "private")
    file = submission(tmp_path, guessed)
    file.write_text(file.read_text() + f"{next(iter(guessed))},1,0\n")
    with pytest.raises(SubmissionRefusedError, match="write each id once"):
        grade(file, mini / "private")


CHEATER = """
import csv, os

def read(path):
    with open(path, newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))

tests = read("test.csv")
labels = {row["text"]: row["label"] for row in read("train.csv")}
found = {row["id"]: labels[row["text"]] for row in tests if row["text"] in labels}
names = {row["id"] for row in tests}
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        if name.endswith(".csv"):
            try:
                table = read(os.path.join(folder, name))
            except (OSError, UnicodeDecodeError, csv.Error):
                continue
            found.update((row["id"], row["label"]) for row in table if row.get("id") in names and row.get("label"))
print("labels found:", len(found))
with open("submission.csv", "w") as stream:
    stream.write("id,negative,positive\\n")
    stream.writelines(f"{row['id']},{1 - int(found.get(row['id'], 1))},{found.get(row['id'], 1)}\\n" for row in tests)
"""


def test_a_cheater_finds_no_labels_and_gets_no_success(runs):
    made = play(
        "imdb",
        [
            writing("test.csv", "id,text\n"),
            writing("train.py", CHEATER),
            executing("train.py"),
            submitting(),
        ],
        runs,
    )
    forged, _, looked, *_ = steps_of(made)
    assert not forged.observation.ok and "read-only" in forged.observation.text
    assert "labels found: 0" in looked.observation.text
    assert made.grade is not None and made.grade.valid and made.grade.success is False
