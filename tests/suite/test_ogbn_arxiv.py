"""The ogbn-arxiv task: its graph, its published form, its grader, and those who cheat it."""

from __future__ import annotations

import csv
import gzip
import runpy
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.acting import executing, play, steps_of, submitting, writing
from support.sources_ogbn_arxiv import NODES, SIZES, pack, publish, unpack
from support.suite import contents, preparing

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "ogbn-arxiv"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grade = runpy.run_path(str(TASK / "grade.py"))["grade"]

RAW = ("edge", "node-feat", "node-label", "node_year", "num-edge-list", "num-node-list")
FILES = {
    *(f"arxiv/raw/{name}.csv.gz" for name in RAW),
    *(f"arxiv/split/time/{part}.csv.gz" for part in ("train", "valid", "test")),
}


def answers(folder: Path) -> dict[str, str]:
    with (folder / "private" / "answers.csv").open(newline="") as stream:
        return {row["node"]: row["label"] for row in csv.DictReader(stream)}


def table(folder: Path, name: str) -> np.ndarray:
    return unpack(folder / "public" / "arxiv" / f"{name}.csv.gz")


def column(folder: Path, name: str) -> np.ndarray:
    return table(folder, name)[:, 0].astype(int)


def submission(folder: Path, labels: dict[str, object]) -> Path:
    file = folder / "submission.csv"
    file.write_text("node,label\n" + "".join(f"{node},{label}\n" for node, label in labels.items()))
    return file


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tiny graph in the published form, and a prepare.py that takes its size for the published one."""
    for name, size in SIZES.items():
        monkeypatch.setitem(prepare.__globals__, name, size)
    return publish(tmp_path / "source")


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name
    assert set(definition.variants["full"].sources[0].files) == FILES
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_another_graph(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = prepared(tmp_path / "other", seed=1)
    for name in ("raw/edge", "raw/node-feat", "raw/node-label"):
        file = f"public/arxiv/{name}.csv.gz"
        assert contents(other)[file] != contents(mini)[file]


def test_mini_has_the_published_files_and_says_that_it_is_synthetic(mini):
    assert set(contents(mini / "public")) == {*FILES, "sample_submission.csv", "data_description.txt"}
    description = (mini / "public" / "data_description.txt").read_text()
    assert "synthetic" in description
    assert all(file in description for file in FILES)
    nodes, edges = table(mini, "raw/num-node-list").item(), table(mini, "raw/num-edge-list").item()
    assert table(mini, "raw/edge").shape == (edges, 2)
    assert table(mini, "raw/node-feat").shape == (nodes, 128)
    assert table(mini, "raw/node_year").shape == (nodes, 1)
    assert sum(file.stat().st_size for file in (mini / "public").rglob("*") if file.is_file()) < 4e6


def test_parts_follow_the_years_and_labels_of_test_papers_are_in_private_only(mini):
    years, labels = column(mini, "raw/node_year"), column(mini, "raw/node-label")
    train, valid, test = (column(mini, f"split/time/{part}") for part in ("train", "valid", "test"))
    assert sorted([*train, *valid, *test]) == list(range(len(years)))
    assert years[train].max() == 2017 and set(years[valid]) == {2018} and years[test].min() == 2019
    assert set(labels[test]) == {-1}
    assert set(labels[train]) == set(range(40)), "every area can be learnt"
    assert labels[valid].min() >= 0
    assert list(answers(mini)) == [str(node) for node in test] and len(test) > 1500
    assert {file.name for file in (mini / "private").iterdir()} == {"answers.csv"}


def whole_labels(folder: Path) -> np.ndarray:
    labels = column(folder, "raw/node-label")
    labels[column(folder, "split/time/test")] = [int(label) for label in answers(folder).values()]
    return labels


def test_papers_cite_older_ones_mostly_of_their_own_kind_and_some_are_cited_much(mini):
    edges, years = table(mini, "raw/edge").astype(int), column(mini, "raw/node_year")
    labels = whole_labels(mini)
    citing, cited = edges.T
    assert (years[cited] <= years[citing]).all() and (citing != cited).all()
    assert 4 < len(edges) / len(years) < 10
    shares = np.bincount(labels, minlength=40) / len(labels)
    assert (labels[citing] == labels[cited]).mean() > 5 * (shares**2).sum()
    often = np.sort(np.bincount(cited, minlength=len(years)))[::-1]
    assert often[: len(often) // 100].sum() > 0.05 * len(edges), "degrees are unequal"
    assert shares.max() > 5 * shares.min(), "areas are unequal"


def test_areas_drift_between_the_parts(mini):
    labels = whole_labels(mini)
    train, test = (
        np.bincount(labels[column(mini, f"split/time/{part}")], minlength=40) for part in ("train", "test")
    )
    assert np.abs(train / train.sum() - test / test.sum()).sum() / 2 > 0.1


def test_full_keeps_the_graph_whole_and_hides_the_labels_of_test_papers(source, tmp_path):
    made = prepared(tmp_path, "full", 0, source)
    assert set(contents(made / "public")) == {*FILES, "sample_submission.csv", "data_description.txt"}
    for name in RAW:
        before, after = (unpack(at / "arxiv" / "raw" / f"{name}.csv.gz") for at in (source, made / "public"))
        if name == "node-label":
            assert (after[:210] == before[:210]).all() and set(after[210:, 0]) == {-1}
            assert [int(label) for label in answers(made).values()] == before[210:, 0].astype(int).tolist()
        else:
            assert (after == before).all()
    assert column(made, "split/time/test").tolist() == list(range(210, 300))


def changed(name: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        file = folder / f"{name}.csv.gz"
        pack(file, change(unpack(file)), "%.6g")

    return apply


def cut_short(folder: Path) -> None:
    file = folder / "raw" / "node-feat.csv.gz"
    file.write_bytes(file.read_bytes()[:-2000])


def with_header(folder: Path) -> None:
    file = folder / "raw" / "node-label.csv.gz"
    text = gzip.decompress(file.read_bytes())
    file.write_bytes(gzip.compress(b"node,label\n" + text))


def not_packed(folder: Path) -> None:
    file = folder / "raw" / "edge.csv.gz"
    file.write_bytes(gzip.decompress(file.read_bytes()))


def set_value(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def apply(values: np.ndarray) -> np.ndarray:
        values[3, 0] = value
        return values

    return apply


ALMOST_RIGHT = {
    "a file is missing": (
        lambda folder: (folder / "raw" / "node_year.csv.gz").unlink(),
        "node_year.csv.gz does not exist",
    ),
    "a part is missing": (
        lambda folder: shutil.rmtree(folder / "split"),
        "train.csv.gz does not exist",
    ),
    "another graph": (changed("raw/num-node-list", lambda n: n + 1), "a graph with 301 nodes, not 300"),
    "a feature is missing": (changed("raw/node-feat", lambda f: f[:, :-1]), "127 columns, not 128"),
    "a feature is not a number": (changed("raw/node-feat", set_value(np.nan)), "not finite"),
    "an edge is missing": (changed("raw/edge", lambda e: e[:-1]), "edge.csv.gz has 899 rows, not 900"),
    "an edge leads out of the graph": (changed("raw/edge", set_value(NODES)), "the value 300, not one from"),
    "an area too many": (changed("raw/node-label", set_value(40)), "the value 40, not one from 0 to 39"),
    "half an area": (changed("raw/node-label", set_value(1.5)), "not a whole number"),
    "labels are hidden": (changed("raw/node-label", set_value(-1)), "the value -1, not one from 0 to 39"),
    "a paper is in two parts": (changed("split/time/valid", set_value(0)), "a paper in two parts"),
    "the split is another one": (changed("split/time/test", lambda t: t[1:]), "89 rows, not 90"),
    "a file was cut": (cut_short, "node-feat.csv.gz is not a whole gzip file"),
    "a file has a header": (with_header, "node-label.csv.gz is not a table of numbers"),
    "a file was unpacked": (not_packed, "edge.csv.gz is not a whole gzip file"),
}


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_an_archive_that_is_almost_right_is_refused_and_the_difference_named(source, tmp_path, defect):
    change, sentence = ALMOST_RIGHT[defect]
    change(source / "arxiv")
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path, "full", 0, source)
    assert sentence in str(refusal.value)
    assert "take arxiv.zip" in str(refusal.value)


def test_without_a_source_full_says_what_it_is_made_from(tmp_path):
    with pytest.raises(PreparationError, match=r"made from OGB's arxiv\.zip"):
        prepared(tmp_path, "full")


@pytest.fixture
def private(tmp_path: Path) -> Path:
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "answers.csv").write_text("node,label\n10,0\n20,39\n30,7\n31,7\n")
    return folder


def score(private: Path, text: str) -> float:
    file = private.parent / "submission.csv"
    file.write_text(text)
    return grade(file, private)


def test_the_score_is_the_share_of_right_labels_by_node(private):
    assert score(private, "node,label\n10,0\n20,39\n30,7\n31,7\n") == 1
    assert score(private, "node,label\n31,6\n30,7\n10,0\n20,38\n") == 0.5
    assert score(private, "label,node\n1,10\n1,20\n1,30\n1,31\n") == 0


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("node,label\n10,0\n20,39\n30,7\n", "ids are missing"),
        ("node,label\n10,0\n20,39\n30,7\n31,7\n32,1\n", "not in the test set"),
        ("node,label\n10,0\n10,0\n20,39\n30,7\n31,7\n", "again on line 3"),
        ("node,label\n010,0\n20,39\n30,7\n31,7\n", "not in the test set"),
        ("node,label\n10,40\n20,39\n30,7\n31,7\n", "label is '40'"),
        ("node,label\n10,-1\n20,39\n30,7\n31,7\n", "label is '-1'"),
        ("node,label\n10,0.0\n20,39\n30,7\n31,7\n", "label is '0.0'"),
        ("node,label\n10,nan\n20,39\n30,7\n31,7\n", "label is 'nan'"),
        ("node,label\n10,1e99\n20,39\n30,7\n31,7\n", "label is '1e99'"),
        ("node,label\n10,0 1 2\n20,39\n30,7\n31,7\n", "label is '0 1 2'"),
        ("node,area\n10,0\n20,39\n30,7\n31,7\n", "there is no column 'label'"),
        ("", "it is empty"),
    ],
)
def test_what_cannot_be_graded_is_refused(private, text, sentence):
    with pytest.raises(SubmissionRefusedError) as refusal:
        score(private, text)
    assert sentence in str(refusal.value)


def needed_for_success() -> float:
    starter = read_definition(TASK / "task.toml").variants["mini"].bands.starter
    assert starter is not None
    return 1.1 * starter[0]


def test_knowing_nothing_does_not_succeed(mini, tmp_path):
    sample = grade(mini / "public" / "sample_submission.csv", mini / "private")
    assert sample < needed_for_success()
    nodes = list(answers(mini))
    for area in range(40):
        constant = submission(tmp_path, dict.fromkeys(nodes, area))
        assert grade(constant, mini / "private") < needed_for_success()
    labels = list(answers(mini).values())
    shifted = submission(tmp_path, dict(zip(nodes, labels[1:] + labels[:1], strict=True)))
    assert grade(shifted, mini / "private") < needed_for_success()


def test_nodes_of_the_training_part_do_not_count(mini, tmp_path):
    labels = column(mini, "raw/node-label")
    known = {str(node): labels[node] for node in column(mini, "split/time/train")}
    guessed = dict.fromkeys(answers(mini), 0)
    for cheat in (known, {**guessed, **known}):
        with pytest.raises(SubmissionRefusedError, match="not in the test set"):
            grade(submission(tmp_path, cheat), mini / "private")


CHEATER = """
import csv, gzip, os

nodes = [line.strip() for line in gzip.open("arxiv/split/time/test.csv.gz", "rt")]
labels = [line.strip() for line in gzip.open("arxiv/raw/node-label.csv.gz", "rt")]
found = {node: labels[int(node)] for node in nodes if labels[int(node)] != "-1"}
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        if name == "answers.csv":
            try:
                with open(os.path.join(folder, name)) as stream:
                    rows = {row["node"]: row["label"] for row in csv.DictReader(stream)}
            except (OSError, KeyError, UnicodeDecodeError):
                continue
            found.update((node, rows[node]) for node in nodes if node in rows)
print("labels found:", len(found))
with open("submission.csv", "w") as stream:
    stream.write("node,label\\n")
    stream.writelines(f"{node},{found.get(node, 0)}\\n" for node in nodes)
"""


def test_a_script_that_looks_for_the_labels_finds_none(runs):
    made = play(
        "ogbn-arxiv",
        [
            writing("arxiv/raw/node-label.csv.gz", "0\n"),
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
