"""The fathomnet task: its pictures, their published form, its grader, and those who cheat it."""

from __future__ import annotations

import csv
import json
import random
import runpy
import shutil
import struct
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.acting import executing, play, steps_of, submitting, writing
from support.sources_fathomnet import publish
from support.suite import contents, preparing

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "fathomnet"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grading = runpy.run_path(str(TASK / "grade.py"))
grade = grading["grade"]

TRAIN, EVAL = "object_detection/train.json", "object_detection/eval.json"
LABELS = "multilabel_classification/train.csv"
STARTER = 0.13
"""What the starter scores on the data of seed 0."""


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def document(folder: Path, name: str) -> dict:
    return json.loads((folder / name).read_text())


def pixels(file: Path) -> np.ndarray:
    """Reads the PNG files that `mini` has."""
    content = file.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    place, body = 8, b""
    while place < len(content):
        (length,) = struct.unpack(">I", content[place : place + 4])
        kind, data = content[place + 4 : place + 8], content[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", content[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(kind + data)
        if kind == b"IHDR":
            width, height, *rest = struct.unpack(">IIBBBBB", data)
            assert rest == [8, 2, 0, 0, 0]
        elif kind == b"IDAT":
            body += data
        place += 12 + length
    lines = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + 3 * width)
    assert (lines[:, 0] == 2).all()
    return np.cumsum(lines[:, 1:], axis=0, dtype=np.uint8).reshape(height, width, 3)


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    return publish(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def full(source, tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("full"), "full", 7, source)


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_pictures(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = contents(prepared(tmp_path / "other", seed=1))
    assert not {name for name in other if "images" in name} & set(contents(mini))
    assert not set(other.values()) & set(contents(mini).values()) - {other["private/categories.txt"]}


def test_both_variants_have_the_same_files_and_columns_and_mini_says_that_it_is_synthetic(mini, full):
    for made in (mini, full):
        public = made / "public"
        assert {str(file.relative_to(public)) for file in public.rglob("*") if file.parent.name != "images"} == {
            "images", "category_key.csv", "multilabel_classification", LABELS, "object_detection", TRAIN, EVAL,
            "sample_submission.csv", "data_description.txt",
        }  # fmt: skip
        assert (public / "category_key.csv").read_text().startswith("id,name,supercat\n")
        assert (public / LABELS).read_text().startswith("id,categories\n")
        learned, asked = document(public, TRAIN), document(public, EVAL)
        assert learned.keys() == asked.keys() == {"images", "annotations", "categories"}
        assert (
            learned["images"][0].keys() == asked["images"][0].keys() == {"id", "file_name", "width", "height"}
        )
        names = {image["file_name"] for image in learned["images"] + asked["images"]}
        assert names == {file.name for file in (public / "images").iterdir()}
    assert "synthetic" in (mini / "public" / "data_description.txt").read_text()
    assert "synthetic" not in (full / "public" / "data_description.txt").read_text()


@pytest.mark.parametrize("which", ["mini", "full"])
def test_a_picture_is_out_of_sample_if_it_shows_a_category_that_none_to_learn_from_shows(request, which):
    made = request.getfixturevalue(which)
    learned = {kind for row in rows(made / "public" / LABELS) for kind in json.loads(row["categories"])}
    answers = rows(made / "private" / "answers.csv")
    known, unknown = set(), Counter()
    for row in answers:
        kinds = set(map(float, row["categories"].split()))
        if row["osd"] == "0":
            known |= kinds
        else:
            unknown.update(kinds - learned)
            assert kinds - learned
    assert unknown and not known & unknown.keys()
    boxes = document(made / "public", TRAIN)["annotations"]
    assert not {box["category_id"] for box in boxes} & unknown.keys()
    assert set(unknown) <= {float(row["id"]) for row in rows(made / "public" / "category_key.csv")}


def test_categories_of_test_pictures_are_in_private_only(mini, full):
    for made in (mini, full):
        public = made / "public"
        test = {row["id"] for row in rows(made / "private" / "answers.csv")}
        train = {row["id"] for row in rows(public / LABELS)}
        asked, learned = document(public, EVAL), document(public, TRAIN)
        assert asked["annotations"] == []
        assert {Path(image["file_name"]).stem for image in asked["images"]} == test
        assert {Path(image["file_name"]).stem for image in learned["images"]} == train
        assert not test & train
        numbers = {image["id"] for image in learned["images"]}
        assert numbers == set(range(1, len(train) + 1)), "gaps would tell where test pictures were"
        assert "url" not in (public / EVAL).read_text() + (public / TRAIN).read_text()
        assert len({row["categories"] for row in rows(public / "sample_submission.csv")}) == 1


def test_mini_has_several_animals_a_picture_a_long_tail_and_water_that_swallows_red(mini):
    boxes = document(mini / "public", TRAIN)
    count = len(boxes["images"])
    shown = Counter(kind for row in rows(mini / "public" / LABELS) for kind in json.loads(row["categories"]))
    assert 1.8 < len(boxes["annotations"]) / count < 3
    assert max(shown.values()) > 5 * min(shown.values()) and min(shown.values()) >= 5
    answers = rows(mini / "private" / "answers.csv")
    unknown = sum(row["osd"] == "1" for row in answers)
    assert 900 < count < 1100 and 180 < unknown < 380 < len(answers) - unknown
    pictures = [pixels(mini / "public" / "images" / image["file_name"]) for image in boxes["images"][:150]]
    assert {picture.shape for picture in pictures} == {(48, 48, 3)}
    red = np.array([picture[..., 0].mean() / picture.mean() for picture in pictures])
    assert red.min() < 0.6 and red.max() > 1
    for box in boxes["annotations"]:
        left, top, width, height = box["bbox"]
        assert width > 0 and height > 0 and left >= 0 and top >= 0
        assert left + width <= 48 and top + height <= 48


def test_full_holds_back_a_fifth_and_all_pictures_with_held_out_categories(full, source):
    answers = rows(full / "private" / "answers.csv")
    learned = rows(full / "public" / LABELS)
    assert len(answers) + len(learned) == 400
    unknown = sum(row["osd"] == "1" for row in answers)
    assert 0.15 * 400 <= unknown <= 0.25 * 400
    assert 80 <= len(answers) <= 80 + unknown
    published = {row["id"]: row["categories"] for row in rows(source / LABELS)}
    assert {row["id"]: row["categories"] for row in learned}.items() <= published.items()
    for row in answers:
        assert [float(kind) for kind in row["categories"].split()] == json.loads(published[row["id"]])
        place = Path("images") / f"{row['id']}.png"
        assert (full / "public" / place).read_bytes() == (source / place).read_bytes()
    before = {image["id"]: image["file_name"] for image in document(source, TRAIN)["images"]}
    after = {image["id"]: image["file_name"] for image in document(full / "public", TRAIN)["images"]}
    kept = set(after.values())
    assert Counter(
        (before[box["image_id"]], box["category_id"], *box["bbox"])
        for box in document(source, TRAIN)["annotations"]
        if before[box["image_id"]] in kept
    ) == Counter(
        (after[box["image_id"]], box["category_id"], *box["bbox"])
        for box in document(full / "public", TRAIN)["annotations"]
    )


def test_full_is_split_by_name_whatever_the_order(full, source, tmp_path):
    moved = Path(shutil.copytree(source, tmp_path / "moved"))
    header, *lines = (moved / LABELS).read_text().splitlines(keepends=True)
    random.Random(0).shuffle(lines)
    (moved / LABELS).write_text("".join([header, *lines]))
    boxes = document(moved, TRAIN)
    boxes["images"].reverse()
    (moved / TRAIN).write_text(json.dumps(boxes))
    assert contents(prepared(tmp_path / "two", "full", 7, moved)) == contents(full)
    other = prepared(tmp_path / "three", "full", 8, source)
    assert contents(other)["private/answers.csv"] != contents(full)["private/answers.csv"]


def in_text(name, old, new):
    def change(folder):
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new, 1))

    return change


def in_boxes(change):
    def apply(folder):
        boxes = document(folder, TRAIN)
        change(boxes)
        (folder / TRAIN).write_text(json.dumps(boxes))

    return apply


def last_line_lost(name):
    def change(folder):
        (folder / name).write_text("".join((folder / name).read_text().splitlines(keepends=True)[:-1]))

    return change


def last_line_twice(name):
    def change(folder):
        text = (folder / name).read_text()
        (folder / name).write_text(text + text.splitlines()[-1] + "\n")

    return change


def picture_lost(folder):
    sorted((folder / "images").iterdir())[0].unlink()


ALMOST_RIGHT = {
    "label column renamed": (
        in_text(LABELS, "categories", "labels"),
        "no column 'categories', only 'id', 'labels'",
    ),
    "key column renamed": (
        in_text("category_key.csv", "name", "species"),
        "no column 'name', only 'id', 'species'",
    ),
    "category missing": (last_line_lost("category_key.csv"), "289 categories, not 290"),
    "category no number": (in_text("category_key.csv", "\n7,", "\nseven,"), "the id 'seven'"),
    "label row missing": (last_line_lost(LABELS), "lacks the picture"),
    "label row twice": (last_line_twice(LABELS), "more than once"),
    "label form": (in_text(LABELS, '"[', '"('), "not a list such as [1.0, 9.0]"),
    "label unknown": (in_text(LABELS, '"[', '"[999.0, '), "the category 999, which category_key.csv lacks"),
    "label differs": (in_text(LABELS, '"[', '"[290.0, '), "and object_detection/train.json has"),
    "row cut": (in_text(LABELS, ',"[', ' "['), "values on line 2, not 2"),
    "no labels": (lambda folder: (folder / LABELS).unlink(), "train.csv does not exist"),
    "no boxes": (lambda folder: (folder / TRAIN).unlink(), "train.json does not exist"),
    "boxes cut": (lambda folder: (folder / TRAIN).write_text("{"), "is not a JSON file"),
    "boxes no document": (lambda folder: (folder / TRAIN).write_text("[]"), "does not hold a COCO document"),
    "no annotations": (in_boxes(lambda boxes: boxes.pop("annotations")), "no list 'annotations'"),
    "image missing in boxes": (in_boxes(lambda boxes: boxes["images"].pop()), "a box for the image 400"),
    "field renamed": (in_text(TRAIN, '"file_name"', '"name"'), "'images' without a good 'file_name'"),
    "bad box": (in_boxes(lambda boxes: boxes["annotations"][0].update(bbox=[1, 2])), "not four numbers"),
    "escaping name": (
        in_boxes(lambda boxes: boxes["images"][0].update(file_name="../../etc/passwd")),
        "not a plain name",
    ),
    "picture missing": (picture_lost, "lacks 1 of 400 pictures"),
}


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_files_that_are_almost_right_are_refused_and_the_difference_named(source, tmp_path, defect):
    change, sentence = ALMOST_RIGHT[defect]
    copy = Path(shutil.copytree(source, tmp_path / "source"))
    change(copy)
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path, "full", 0, copy)
    assert sentence in str(refusal.value)


@pytest.fixture
def private(tmp_path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "answers.csv").write_text("id,categories,osd\na,1 2,0\nb,3,0\nc,2 40,1\nd,40,1\n")
    (folder / "categories.txt").write_text("".join(f"{code}\n" for code in range(1, 41)))
    return folder


def score(private: Path, text: str) -> float:
    file = private.parent / "submission.csv"
    file.write_text(text)
    return grade(file, private)


HEADER = "id,categories,osd\n"


def test_a_perfect_submission_scores_one_and_its_reverse_minus_a_half(private):
    assert score(private, HEADER + "d,9,1\nb,3,0\nc,9,0.6\na,2 1,0.5\n") == 1
    assert score(private, HEADER + "a,9,1\nb,9,0.9\nc,2,0.1\nd,40,0\n") == -0.5


def test_the_score_is_as_computed_by_hand(private):
    # a: 5 1 2 gives (1/2 + 2/3) / 2 = 7/12; b: 3 at rank 4 gives 1/4. osd: of four pairs 2.5 are in order.
    text = HEADER + "a,5 1 2,0.2\nb,7 8 9 3,0.6\nc,1,0.6\nd,1,0.3\n"
    assert score(private, text) == pytest.approx(((7 / 12 + 1 / 4) / 2 + 2 * 2.5 / 4 - 1) / 2, abs=1e-15)


def test_what_follows_after_twenty_categories_is_not_looked_at(private):
    long = " ".join(str(code) for code in range(5, 25))
    rest = "b,3,0\nc,1,1\nd,1,1\n"
    assert (
        score(private, f"{HEADER}a,{long} 1 2,0\n{rest}")
        == score(private, f"{HEADER}a,{long},0\n{rest}")
        == 0.75
    )


def test_the_area_under_the_curve_agrees_with_counting_pairs():
    rng = random.Random(3)
    for _ in range(50):
        scores = [rng.choice([0.0, 0.25, 0.5, rng.random()]) for _ in range(30)]
        positive = [True, False, *(rng.random() < 0.3 for _ in range(28))]
        pairs = [
            (high > low) + 0.5 * (high == low)
            for high, is_high in zip(scores, positive, strict=True)
            for low, is_low in zip(scores, positive, strict=True)
            if is_high and not is_low
        ]
        assert grading["area_under_curve"](scores, positive) == pytest.approx(sum(pairs) / len(pairs))


def test_average_precision_agrees_with_its_definition():
    rng = random.Random(4)
    codes = [str(code) for code in range(1, 41)]
    for _ in range(50):
        ranked, true = rng.sample(codes, rng.randint(1, 40)), rng.sample(codes, rng.randint(1, 30))
        first = ranked[:20]
        total = sum(
            len(set(first[: rank + 1]) & set(true)) / (rank + 1)
            for rank, code in enumerate(first)
            if code in true
        )
        expected = total / min(len(true), 20)
        assert grading["average_precision"](ranked, true) == pytest.approx(expected)


GOOD = HEADER + "a,1 2,0\nb,3,0\nc,2,1\nd,4,1\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD.replace("d,4,1\n", ""), "ids are missing"),
        (GOOD + "e,4,1\n", "not in the test set"),
        (GOOD + "d,4,1\n", "again on line 6"),
        (GOOD.replace("b,3,0", "b,3,nan"), "write a finite number"),
        (GOOD.replace("b,3,0", "b,3,1e300"), "write a number from 0 to 1"),
        (GOOD.replace("b,3,0", "b,3,-1"), "write a number from 0 to 1"),
        (GOOD.replace("b,3,0", "b,,0"), "categories is empty"),
        (GOOD.replace("b,3,0", "b,3.0,0"), "has '3.0'; write numbers of category_key.csv"),
        (GOOD.replace("b,3,0", "b,[3],0"), "has '[3]'; write numbers of category_key.csv"),
        (GOOD.replace("b,3,0", "b,41,0"), "has '41'; write numbers"),
        (GOOD.replace("b,3,0", "b,3 3 3,0"), "has 3 more than once"),
        (GOOD.replace("b,3,0", "b," + "3 " * 3000 + ",0"), "has 6000 characters"),
        (GOOD.replace("osd", "score"), "there is no column 'osd'"),
        ("", "it is empty"),
    ],
)
def test_what_cannot_be_graded_is_refused(private, text, sentence):
    with pytest.raises(SubmissionRefusedError) as refusal:
        score(private, text)
    assert sentence in str(refusal.value)


def test_no_submission_without_knowledge_succeeds(mini, tmp_path):
    """The sample, everything ranked alike, answers of other pictures, and everything called unknown."""
    answers = rows(mini / "private" / "answers.csv")
    shown = Counter(kind for row in rows(mini / "public" / LABELS) for kind in json.loads(row["categories"]))
    usual = " ".join(str(int(kind)) for kind, _ in shown.most_common(20))
    by_number = " ".join(map(str, range(1, 41)))
    shifted = answers[7:] + answers[:7]
    cheats = {
        "ranked by frequency": [(usual, "0.5")] * len(answers),
        "everything ranked": [(by_number, "1")] * len(answers),
        "all unknown": [(usual, "1")] * len(answers),
        "shifted": [(row["categories"], row["osd"]) for row in shifted],
    }
    for cheat in cheats.values():
        lines = [f"{row['id']},{kinds},{osd}\n" for row, (kinds, osd) in zip(answers, cheat, strict=True)]
        (tmp_path / "submission.csv").write_text(HEADER + "".join(lines))
        assert grade(tmp_path / "submission.csv", mini / "private") < 1.1 * STARTER
    assert grade(mini / "public" / "sample_submission.csv", mini / "private") < STARTER


def test_categories_of_training_pictures_cannot_be_submitted(mini, tmp_path):
    lines = [
        f"{row['id']},{' '.join(str(int(kind)) for kind in json.loads(row['categories']))},0\n"
        for row in rows(mini / "public" / LABELS)
    ]
    (tmp_path / "submission.csv").write_text(HEADER + "".join(lines))
    with pytest.raises(SubmissionRefusedError, match="not in the test set"):
        grade(tmp_path / "submission.csv", mini / "private")


CHEATER = """
import json, os

with open("object_detection/eval.json") as stream:
    ids = [image["file_name"][:-4] for image in json.load(stream)["images"]]
found = []
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        if name.endswith((".csv", ".txt", ".json")) and name not in ("eval.json", "sample_submission.csv"):
            try:
                with open(os.path.join(folder, name)) as stream:
                    if ids[0] in stream.read():
                        found.append(name)
            except (OSError, UnicodeDecodeError):
                continue
print("files with answers:", len(found))
with open("submission.csv", "w") as stream:
    stream.write("id,categories,osd\\n")
    stream.writelines(f"{picture},{' '.join(map(str, range(1, 41)))},1\\n" for picture in ids)
"""


def test_a_script_that_looks_for_the_answers_finds_none(tmp_path):
    made = play(
        "fathomnet",
        [
            writing("object_detection/eval.json", "{}"),
            writing("train.py", CHEATER),
            executing("train.py"),
            submitting(),
        ],
        tmp_path / "play" / "runs",
    )
    forged, _, looked, *_ = steps_of(made)
    assert not forged.observation.ok and "read-only" in forged.observation.text
    assert "files with answers: 0" in looked.observation.text
    assert made.grade is not None and made.grade.valid and made.grade.success is False
