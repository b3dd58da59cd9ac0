"""The babylm task: its text, its published form, its grader, and those who cheat it."""

from __future__ import annotations

import json
import math
import os
import random
import re
import runpy
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sources_babylm import FOLDERS, LINES, SIZES, SOURCES, files, publish
from support.suite import contents, preparing

from mlagentbench.environment.limits import resource_limits, run_limits
from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.grading import Grader
from mlagentbench.sandbox import choose
from mlagentbench.task.definition import read_definition
from mlagentbench.task.preparation import Prepared
from mlagentbench.task.preparation import prepare as make_ready
from mlagentbench.task.registry import load_task
from mlagentbench.workspace import Store, Workspace

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "babylm"
MODELS = Path(__file__).parents[1] / "support" / "babylm_models.py"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grade = runpy.run_path(str(TASK / "grade.py"))["grade"]
infer = runpy.run_path(str(TASK / "infer.py"))


def text_of(folder: Path) -> str:
    return "".join(
        file.read_text(encoding="utf-8") for file in sorted(folder.iterdir()) if file.suffix != ".json"
    )


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture
def small(monkeypatch) -> None:
    """A published corpus of a few thousand words instead of thirty million."""
    for name, value in SIZES.items():
        monkeypatch.setitem(prepare.__globals__, name, value)


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name and definition.program and not definition.program.timing
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text
    assert f"passages of about {infer['PASSAGE_WORDS']:,} words" in text
    assert f"{infer['USUAL_CONTEXT']} if" in text and f"{infer['LONGEST_CONTEXT']:,} at most" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_text(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other, this = contents(prepared(tmp_path / "other", seed=1)), contents(mini)
    assert other.keys() == this.keys()
    assert all(other[name] != this[name] for name in this if not name.endswith("settings.json"))


def test_the_hidden_text_is_in_private_only(mini):
    public = text_of(mini / "public" / "babylm_10M") + text_of(mini / "public" / "babylm_dev")
    hidden = text_of(mini / "private" / "inputs")
    long = [line for line in hidden.splitlines() if len(line.split()) > 10]
    assert len(long) > 200
    assert sum(line in public for line in long) < 0.01 * len(long)
    assert {file.name for file in (mini / "public").iterdir()} == {
        "babylm_10M",
        "babylm_dev",
        "data_description.txt",
    }


def test_mini_has_the_form_of_full_and_says_that_it_is_synthetic(mini, small, tmp_path):
    publish(tmp_path / "source")
    full = prepared(tmp_path / "full", "full", 0, tmp_path / "source")
    assert contents(full).keys() == contents(mini).keys()
    assert {f"babylm_10M/{name}.train" for name in SOURCES} < contents(mini / "public").keys()
    assert "synthetic" in (mini / "public" / "data_description.txt").read_text()
    assert "synthetic" not in (full / "public" / "data_description.txt").read_text()


def test_mini_has_thousands_of_words_a_few_of_them_frequent_and_ten_registers(mini):
    text = text_of(mini / "public" / "babylm_10M")
    counts = Counter(re.findall(r"[A-Za-z']+", text.lower()))
    assert 200_000 < len(text.split()) < 250_000
    assert len(counts) > 2_000 and sum(count == 1 for count in counts.values()) > 50
    assert sum(count for _, count in counts.most_common(50)) > 0.4 * sum(counts.values())
    first = {name: (mini / "public" / "babylm_10M" / f"{name}.train").read_text() for name in SOURCES}
    assert first["switchboard"].startswith("A:\t") and first["wikipedia"].startswith(" = ")
    assert first["aochildes"] == "".join(
        line if "'s " in line or any(letter.isupper() for letter in line) else line.lower()
        for line in first["aochildes"].splitlines(keepends=True)
    )


def test_in_mini_verbs_agree_with_a_subject_that_stands_at_a_distance(mini):
    text = text_of(mini / "public" / "babylm_10M")
    be, apart = r" (is|are|was|were)\b", r"(?:\w+ )?\w+ (?:with|near|behind|under|beside) "
    many = re.findall(rf"(?i)\b(?:all the|many|some|two|three) {apart}(?:an?|this|that|every) \w+{be}", text)
    one = re.findall(rf"(?i)\b(?:an?|this|every) {apart}(?:all the|many|some|two|three) \w+{be}", text)
    assert len(many) > 15 and set(many) == {"are", "were"}
    assert len(one) > 15 and set(one) == {"is", "was"}


def test_full_gives_the_published_text_and_hides_passages_of_the_test_part(small, tmp_path):
    publish(tmp_path / "source")
    made = prepared(tmp_path / "made", "full", 7, tmp_path / "source")
    for part in ("train", "dev"):
        for name in SOURCES:
            written = (made / "public" / FOLDERS[part] / f"{name}.{part}").read_bytes()
            assert written == files()[f"babylm_data/{FOLDERS[part]}/{name}.{part}"]
    words = 0
    for name in SOURCES:
        hidden = (made / "private" / "inputs" / f"{name}.test").read_bytes().decode()
        words += len(hidden.split())
        lines = hidden.split("\n")[:-1]
        numbers = [int(line.split()[1]) for line in lines]
        assert numbers == sorted(set(numbers)) and 0 < len(numbers) < LINES
        assert all(
            line == f"Line {number} of {name}, test: naïve\u2028."
            for line, number in zip(lines, numbers, strict=True)
        )
    assert SIZES["SCORED_WORDS"] <= words < 1.5 * SIZES["SCORED_WORDS"]
    other = prepared(tmp_path / "other", "full", 8, tmp_path / "source")
    assert contents(other / "public").keys() == contents(made / "public").keys()
    assert contents(other / "private") != contents(made / "private")
    within = prepared(tmp_path / "within", "full", 7, tmp_path / "source" / "babylm_data")
    assert contents(within) == contents(made)


TRAIN = "babylm_data/babylm_10M"
TEST_FILE = "babylm_data/babylm_test/qed.test"
ALMOST_RIGHT = {
    "file missing": (lambda all: all.pop(TEST_FILE), "lacks babylm_test/qed.test"),
    "file renamed": (
        lambda all: all.update({f"{TRAIN}/childes.train": all.pop(f"{TRAIN}/aochildes.train")}),
        "lacks babylm_10M/aochildes.train",
    ),
    "part missing": (
        lambda all: [all.pop(name) for name in list(all) if name.endswith(".dev")],
        "lacks babylm_dev/aochildes.dev",
    ),
    "other size": (
        lambda all: all.update({TEST_FILE: all[TEST_FILE] * 10}),
        "words, not about ten million",
    ),
    "cut": (lambda all: all.update({TEST_FILE: all[TEST_FILE][:100]}), "words, not about ten million"),
    "other encoding": (
        lambda all: all.update({TEST_FILE: all[TEST_FILE].decode().encode("utf-16")}),
        "not text in UTF-8",
    ),
    "binary": (lambda all: all.update({TEST_FILE: b"a\0b\n" * 9}), "qed.test is not plain text"),
    "empty": (lambda all: all.update({TEST_FILE: b"\n"}), "qed.test is without text"),
}  # fmt: skip


@pytest.mark.parametrize("defect", ALMOST_RIGHT)
def test_an_archive_that_is_almost_right_is_refused_and_the_difference_named(small, tmp_path, defect):
    change, sentence = ALMOST_RIGHT[defect]
    some = files()
    change(some)
    for name, content in some.items():
        (tmp_path / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "source" / name).write_bytes(content)
    with pytest.raises(PreparationError) as refusal:
        prepared(tmp_path, "full", 0, tmp_path / "source")
    assert sentence in str(refusal.value) and "babylm.github.io" in str(refusal.value)


@given(st.text(alphabet="ab \n\r\t\u2028", max_size=300), st.integers(1, 9))
def test_passages_are_the_whole_text_and_end_with_lines(text, words):
    infer["cut"].__globals__["PASSAGE_WORDS"] = words
    try:
        passages = infer["cut"](text)
    finally:
        infer["cut"].__globals__["PASSAGE_WORDS"] = 2_000
    assert "".join(passages) == text and all(passages)
    assert all(passage.endswith("\n") and len(passage.split()) >= words for passage in passages[:-1])


@given(st.integers(1, 400), st.integers(2, 64))
def test_every_token_is_counted_once_with_a_quarter_of_the_context_before_it(length, context):
    counted = []
    for begin, first, end in infer["windows"](length, context):
        assert 0 <= begin < first < end <= begin + context
        assert begin == 0 or first - begin == max(context // 4, 1)
        counted += range(first, end)
    assert counted == list(range(1, length))


@given(st.integers(2, 81), st.integers(0, 2**32))
def test_of_a_short_window_the_text_after_every_place_is_replaced_in_some_file(length, seed):
    rng = random.Random(seed)
    places = [place for index in range(10) for place in infer["cuts"](length, index, 10, rng)]
    assert sorted(places) == list(range(length - 1))


@pytest.fixture
def private(tmp_path) -> Path:
    (tmp_path / "private" / "inputs").mkdir(parents=True)
    (tmp_path / "private" / "inputs" / "a.test").write_text("one two\nthree, four\u00a0five\n")
    (tmp_path / "private" / "inputs" / "b.test").write_text("six")
    (tmp_path / "private" / "inputs" / "settings.json").write_text('{"seconds": 5}')
    return tmp_path / "private"


GOOD = {
    "files": {"a.test": {"nll": 9.0, "tokens": 7}, "b.test": {"nll": 3.0, "tokens": 1}},
    "mass": 1e-15,
    "context": 64,
}


def score(private: Path, result: object) -> float:
    outputs = private.parent / "outputs"
    outputs.mkdir(exist_ok=True)
    content = result if isinstance(result, bytes) else json.dumps(result).encode()
    (outputs / "result.json").write_bytes(content)
    return grade(outputs, private)


def test_the_score_is_the_exponential_of_nats_over_words_whatever_the_tokens(private):
    assert score(private, GOOD) == pytest.approx(math.exp(12 / 6))
    many = {name: {**entry, "tokens": 999} for name, entry in GOOD["files"].items()}
    assert score(private, GOOD | {"files": many}) == score(private, GOOD)
    sure = {name: {**entry, "nll": 0.0} for name, entry in GOOD["files"].items()}
    assert score(private, GOOD | {"files": sure}) == 1.0


def with_entry(**changes) -> dict:
    return GOOD | {"files": GOOD["files"] | {"b.test": GOOD["files"]["b.test"] | changes}}


REFUSED = {
    "missing file": (GOOD | {"files": {"a.test": GOOD["files"]["a.test"]}}, "'b.test' is wrong"),
    "additional file": (
        GOOD | {"files": GOOD["files"] | {"c.test": GOOD["files"]["b.test"]}},
        "'c.test' is wrong",
    ),
    "missing field": ({name: GOOD[name] for name in ("files", "context")}, "fields of a result"),
    "additional field": (GOOD | {"score": 1.0}, "fields of a result"),
    "no entries": (GOOD | {"files": []}, "fields of a result"),
    "negative": (with_entry(nll=-1.0), "below zero"),
    "not a number": (with_entry(nll=math.nan), "not a finite number"),
    "infinite": (with_entry(nll=math.inf), "not a finite number"),
    "text": (with_entry(nll="3.0"), "not a finite number"),
    "truth": (with_entry(nll=True), "not a finite number"),
    "huge whole number": (with_entry(nll=10**400), "not a finite number"),
    "no tokens": (with_entry(tokens=0), "below zero"),
    "half a token": (with_entry(tokens=0.5), "fields nll and tokens"),
    "additional detail": (with_entry(more=1), "fields nll and tokens"),
    "not normalised": (GOOD | {"mass": 0.01}, "do not sum to one"),
    "mass not a number": (GOOD | {"mass": math.nan}, "not a finite number"),
    "beyond numbers": (with_entry(nll=1e9), "larger than any number"),
    "a reason": ({"refused": "It was\nso."}, "It was so."),
    "no reason": ({"refused": ""}, "was refused"),
    "a reason and a score": (GOOD | {"refused": None}, "fields of a result"),
    "no object": ([1], "not a JSON object"),
    "no JSON": (b"\x80\x04garbage", "not a JSON object"),
    "deep": (b"[" * 90_000, "not a JSON object"),
    "long": (b" " * 200_000, "not a JSON object"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_result_of_another_form_is_refused(private, kind):
    result, sentence = REFUSED[kind]
    with pytest.raises(SubmissionRefusedError) as refusal:
        score(private, result)
    assert sentence in str(refusal.value) and "\n" not in str(refusal.value)


def test_other_outputs_than_the_result_are_refused(private):
    score(private, GOOD)
    (private.parent / "outputs" / "more.json").write_text("{}")
    with pytest.raises(SubmissionRefusedError, match="not one file"):
        grade(private.parent / "outputs", private)
    shutil.rmtree(private.parent / "outputs")
    (private.parent / "outputs").mkdir()
    with pytest.raises(SubmissionRefusedError, match="not one file"):
        grade(private.parent / "outputs", private)


@settings(max_examples=150, deadline=None)
@given(place=st.integers(0, 120), patch=st.binary(min_size=1, max_size=20))
def test_a_patched_result_is_scored_or_refused(tmp_path_factory, place, patch):
    folder = tmp_path_factory.mktemp("patched")
    (folder / "private" / "inputs").mkdir(parents=True)
    for name in ("a.test", "b.test"):
        (folder / "private" / "inputs" / name).write_text("one two three")
    content = json.dumps(GOOD).encode()
    try:
        value = score(folder / "private", content[:place] + patch + content[place + len(patch) :])
    except SubmissionRefusedError as refusal:
        assert "\n" not in str(refusal)
    else:
        assert value >= 1


@pytest.fixture(scope="module")
def ready(shared_cache, tmp_path_factory) -> Prepared:
    """The task's data and its interpreter, which has torch."""
    before = os.environ.get("MLAGENTBENCH_CACHE")
    os.environ["MLAGENTBENCH_CACHE"] = str(shared_cache)
    try:
        return make_ready(load_task(TASK), "mini")
    finally:
        os.environ.pop("MLAGENTBENCH_CACHE")
        if before is not None:
            os.environ["MLAGENTBENCH_CACHE"] = before


@pytest.fixture(scope="module")
def models(ready, tmp_path_factory) -> Path:
    """A folder of submissions, good and bad, with what infer.py says of each."""
    folder = tmp_path_factory.mktemp("models")
    done = subprocess.run(
        [str(ready.interpreter.python), "-I", "-B", str(MODELS), str(TASK / "infer.py"), str(folder)],
        check=False, capture_output=True, text=True, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (folder / "judged.json").write_text(done.stdout.splitlines()[-1])
    return folder


@pytest.fixture(scope="module")
def judged(models) -> dict:
    return json.loads((models / "judged.json").read_text())


def total(result: dict) -> float:
    return sum(entry["nll"] for entry in result["files"].values())


def test_the_likelihood_is_that_of_a_sum_over_prefixes_one_by_one(judged):
    found = {name: entry["nll"] for name, entry in judged["judged"]["good"]["files"].items()}
    assert found == pytest.approx(judged["by hand"], rel=1e-6)


def test_probabilities_sum_to_one_over_the_vocabulary_and_over_all_texts_of_a_length(judged):
    assert judged["pairs"] == pytest.approx(1, abs=1e-9)
    accepted = [result for result in judged["judged"].values() if "files" in result]
    assert len(accepted) == 7 and all(result["mass"] < 1e-9 for result in accepted)


def test_a_model_that_looks_ahead_is_caught_wherever_it_does(judged):
    told = judged["leaks"]
    assert told.pop("nowhere") == ""
    assert len(told) == 9 and all("looks ahead" in sentence for sentence in told.values()), told


def test_good_models_are_scored_whatever_their_architecture_precision_and_neighbours(judged):
    good = judged["judged"]
    assert good["good_with_a_tokenizer_that_would_cut_and_pad"] == good["good"]
    assert good["good_with_things_beside_it"] == good["good"]
    assert total(good["good_in_half_precision"]) == pytest.approx(total(good["good"]), rel=1e-3)
    assert good["good_of_another_architecture"]["context"] == 1_024
    assert "files" in good["good_decoder"]


def test_nothing_in_a_submission_was_executed(judged):
    assert judged["executed"] is False


def test_scaling_logits_beyond_measure_makes_a_score_of_nothing(judged, private):
    result = judged["judged"]["huge_logits"]
    words = {"one.test": 99, "two.test": 32}
    for name, count in words.items():
        (private / "inputs" / name).write_text("word " * count)
    for name in ("a.test", "b.test"):
        (private / "inputs" / name).unlink()
    with pytest.raises(SubmissionRefusedError, match="larger than any number"):
        score(private, result)


CHEATERS = {
    "pickle_only": "There is no model/model.safetensors",
    "pickle_as_safetensors": "is not a safetensors file",
    "torch_file_as_safetensors": "is not a safetensors file",
    "pickle_as_tokenizer": "tokenizer.json cannot be read",
    "remote_code": "'auto_map'",
    "remote_code_of_its_own_kind": "'auto_map'",
    "remote_code_deep_inside": "'auto_map'",
    "unknown_kind": "the model_type 'evil'",
    "no_language_model": "the model_type 'vit'",
    "quantised": "'quantization_config'",
    "foreign_kernel": "'_attn_implementation'",
    "no_configuration": "names no model_type",
    "one_token": "does not give the hidden text back",
    "one_token_and_no_text": "does not give the hidden text back",
    "unknown_pieces": "does not give the hidden text back",
    "drops_text": "from character 5 on",
    "drops_white_space": "does not give the hidden text back",
    "lowercases": "from character 1 on",
    "drops_accents": "does not give the hidden text back",
    "cuts_by_chance": "dropout",
    "bidirectional": "looks ahead",
    "bidirectional_permutations": "looks ahead",
    "not_a_number": "not finite",
    "infinite": "not finite",
    "small_vocabulary": "a vocabulary of 200, but the tokeniser uses",
    "wrong_shape": "mismatched keys, the first 'transformer.ln_f.weight'",
    "missing_weight": "has only 7,600",
    "renamed_weight": "missing keys, the first 'transformer.h.0.mlp.c_fc.weight'",
    "additional_weight": "unexpected keys, the first 'more'",
    "whole_numbers": "of the kind 'I64'",
    "larger_than_its_weights": "describes 13,194,503,389,184 weights",
    "no_start": "neither a bos_token_id nor an eos_token_id",
    "nonsense_settings": "transformers makes no model",
    "endless": "more than 3 seconds",
    "folder_is_a_link": "model is not a folder",
    "file_is_a_link": "model/config.json is not a file",
    "file_is_a_folder": "model/tokenizer.json is not a file",
    "nothing": "There is no folder model",
}


@pytest.mark.parametrize("name", CHEATERS)
def test_a_submission_that_breaks_a_rule_gets_no_score_and_a_sentence(judged, private, name):
    result = judged["judged"][name]
    assert list(result) == ["refused"], result
    with pytest.raises(SubmissionRefusedError) as refusal:
        score(private, result)
    assert CHEATERS[name] in str(refusal.value)
    assert not re.search(r"Cat|dog|Naïve", str(refusal.value)), "it tells of the hidden text"


def test_all_submissions_that_were_made_are_looked_at(judged):
    good = {name for name in judged["judged"] if name.startswith("good")} | {"huge_logits"}
    assert judged["judged"].keys() == CHEATERS.keys() | good


@pytest.fixture
def graded(ready, tmp_path):
    """The score of a workspace, as runs are graded: in the sandbox, over the hidden text."""
    limits = resource_limits(run_limits(ready.task.definition.limits))
    grader = Grader(ready, choose("auto"), tmp_path / "scratch", limits)

    def of(workspace: Path) -> float:
        store = Store(tmp_path / f"store-{workspace.name}")
        snapshot = Workspace(workspace, store, {}, max_file=2**31).snapshot(executed=True)
        return grader.score(store, snapshot.id).value

    return of


def test_in_the_sandbox_nothing_of_the_workspace_is_imported_and_the_score_is_right(
    ready, models, graded, judged
):
    workspace = models / "good_with_things_beside_it"
    assert (workspace / "torch.py").exists() and (workspace / "sitecustomize.py").exists()
    found = graded(workspace)
    worst = read_definition(TASK / "task.toml").variants["mini"].bands.starter[1]
    assert found > 10 * worst, "an untrained model predicts nothing"
    assert not (models / "executed").exists()


@pytest.mark.parametrize("name", ["pickle_only", "pickle_as_safetensors", "remote_code", "folder_is_a_link"])
def test_in_the_sandbox_a_cheater_is_refused_with_the_same_sentence(models, graded, name):
    with pytest.raises(SubmissionRefusedError) as refusal:
        graded(models / name)
    assert CHEATERS[name] in str(refusal.value)
    assert not (models / "executed").exists()


def test_the_environment_has_no_say_in_what_is_imported(ready, models, tmp_path):
    """Even where the current folder would be on the path of modules."""
    workspace = models / "good_with_things_beside_it"
    (tmp_path / "inputs").mkdir()
    (tmp_path / "outputs").mkdir()
    (tmp_path / "inputs" / "settings.json").write_text('{"seconds": 60}')
    (tmp_path / "inputs" / "a.test").write_text("The cats sat.\n")
    for name in (
        "sitecustomize",
        "usercustomize",
    ):  # the interpreter itself would import these, before any script
        (workspace / f"{name}.py").unlink(missing_ok=True)
    (workspace / "json.py").unlink(missing_ok=True)
    done = subprocess.run(
        [str(ready.interpreter.python), str(TASK / "infer.py"), str(tmp_path / "inputs"), str(tmp_path / "outputs")],
        cwd=workspace,
        env={"PYTHONPATH": str(workspace), "OMP_NUM_THREADS": "1", "PATH": os.environ["PATH"]},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "files" in json.loads((tmp_path / "outputs" / "result.json").read_text())
    assert not (models / "executed").exists()


def test_the_scripts_that_agents_see_do_not_look_for_the_hidden_text():
    for script in TASK.glob("*/train.py"):
        text = script.read_text()
        assert "SEED" in text and "set_num_threads(1)" in text and ".test" not in text
