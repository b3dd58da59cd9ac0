"""The identify-contrails task: its records, their published form, its grader, and those who cheat it."""

from __future__ import annotations

import csv
import json
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.acting import executing, play, steps_of, submitting, writing
from support.sources_identify_contrails import SIDE, SIZES, TRAIN, VALIDATION, publish
from support.suite import contents

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "identify-contrails"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
encoded = prepare.__globals__["encoded"]
grader = runpy.run_path(str(TASK / "grade.py"))
grade = grader["grade"]
starter = runpy.run_path(str(TASK / "starter" / "encode.py"))

BANDS = {f"band_{number:02}.npy" for number in range(8, 17)}
MASKS = {"human_individual_masks.npy", "human_pixel_masks.npy"}


def prepared(
    folder: Path, variant: str = "mini", seed: int = 0, source: Path | None = None, limit: int | None = None
) -> Path:
    for part in ("public", "private"):
        (folder / part).mkdir(parents=True)
    prepare(variant, folder / "public", folder / "private", seed, source, limit)
    return folder


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def answers(folder: Path) -> dict[str, str]:
    return {row["record_id"]: row["encoded_pixels"] for row in rows(folder / "private" / "answers.csv")}


def submission(folder: Path, masks: dict[str, str]) -> Path:
    file = folder / "submission.csv"
    file.write_text(
        "record_id,encoded_pixels\n" + "".join(f"{name},{runs}\n" for name, runs in masks.items())
    )
    return file


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Tiny records in the published form, and a prepare.py that takes their sizes for the published ones."""
    for name, size in SIZES.items():
        monkeypatch.setitem(prepare.__globals__, name, size)
    return publish(tmp_path / "source")


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name
    train, validation = definition.variants["full"].sources[0].records
    assert {file.split("/")[-1] for file in train.files} == BANDS | MASKS
    assert {file.split("/")[-1] for file in validation.files} == BANDS | {"human_pixel_masks.npy"}
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_records(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = prepared(tmp_path / "other", seed=1)
    assert not answers(other).keys() & answers(mini).keys()


def test_mini_has_the_published_files_and_says_that_it_is_synthetic_and_how_large(mini):
    train, test = (sorted((mini / "public" / part).iterdir()) for part in ("train", "test"))
    assert len(train) == len(test) == 64
    for record in (train[0], test[0]):
        for name in BANDS:
            band = np.load(record / name)
            assert band.shape == (32, 32, 8) and band.dtype == np.float32
            assert 180 < band.min() < band.max() < 340, "kelvin"
    for record in train:
        assert {file.name for file in record.iterdir()} == BANDS | MASKS
        drawn, pixels = (np.load(record / f"human_{kind}_masks.npy") for kind in ("individual", "pixel"))
        assert drawn.shape[:3] == pixels.shape == (32, 32, 1) and drawn.shape[3] >= 4
        assert ((drawn.mean(axis=3) > 0.5) == pixels).all()
    listed = json.loads((mini / "public" / "train_metadata.json").read_text())
    assert [entry["record_id"] for entry in listed] == [record.name for record in train]
    description = (mini / "public" / "data_description.txt").read_text()
    assert "synthetic" in description and "32 x 32 x 8" in description


def test_masks_of_test_records_are_in_private_only(mini):
    tests = sorted((mini / "public" / "test").iterdir())
    assert list(answers(mini)) == [record.name for record in tests]
    assert all({file.name for file in record.iterdir()} == BANDS for record in tests)
    assert {file.name for file in (mini / "public").iterdir()} == {
        "train", "test", "train_metadata.json", "sample_submission.csv", "data_description.txt",
    }  # fmt: skip
    assert {file.name for file in (mini / "private").iterdir()} == {"answers.csv"}


def test_contrails_are_rare_cold_and_come_with_time_and_some_records_have_none(mini):
    empty, share, contrast, before = 0, [], [], []
    for record in (mini / "public" / "train").iterdir():
        mask = np.load(record / "human_pixel_masks.npy")[:, :, 0] > 0
        share.append(mask.mean())
        empty += not mask.any()
        if mask.any():
            thin = np.load(record / "band_15.npy") - np.load(record / "band_14.npy")
            contrast.append(thin[mask][:, 4].mean() - thin[~mask][:, 4].mean())
            before.append(thin[mask][:, 0].mean() - thin[~mask][:, 0].mean())
    assert 0.15 < empty / len(share) < 0.75
    assert 0.03 < np.mean(share) < 0.1
    assert np.mean(contrast) < -0.4
    assert np.mean(before) > 0.6 * np.mean(contrast), "fewer were there forty minutes before, and elsewhere"


def test_full_takes_the_validation_records_for_its_test_without_their_masks(source, tmp_path):
    made = prepared(tmp_path, "full", 0, source)
    assert {record.name for record in (made / "public" / "train").iterdir()} == set(TRAIN)
    assert {record.name for record in (made / "public" / "test").iterdir()} == set(VALIDATION)
    for name in VALIDATION:
        shown, given_ = made / "public" / "test" / name, source / "validation" / name
        assert {file.name for file in shown.iterdir()} == BANDS
        assert all((shown / band).read_bytes() == (given_ / band).read_bytes() for band in BANDS)
        mask = np.load(given_ / "human_pixel_masks.npy")[:, :, 0]
        assert (starter["decode"](answers(made)[name], mask.shape) == mask).all()
    for name in TRAIN:
        assert contents(made / "public" / "train" / name) == contents(source / "train" / name)
    perfect = submission(tmp_path, answers(made))
    assert grade(perfect, made / "private") == 1


def test_a_limit_takes_the_first_records_by_name_whatever_their_order_in_the_list(source, tmp_path):
    lists = source / "train_metadata.json"
    lists.write_text(json.dumps(json.loads(lists.read_text())[::-1]))
    shutil.rmtree(source / "train" / TRAIN[2])
    shutil.rmtree(source / "validation" / VALIDATION[1])
    made = prepared(tmp_path, "full", 0, source, limit=1)
    assert [record.name for record in (made / "public" / "train").iterdir()] == [sorted(TRAIN)[0]]
    assert [record.name for record in (made / "public" / "test").iterdir()] == [sorted(VALIDATION)[0]]
    listed = json.loads((made / "public" / "train_metadata.json").read_text())
    assert [entry["record_id"] for entry in listed] == [sorted(TRAIN)[0]]


def test_record_ids_that_are_written_as_numbers_are_the_same_records(source, tmp_path):
    for name in ("train_metadata.json", "validation_metadata.json"):
        entries = json.loads((source / name).read_text())
        numbers = [{**entry, "record_id": int(entry["record_id"])} for entry in entries]
        (source / name).write_text(json.dumps(numbers))
    assert set(answers(prepared(tmp_path, "full", 0, source))) == set(VALIDATION)


def test_a_test_set_without_any_contrail_is_refused(source, tmp_path):
    for name in VALIDATION:
        np.save(source / "validation" / name / "human_pixel_masks.npy", np.zeros((SIDE, SIDE, 1), np.int32))
    with pytest.raises(PreparationError, match="None of the 2 test records has a contrail"):
        prepared(tmp_path, "full", 0, source)


def saved(place: str, array: np.ndarray) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / place, array)


def relisted(change: Callable[[list[dict[str, object]]], object]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        file = folder / "validation_metadata.json"
        file.write_text(json.dumps(change(json.loads(file.read_text()))))

    return apply


def cut_short(folder: Path) -> None:
    file = folder / "train" / TRAIN[1] / "band_14.npy"
    file.write_bytes(file.read_bytes()[:-100])


def pickled(folder: Path) -> None:
    np.save(folder / "train" / TRAIN[1] / "band_14.npy", np.array([{}], object), allow_pickle=True)


ALMOST_RIGHT = {
    "a band is missing": (
        lambda folder: (folder / "train" / TRAIN[1] / "band_12.npy").unlink(),
        f"{TRAIN[1]}/band_12.npy does not exist",
    ),
    "a record is missing": (
        lambda folder: shutil.rmtree(folder / "validation" / VALIDATION[0]),
        f"{VALIDATION[0]}/band_08.npy does not exist",
    ),
    "a mask is missing": (
        lambda folder: (folder / "validation" / VALIDATION[0] / "human_pixel_masks.npy").unlink(),
        "human_pixel_masks.npy does not exist",
    ),
    "a list is missing": (
        lambda folder: (folder / "train_metadata.json").unlink(),
        "train_metadata.json does not exist",
    ),
    "a list is no JSON": (
        lambda folder: (folder / "train_metadata.json").write_text("[{"),
        "train_metadata.json is not JSON",
    ),
    "a list is something else": (relisted(lambda listed: {"records": listed}), "is not a list of records"),
    "a list is too short": (relisted(lambda listed: listed[1:]), "has 1 records, not 2"),
    "a record is listed twice": (relisted(lambda listed: [listed[0]] * 2), "a record more than once"),
    "a field was renamed": (
        relisted(lambda listed: [{"id": entry.pop("record_id"), **entry} for entry in listed]),
        "a record without record_id",
    ),
    "a record has the name of a path": (
        relisted(lambda listed: [{**listed[0], "record_id": "../train"}, listed[1]]),
        "the record_id '../train', which is not a number",
    ),
    "a record is in both lists": (
        relisted(lambda listed: [{**listed[0], "record_id": TRAIN[0]}, listed[1]]),
        "is in both lists",
    ),
    "another size": (
        saved(f"train/{TRAIN[0]}/band_08.npy", np.zeros((SIDE, SIDE + 1, 8), np.float32)),
        "has the shape 8 x 9 x 8, not 8 x 8 x 8",
    ),
    "one image only": (
        saved(f"train/{TRAIN[0]}/band_08.npy", np.zeros((SIDE, SIDE), np.float32)),
        "has the shape 8 x 8, not 8 x 8 x 8",
    ),
    "no annotators": (
        saved(f"train/{TRAIN[0]}/human_individual_masks.npy", np.zeros((SIDE, SIDE, 1), np.int32)),
        "has the shape 8 x 8 x 1, not 8 x 8 x 1 x annotators",
    ),
    "a mask of shares": (
        saved(f"validation/{VALIDATION[0]}/human_pixel_masks.npy", np.full((SIDE, SIDE, 1), 0.5)),
        "has values other than 0 and 1",
    ),
    "a file was cut": (cut_short, f"{TRAIN[1]}/band_14.npy is not a whole array of NumPy"),
    "a file is a pickle": (pickled, f"{TRAIN[1]}/band_14.npy is not a whole array of NumPy"),
}


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_files_that_are_almost_right_are_refused_and_the_difference_named(source, tmp_path, defect):
    change, sentence = ALMOST_RIGHT[defect]
    change(source)
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path, "full", 0, source)
    assert sentence in str(refusal.value)
    assert "take the files of google-research-identify-contrails" in str(refusal.value)


def test_without_a_source_full_says_what_it_is_made_from(tmp_path):
    with pytest.raises(PreparationError, match="made from the competition's files"):
        prepared(tmp_path, "full")


def test_runs_go_down_the_columns_from_one_as_the_competition_counts():
    mask = np.zeros((4, 3), int)
    mask[1:3, 0] = 1
    mask[3, 1] = mask[0, 2] = 1
    for encode in (encoded, starter["encode"]):
        assert encode(mask) == "2 2 8 2"
        assert encode(np.zeros((4, 3))) == "-"
        assert encode(np.ones((4, 3))) == "1 12"


masks = st.lists(st.booleans(), min_size=20, max_size=20).map(lambda bits: np.array(bits).reshape(4, 5))


@settings(max_examples=60, deadline=None)
@given(mask=masks)
def test_masks_survive_encoding_and_decoding(mask):
    text = starter["encode"](mask)
    assert text == encoded(mask)
    assert (starter["decode"](text, mask.shape) == mask).all()


@settings(max_examples=60, deadline=None)
@given(pairs=st.lists(st.tuples(masks, masks), min_size=1, max_size=4))
def test_the_score_is_the_dice_coefficient_of_all_pixels_together(tmp_path_factory, pairs):
    true, marked = (np.stack([pair[side] for pair in pairs]) for side in (0, 1))
    true[0, 0, 0] = True
    folder = tmp_path_factory.mktemp("dice")
    lines = "".join(f"{number},20,{encoded(mask)}\n" for number, mask in enumerate(true))
    (folder / "answers.csv").write_text(f"record_id,pixels,encoded_pixels\n{lines}")
    file = submission(
        folder, {str(number): encoded(mask) for number, mask in reversed(list(enumerate(marked)))}
    )
    expected = 2 * (true & marked).sum() / (true.sum() + marked.sum())
    assert grade(file, folder) == pytest.approx(expected, abs=1e-12)


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "answers.csv").write_text(
        "record_id,pixels,encoded_pixels\n11,1024,1 4 100 6\n12,1024,-\n13,1024,1020 5\n"
    )
    return folder


def test_the_score_by_hand(private):
    assert grade(submission(private, {"11": "1 4 100 6", "12": "-", "13": "1020 5"}), private) == 1
    assert grade(submission(private, {"11": "-", "12": "-", "13": "-"}), private) == 0
    # 4 of 15 are found, with 6 marked, two of them in vain.
    assert grade(submission(private, {"13": "-", "12": "7 2", "11": "3 2 104 2"}), private) == 8 / 21
    assert grade(submission(private, dict.fromkeys(("11", "12", "13"), "1 1024")), private) == 30 / 3087


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        ("", "is empty; write -"),
        ("nan", "is 'nan'; write starts and lengths"),
        ("1 3 10", "has 3 numbers; write a length after each start"),
        ("5", "has 1 numbers"),
        ("0 3", "has the run 0 3; pixels count from 1 to 1024"),
        ("1023 3", "has the run 1023 3; pixels count from 1 to 1024"),
        ("1 9999999", "has the run 1 9999999"),
        ("1 99999999999999999999", "write starts and lengths"),
        ("5 0", "a run of length 0 at 5"),
        ("-5 3", "write starts and lengths"),
        ("1 3 3 2", "after one that ends at 3"),
        ("10 5 1 3", "after one that ends at 14"),
        ("1 3 1 3", "after one that ends at 3"),
        ("1.0 3.0", "write starts and lengths"),
        ("[1 3]", "write starts and lengths"),
        ("1 3  5 1", "write starts and lengths"),
        ("١ ٣", "write starts and lengths"),
        ("- -", "write starts and lengths"),
        ("1 1 " * 5000 + "1 1", "more than 1024 pixels can need"),
    ],
)
def test_runs_that_are_not_a_mask_are_refused(private, runs, sentence):
    with pytest.raises(SubmissionRefusedError) as refusal:
        grade(submission(private, {"11": runs, "12": "-", "13": "-"}), private)
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("record_id,encoded_pixels\n11,-\n12,-\n", "ids are missing"),
        ("record_id,encoded_pixels\n11,-\n12,-\n13,-\n14,-\n", "not in the test set"),
        ("record_id,encoded_pixels\n11,1 4\n11,1 4\n12,-\n13,-\n", "again on line 3"),
        ("record_id,pixels\n11,-\n12,-\n13,-\n", "there is no column 'encoded_pixels'"),
        ("", "it is empty"),
    ],
)
def test_what_cannot_be_graded_is_refused(private, text, sentence):
    file = private / "submission.csv"
    file.write_text(text)
    with pytest.raises(SubmissionRefusedError) as refusal:
        grade(file, private)
    assert sentence in str(refusal.value)


def test_what_a_hostile_file_costs_is_bounded(private, monkeypatch):
    finest = " ".join(f"{start} 1" for start in range(1, 1025, 2))
    assert grade(submission(private, dict.fromkeys(("11", "12", "13"), finest)), private) > 0
    monkeypatch.setitem(grade.__globals__, "MOST_BYTES", 10_000)
    with pytest.raises(SubmissionRefusedError, match="larger than 10000 bytes"):
        grade(submission(private, dict.fromkeys(("11", "12", "13"), finest * 10)), private)


def needed_for_success() -> float:
    starter = read_definition(TASK / "task.toml").variants["mini"].bands.starter
    assert starter is not None
    return 1.1 * starter[0]


def test_knowing_nothing_does_not_succeed(mini, tmp_path):
    private, names = mini / "private", list(answers(mini))
    assert grade(mini / "public" / "sample_submission.csv", private) == 0, "an empty mask everywhere"
    everything = submission(tmp_path, dict.fromkeys(names, "1 1024"))
    assert grade(everything, private) < needed_for_success()
    true = list(answers(mini).values())
    shifted = submission(tmp_path, dict(zip(names, true[1:] + true[:1], strict=True)))
    assert grade(shifted, private) < needed_for_success()


def test_records_of_the_training_part_do_not_count(mini, tmp_path):
    known = {
        record.name: encoded(np.load(record / "human_pixel_masks.npy")[:, :, 0])
        for record in (mini / "public" / "train").iterdir()
    }
    for cheat in (known, {**dict.fromkeys(answers(mini), "-"), **known}):
        with pytest.raises(SubmissionRefusedError, match="not in the test set"):
            grade(submission(tmp_path, cheat), mini / "private")


CHEATER = """
import csv, os

records = os.listdir("test")
found = {}
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        path = os.path.join(folder, name)
        if name == "human_pixel_masks.npy" and os.path.basename(folder) in records:
            found[os.path.basename(folder)] = path
        if name == "answers.csv":
            try:
                with open(path) as stream:
                    rows = {row["record_id"]: row["encoded_pixels"] for row in csv.DictReader(stream)}
            except (OSError, KeyError, UnicodeDecodeError):
                continue
            found.update((record, rows[record]) for record in records if record in rows)
print("masks found:", len(found))
with open("submission.csv", "w") as stream:
    stream.write("record_id,encoded_pixels\\n")
    stream.writelines(f"{record},{found.get(record, '1 1024')}\\n" for record in records)
"""


def test_a_script_that_looks_for_the_masks_finds_none(runs):
    made = play(
        "identify-contrails",
        [
            writing("test/human_pixel_masks.npy", "0\n"),
            writing("train.py", CHEATER),
            executing("train.py"),
            submitting(),
        ],
        runs,
    )
    forged, _, looked, *_ = steps_of(made)
    assert not forged.observation.ok and "read-only" in forged.observation.text
    assert "masks found: 0" in looked.observation.text
    assert made.grade is not None and made.grade.valid and made.grade.success is False
