"""The cifar10 task: its pictures, their published forms, its grader, and those who cheat it."""

from __future__ import annotations

import csv
import os
import pickle
import runpy
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.acting import executing, play, steps_of, submitting, writing
from support.sources_cifar10 import (
    BATCHES,
    CLASSES,
    batch,
    binary_files,
    pickled_batch,
    pickled_files,
    unpacked,
)
from support.suite import contents, preparing

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "cifar10"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grade = runpy.run_path(str(TASK / "grade.py"))["grade"]
batches = runpy.run_path(str(TASK / "published.py"))["batches"]

FEW = 20


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture
def few(monkeypatch) -> None:
    """Batches of twenty pictures instead of ten thousand."""
    monkeypatch.setitem(batches.__globals__, "PER_BATCH", FEW)


@pytest.fixture
def of_few(monkeypatch, few) -> None:
    """The same for all of prepare.py."""
    load = runpy.run_path
    monkeypatch.setattr(runpy, "run_path", lambda path: {**load(path), "batches": batches})


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text and ",".join(CLASSES) in text
    (source,) = definition.variants["full"].sources
    assert set(source.files) == set(pickled_files(1))
    assert set(source.alternatives[0].files) == set(binary_files(1))


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_pictures(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other, this = contents(prepared(tmp_path / "other", seed=1)), contents(mini)
    assert all(other[name] != this[name] for name in this if "images" in name or "answers" in name)


def test_mini_has_the_form_of_full_and_says_that_it_is_synthetic(mini, of_few, tmp_path):
    source = unpacked(tmp_path / "source", pickled_files(FEW))
    full = prepared(tmp_path / "full", "full", 0, source)
    assert contents(full).keys() == contents(mini).keys()
    for made, train, test in ((mini, 1600, 1000), (full, 5 * FEW, FEW)):
        for part, count in (("train", train), ("test", test)):
            pixels = np.load(made / "public" / f"{part}_images.npy")
            assert (pixels.shape, pixels.dtype) == ((count, 32, 32, 3), np.uint8)
            assert len(rows(made / "public" / f"{part}.csv")) == count
    assert "synthetic" in (mini / "public" / "data_description.txt").read_text()
    assert "synthetic" not in (full / "public" / "data_description.txt").read_text()


def test_labels_of_test_pictures_are_in_private_only(mini):
    public = mini / "public"
    assert {file.name for file in public.iterdir()} == {
        "train_images.npy", "train.csv", "test_images.npy", "test.csv", "classes.txt",
        "sample_submission.csv", "data_description.txt",
    }  # fmt: skip
    answers, test = rows(mini / "private" / "answers.csv"), rows(public / "test.csv")
    assert [row["id"] for row in answers] == [row["id"] for row in test]
    assert list(test[0]) == ["id"]
    assert not {row["id"] for row in test} & {row["id"] for row in rows(public / "train.csv")}
    labelled = (public / "train.csv").read_text() + (public / "sample_submission.csv").read_text()
    for row in answers[:50]:
        assert f"{row['id']},{row['label']}" not in labelled


def test_neither_order_nor_ids_nor_colour_tell_the_kind(mini):
    """Every kind is equally frequent, labels change as often as chance has it, and mean colours say little."""
    for file in (mini / "public" / "train.csv", mini / "private" / "answers.csv"):
        labels = [row["label"] for row in rows(file)]
        assert set(labels) == set(CLASSES)
        assert max(Counter(labels).values()) < 0.14 * len(labels)
        assert sum(a == b for a, b in pairwise(labels)) < 0.14 * len(labels)
    colours, kinds = {}, {}
    for part, file in (("train", mini / "public" / "train.csv"), ("test", mini / "private" / "answers.csv")):
        colours[part] = np.load(mini / "public" / f"{part}_images.npy").mean(axis=(1, 2))
        kinds[part] = np.array([CLASSES.index(row["label"]) for row in rows(file)])
    centres = np.stack([colours["train"][kinds["train"] == kind].mean(axis=0) for kind in range(10)])
    nearest = ((colours["test"][:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == kinds["test"]).mean() < 0.25


@pytest.mark.parametrize("files", [pickled_files, binary_files])
def test_both_published_forms_give_every_picture_with_its_label(of_few, tmp_path, files):
    source = unpacked(tmp_path / "source", files(FEW))
    made = prepared(tmp_path / "made", "full", 7, source)
    for part, names, labelled in (
        ("train", BATCHES[:-1], made / "public" / "train.csv"),
        ("test", BATCHES[-1:], made / "private" / "answers.csv"),
    ):
        expected = {}
        for name in names:
            for row, label in zip(*batch(name, FEW), strict=True):
                red, green, blue = row.reshape(3, 32, 32)
                expected[np.stack([red, green, blue], axis=-1).tobytes()] = CLASSES[label]
        pixels = np.load(made / "public" / f"{part}_images.npy")
        found = [row["label"] for row in rows(labelled)]
        assert {picture.tobytes(): label for picture, label in zip(pixels, found, strict=True)} == expected
    where = [picture[0, 1, 0] for picture in np.load(made / "public" / "test_images.npy")]
    assert where != sorted(where), "the test pictures are still in the published order"


def test_the_two_forms_and_a_folder_without_its_own_folder_give_the_same(of_few, tmp_path):
    one = prepared(tmp_path / "one", "full", 7, unpacked(tmp_path / "a", pickled_files(FEW)))
    two = prepared(tmp_path / "two", "full", 7, unpacked(tmp_path / "b", binary_files(FEW)))
    three = prepared(tmp_path / "three", "full", 7, tmp_path / "a" / "cifar-10-batches-py")
    assert contents(one) == contents(two) == contents(three)
    other = prepared(tmp_path / "other", "full", 8, tmp_path / "a")
    assert contents(other)["private/answers.csv"] != contents(one)["private/answers.csv"]


def test_batches_that_were_pickled_anew_are_read_as_well(few, tmp_path):
    source = unpacked(tmp_path, pickled_files(FEW))
    values, labels = batch("test_batch", FEW)
    for protocol in (2, 4):
        (source / "cifar-10-batches-py" / "test_batch").write_bytes(
            pickle.dumps({"labels": labels, "data": values}, protocol)
        )
        pixels, kinds = batches(source, CLASSES)["test"]
        assert kinds == labels
        assert (pixels.transpose(0, 3, 1, 2).reshape(FEW, 3072) == values).all()


def changed(name, change):
    def apply(files):
        (path,) = [path for path in files if path.endswith(f"/{name}")]
        return {**files, path: change(files[path])}

    return apply


def without(name):
    return lambda files: {path: files[path] for path in files if not path.endswith(f"/{name}")}


def a_batch(labels=None, values=None):
    usual_values, usual_labels = batch("test_batch", FEW)
    return pickled_batch(
        usual_values if values is None else values, usual_labels if labels is None else labels
    )


ALMOST_RIGHT = {
    "batch missing": (pickled_files, without("data_batch_3"), "lacks data_batch_3"),
    "meta missing": (pickled_files, without("batches.meta"), "lacks batches.meta"),
    "binary batch missing": (binary_files, without("data_batch_5.bin"), "lacks data_batch_5.bin"),
    "nothing there": (pickled_files, lambda files: {}, "neither a folder cifar-10-batches-py nor"),
    "field renamed": (
        pickled_files,
        changed("data_batch_2", lambda content: content.replace(b"U\x06labels", b"U\x0bfine_labels")),
        "no field 'labels', only 'batch_label', 'data', 'filenames', 'fine_labels'",
    ),
    "class renamed": (
        pickled_files,
        changed("batches.meta", lambda content: content.replace(b"truck", b"lorry")),
        "ship, lorry, not airplane",
    ),
    "class renamed in binary": (
        binary_files,
        changed("batches.meta.txt", lambda content: content.replace(b"truck", b"lorry")),
        "ship, lorry, not airplane",
    ),
    "label missing": (
        pickled_files,
        changed("test_batch", lambda _: a_batch(labels=[0] * (FEW - 1))),
        "19 labels, not 20",
    ),
    "label too large": (
        pickled_files,
        changed("test_batch", lambda _: a_batch(labels=[10] * FEW)),
        "the label 10, not a number from 0 to 9",
    ),
    "label too large in binary": (
        binary_files,
        changed("test_batch.bin", lambda content: b"\x63" + content[1:]),
        "the label 99, not a number from 0 to 9",
    ),
    "pictures missing": (
        pickled_files,
        changed("test_batch", lambda _: a_batch(values=np.zeros((FEW - 1, 3072), np.uint8))),
        "the shape (19, 3072), not (20, 3072)",
    ),
    "other pictures": (
        pickled_files,
        changed("test_batch", lambda _: a_batch(values=np.zeros((FEW, 784), np.uint8))),
        "the shape (20, 784), not (20, 3072)",
    ),
    "not bytes": (
        pickled_files,
        changed("test_batch", lambda content: content.replace(b"U\x02u1", b"U\x02f8")),
        "not an array of bytes",
    ),
    "no array": (
        pickled_files,
        changed("test_batch", lambda _: pickle.dumps({"labels": [0] * FEW, "data": [1, 2]}, 2)),
        "something else than the published kind in 'data'",
    ),
    "no dictionary": (pickled_files, changed("test_batch", lambda _: pickle.dumps([1], 2)), "a dictionary"),
    "cut": (pickled_files, changed("data_batch_1", lambda content: content[:-500]), "cannot be read"),
    "no pickle": (pickled_files, changed("data_batch_1", lambda _: b"<html>"), "cannot be read"),
    "cut binary": (
        binary_files,
        changed("data_batch_1.bin", lambda content: content[:-1]),
        "61459 bytes, not 61460 for 20 pictures",
    ),
}


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_an_archive_that_is_almost_right_is_refused_and_the_difference_named(of_few, tmp_path, defect):
    files, change, sentence = ALMOST_RIGHT[defect]
    (tmp_path / "source").mkdir()
    unpacked(tmp_path / "source", change(files(FEW)))
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path, "full", 0, tmp_path / "source")
    assert sentence in str(refusal.value) and "cs.toronto.edu" in str(refusal.value)


class Calls:
    """Pickles to a call of any function."""

    def __init__(self, function, *arguments):
        self.call = (function, arguments)

    def __reduce__(self):
        return self.call


def hostile(trap: Path) -> dict[str, bytes]:
    return {
        "os.system": pickle.dumps(Calls(os.system, f"touch {trap}"), 2),
        "eval": pickle.dumps(Calls(eval, f"open({str(trap)!r}, 'w')"), 2),
        "getattr chain": b"\x80\x04cbuiltins\ngetattr\n(cbuiltins\n__import__\nU\x08__call__tR.",
        "dotted name": b"\x80\x04\x8c\x05numpy\x8c\x0eos.system.bound\x93.",
        "numpy's loader": pickle.dumps(Calls(np.load, str(trap)), 2),
        "encoder": b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R.",
        "persistent": b"\x80\x02U\x01aQ.",
        "extension": b"\x80\x02\x82\x01.",
        "huge": b"\x80\x02T\xff\xff\xff\x7fabc.",
    }


@pytest.mark.parametrize("attack", hostile(Path("trap")))
def test_a_hostile_pickle_is_refused_and_nothing_in_it_runs(few, tmp_path, attack):
    trap = tmp_path / "trap"
    content = hostile(trap)[attack]
    source = unpacked(tmp_path / "source", pickled_files(FEW))
    (source / "cifar-10-batches-py" / "data_batch_1").write_bytes(content)
    with pytest.raises(PreparationError, match="cannot be read as a batch"):
        batches(source, CLASSES)
    assert not trap.exists()


def table(answers: list[dict[str, str]], chosen: dict[str, str]) -> str:
    lines = [",".join(["id", *CLASSES])]
    for row in answers:
        lines.append(",".join([row["id"], *(str(float(name == chosen[row["id"]])) for name in CLASSES)]))
    return "\n".join(lines) + "\n"


@pytest.fixture
def private(tmp_path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "answers.csv").write_text("id,label\na1,airplane\nb2,truck\nc3,cat\nd4,cat\n")
    return folder


def score(private: Path, text: str) -> float:
    file = private.parent / "submission.csv"
    file.write_text(text)
    return grade(file, private)


HEADER = "id," + ",".join(CLASSES) + "\n"
CAT = "0,0,0,0.9,0,0,0,0,0,0.1"
EVEN = ",".join(["0.1"] * 10)
GOOD = HEADER + f"a1,{CAT}\nb2,{CAT}\nc3,{CAT}\nd4,{CAT}\n"


def test_the_score_is_the_share_of_right_arg_maxima_by_id(private):
    assert score(private, GOOD) == 0.5
    truck = "1e-3,0,0,0,0,0,0,0,0,2e-3"
    assert score(private, HEADER + f"d4,{CAT}\nb2,{truck}\nc3,{CAT}\na1,{CAT}\n") == 0.75
    answers = rows(private / "answers.csv")
    assert score(private, table(answers, {row["id"]: row["label"] for row in answers})) == 1
    turned = "id," + ",".join(reversed(CLASSES)) + "\n"
    backwards = ",".join(reversed(CAT.split(",")))
    assert score(private, turned + "".join(f"{row['id']},{backwards}\n" for row in answers)) == 0.5


def test_of_equal_probabilities_the_first_class_counts(private):
    assert score(private, HEADER + "".join(f"{name},{EVEN}\n" for name in ("a1", "b2", "c3", "d4"))) == 0.25
    tie = "0,0,0,0.5,0,0,0,0,0,0.5"
    assert score(private, HEADER + "".join(f"{name},{tie}\n" for name in ("a1", "b2", "c3", "d4"))) == 0.5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD.replace(f"d4,{CAT}\n", ""), "ids are missing"),
        (GOOD + f"e5,{CAT}\n", "not in the test set"),
        (GOOD + f"d4,{CAT}\n", "again on line 6"),
        (GOOD.replace("0.9", "nan", 1), "write a finite number"),
        (GOOD.replace("0.9", "inf", 1), "write a finite number"),
        (GOOD.replace("0.9", "1e9", 1), "write a number from 0 to 1"),
        (GOOD.replace("0.9", "-0.1", 1), "write a number from 0 to 1"),
        (GOOD.replace("truck", "lorry", 1), "there is no column 'truck'"),
        ("id,label\na1,airplane\n", "there is no column"),
        ("", "it is empty"),
    ],
)
def test_what_cannot_be_graded_is_refused(private, text, sentence):
    with pytest.raises(SubmissionRefusedError) as refusal:
        score(private, text)
    assert sentence in str(refusal.value)


def test_no_submission_without_knowledge_comes_near_the_starter(mini, tmp_path):
    starter, _ = read_definition(TASK / "task.toml").variants["mini"].bands.starter
    answers = rows(mini / "private" / "answers.csv")
    right = [row["label"] for row in answers]
    cheats = {name: [name] * len(answers) for name in CLASSES}
    cheats["shifted"] = right[1:] + right[:1]
    for chosen in cheats.values():
        text = table(answers, {row["id"]: label for row, label in zip(answers, chosen, strict=True)})
        (tmp_path / "submission.csv").write_text(text)
        assert grade(tmp_path / "submission.csv", mini / "private") < 0.5 * starter
    assert grade(mini / "public" / "sample_submission.csv", mini / "private") < 0.5 * starter


def test_labels_of_training_pictures_cannot_be_submitted(mini, tmp_path):
    train = rows(mini / "public" / "train.csv")
    (tmp_path / "submission.csv").write_text(table(train, {row["id"]: row["label"] for row in train}))
    with pytest.raises(SubmissionRefusedError, match="not in the test set"):
        grade(tmp_path / "submission.csv", mini / "private")


CHEATER = f"""
import csv, os

CLASSES = {CLASSES!r}
with open("test.csv") as stream:
    ids = [row["id"] for row in csv.DictReader(stream)]
found = []
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        if name.endswith((".csv", ".txt", ".json")) and name != "submission.csv":
            try:
                with open(os.path.join(folder, name)) as stream:
                    text = stream.read()
            except (OSError, UnicodeDecodeError):
                continue
            if any(f"{{ids[0]}},{{label}}" in text for label in CLASSES):
                found.append(name)
print("files with labels:", len(found))
with open("submission.csv", "w") as stream:
    stream.write("id," + ",".join(CLASSES) + "\\n")
    stream.writelines(f"{{picture}},1" + ",0" * 9 + "\\n" for picture in ids)
"""


def test_a_script_that_looks_for_the_labels_finds_none(tmp_path):
    made = play(
        "cifar10",
        [
            writing("test.csv", "id\n"),
            writing("train.py", CHEATER),
            executing("train.py"),
            submitting(),
        ],
        tmp_path / "play" / "runs",
    )
    forged, _, looked, *_ = steps_of(made)
    assert not forged.observation.ok and "read-only" in forged.observation.text
    assert "files with labels: 0" in looked.observation.text
    assert made.grade is not None and made.grade.valid and made.grade.success is False
