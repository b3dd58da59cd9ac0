"""The llama-inference task: its model and prompts, the check of what generators tell, and those who cheat it."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.sources_imdb import write_parquet
from support.sources_llama_inference import (
    PARTS,
    SIZES,
    config,
    parquet_files,
    publish,
    texts,
    tokenizer,
    weights,
)

from mlagentbench.environment.limits import resource_limits, run_limits
from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.grading import Grade, Grader
from mlagentbench.grading.stages import Stage, infer_once
from mlagentbench.grading.trial import run_in_workspace
from mlagentbench.sandbox import Result, choose
from mlagentbench.task import worker
from mlagentbench.task.definition import read_definition
from mlagentbench.task.interpreter import interpreter_for
from mlagentbench.task.layout import hidden_folders, layout
from mlagentbench.task.preparation import Prepared, prepare
from mlagentbench.task.registry import load_task
from mlagentbench.workspace import Store, Workspace

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "llama-inference"
STARTER, SOLUTION = ((TASK / which / "inference.py").read_text() for which in ("starter", "solution"))
PROMPTS, NEW = 3, 6
"""Hidden inputs of these tests: enough to be judged by, and quick."""

quality = runpy.run_path(str(TASK / "starter" / "quality.py"))
synthetic = runpy.run_path(str(TASK / "synthetic.py"))


def load(name: str, text: str, folder: Path) -> ModuleType:
    """A module with this text."""
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def mini() -> Prepared:
    """Prepared once, and kept with the other data of the tests."""
    return prepare(load_task(TASK), "mini")


@pytest.fixture
def small(mini: Prepared, tmp_path: Path) -> Prepared:
    """The same model with fewer and shorter inputs."""
    shutil.copytree(mini.public, tmp_path / "data" / "public")
    inputs = tmp_path / "data" / "private" / "inputs"
    inputs.mkdir(parents=True)
    asked = json.loads((mini.private / "inputs" / "prompts.json").read_text())
    few = {"new_tokens": NEW, "prompts": asked["prompts"][:PROMPTS]}
    (inputs / "prompts.json").write_text(json.dumps(few))
    shutil.copyfile(mini.private / "pool.json", inputs.parent / "pool.json")
    return replace(mini, public=tmp_path / "data" / "public", private=tmp_path / "data" / "private")


@pytest.fixture
def stage(small: Prepared, tmp_path: Path) -> Stage:
    limits = resource_limits(run_limits(small.task.definition.limits))
    return Stage(small, choose("auto"), limits, tmp_path / "scratch", hidden_folders())


def snapshot_of(stage: Stage, files: dict[str, str]) -> tuple[Store, str]:
    """The starter's workspace with these files over it."""
    plan = layout(stage.prepared)
    folder = stage.scratch / f"agent-{len(list(stage.scratch.glob('agent-*')))}"
    workspace = Workspace(folder / "workspace", Store(folder / "store"), plan.read_only, max_file=2**31)
    plan.lay(workspace.folder)
    for name, text in files.items():
        (workspace.folder / name).write_text(text)
    return workspace.store, workspace.snapshot(executed=True).id


def inferred(stage: Stage, files: dict[str, str]) -> tuple[Result, Path]:
    """One run over the hidden inputs, and where its outputs are."""
    store, snapshot = snapshot_of(stage, files)
    with stage.folder() as folder:
        kept = stage.scratch / f"kept-{len(list(stage.scratch.glob('kept-*')))}"
        return infer_once(stage, store, snapshot, folder, kept), kept


def graded(stage: Stage, files: dict[str, str]) -> Grade:
    store, snapshot = snapshot_of(stage, files)
    return Grader(stage.prepared, stage.sandbox, stage.scratch, stage.limits).grade(store, snapshot)


# The definition and the data.


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name and definition.program and definition.program.timing
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text
    for number in (f"at most {quality['LARGEST_DIVERGENCE']}", f"more than {quality['CLEAR']}", "97 %"):
        assert number in text
    assert quality["SMALLEST_AGREEMENT"] == 0.97 and f"{quality['LIKELY']} tokens" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_another_model_and_other_prompts(
    mini, tmp_path
):
    """With a model that is trained for a moment only; the audit compares the real one."""
    copy = Path(shutil.copytree(TASK, tmp_path / "task"))
    with (copy / "synthetic.py").open("a") as script:
        script.write("\nSTEPS = 30\n")

    def made(name: str, seed: int) -> dict[str, bytes]:
        folders = {part: tmp_path / name / part for part in ("public", "private")}
        for folder in folders.values():
            folder.mkdir(parents=True)
        arguments = {"variant": "mini", "seed": seed, **folders}
        worker.call(copy / "prepare.py", "prepare", arguments, mini.interpreter, seconds=300)
        return {
            str(file.relative_to(tmp_path / name)): file.read_bytes()
            for file in (tmp_path / name).rglob("*")
            if file.is_file()
        }

    one, again, other = made("one", 0), made("again", 0), made("other", 1)
    assert one == again
    assert {name for name in one if one[name] == other[name]} == {"public/model/config.json"}


def test_what_is_hidden_is_prompts_of_the_same_language_that_the_agent_has_not_seen(mini):
    files = sorted(str(file.relative_to(mini.folder)) for file in mini.folder.rglob("*") if file.is_file())
    assert [name for name in files if not name.startswith("prepared")] == [
        "private/inputs/prompts.json",
        "private/pool.json",
        "public/model/config.json",
        "public/model/model.safetensors",
        "public/prompts.json",
    ]
    shown, hidden = (
        json.loads((folder / "prompts.json").read_text()) for folder in (mini.public, mini.private / "inputs")
    )
    assert shown["new_tokens"] == hidden["new_tokens"] == 32
    assert (len(shown["prompts"]), len(hidden["prompts"])) == (4, 16)
    assert {len(prompt) for prompt in shown["prompts"] + hidden["prompts"]} == {128}
    unseen = {tuple(prompt) for prompt in hidden["prompts"]}
    assert len(unseen) == 16 and not unseen & {tuple(prompt) for prompt in shown["prompts"]}
    pool = {tuple(prompt) for prompt in json.loads((mini.private / "pool.json").read_text())["prompts"]}
    assert len(pool) > 400 and not pool & (unseen | {tuple(prompt) for prompt in shown["prompts"]})
    assert sum(file.stat().st_size for file in mini.public.rglob("*") if file.is_file()) < 2_000_000


def test_a_text_of_the_made_up_language_names_after_a_verb_what_it_began_with():
    tokens = synthetic["Language"](5).texts(50, 200)
    kinds, names, verbs = (synthetic[name] for name in ("KINDS", "NAMES", "VERBS"))
    assert tokens.min() >= 0 and tokens.max() < synthetic["VOCABULARY"]
    seen = 0
    for text in tokens:
        assert sorted(token % kinds for token in text[:kinds]) == list(range(kinds))
        for last, token in zip(text[kinds - 1 :], text[kinds:], strict=False):
            if names <= last < names + verbs:
                assert token in text[:kinds] and token % kinds == last % kinds
                seen += 1
    assert seen > 500


# What people download.

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
    """What prepare.py said to each (seed, source, folder), on an interpreter that has what it reads with."""
    needed = [
        each
        for each in read_definition(TASK / "task.toml").requirements_of("full")
        if not re.match("torch|transformers|scikit-learn|scipy", each)
    ]
    request = [[name, seed, str(source), str(folder)] for name, (seed, source, folder) in cases.items()]
    done = subprocess.run(
        [str(interpreter_for(needed).python), "-c", DRIVER],
        input=json.dumps([str(TASK / "prepare.py"), SIZES, request]),
        env={**os.environ, "PYTHONPATH": str(TASK.parents[2])},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    said: dict[str, str] = json.loads(done.stdout)
    return said


def spoil_source(source: Path, kind: str) -> None:
    model, parquet = source / "model", parquet_files(source)["test"]
    match kind:
        case "no tokeniser":
            (model / "tokenizer.json").unlink()
        case "tokeniser of nothing":
            (model / "tokenizer.json").write_text("{}")
        case "tokeniser of another model":
            (model / "tokenizer.json").write_text(json.dumps(tokenizer([f"x{n}" for n in range(200)])))
        case "no text":
            parquet.unlink()
        case "text as CSV":
            parquet.write_text("text\nhello\n")
        case "another column":
            write_parquet({parquet: {"page": texts("test", PARTS["test"])}})
        case "one column more":
            both = texts("test", PARTS["test"])
            write_parquet({parquet: {"text": both, "id": both}})
        case "numbers":
            write_parquet({parquet: {"text": list(range(PARTS["test"]))}})
        case "a row missing":
            write_parquet({parquet: {"text": texts("test", PARTS["test"] - 1)}})
        case "short paragraphs":
            write_parquet({parquet: {"text": ["w1 w2 w3 \n"] * PARTS["test"]}})


SPOILED_SOURCES = {
    "no tokeniser": "lacks tokenizer.json; take",
    "tokeniser of nothing": "tokenizer.json is not a tokeniser",
    "tokeniser of another model": "has 201 tokens and the model of config.json only 100",
    "no text": "test-00000-of-00001.parquet does not exist; take",
    "text as CSV": "is not a Parquet file",
    "another column": "has the columns page, not text alone",
    "one column more": "has the columns text, id, not text alone",
    "numbers": "has text as int64, not as string",
    "a row missing": f"has {PARTS['test'] - 1} rows, not {PARTS['test']}",
    "short paragraphs": "Only 0 paragraphs of the test part have 128 tokens, and 32 are needed",
}


def test_full_takes_the_published_form_and_refuses_what_is_almost_right(tmp_path):
    good = publish(tmp_path / "good")
    cases = {"good": (0, good, tmp_path / "made"), "another seed": (1, good, tmp_path / "other")}
    for kind in SPOILED_SOURCES:
        source = Path(shutil.copytree(good, tmp_path / "sources" / kind))
        spoil_source(source, kind)
        cases[kind] = (0, source, tmp_path / "refused" / kind)
    said = prepared_in_full(cases)
    assert said.pop("good") == said.pop("another seed") == ""
    for kind, sentence in said.items():
        assert SPOILED_SOURCES[kind] in sentence and sentence.endswith(".") and "\n" not in sentence, kind
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        assert (tmp_path / "made/public/model" / name).read_bytes() == (good / "model" / name).read_bytes()
    shown, hidden, other = (
        json.loads((tmp_path / place / "prompts.json").read_text())["prompts"]
        for place in ("made/public", "made/private/inputs", "other/private/inputs")
    )
    assert (len(shown), len(hidden)) == (4, 8) and hidden != other
    assert {len(prompt) for prompt in shown + hidden} == {128}
    vocabulary = tokenizer()["model"]["vocab"]  # type: ignore[index]
    for part, prompts in (("validation", shown), ("test", hidden)):
        paragraphs = [
            [vocabulary[word] for word in str(row).split()][:128] for row in texts(part, PARTS[part])[4:]
        ]
        assert all(prompt in paragraphs for prompt in prompts)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[]", "is not a JSON object"),
        ("{", "is not a JSON object"),
        (json.dumps(config(architectures=["BertForMaskedLM"])), "none of which is a causal language model's"),
        (json.dumps(config(architectures=None)), "has the architectures None"),
        (json.dumps(config(vocab_size="100")), "has the vocab_size '100', not a number above 50"),
        (json.dumps(config(vocab_size=50)), "has the vocab_size 50, not a number above 50"),
        (json.dumps(config(auto_map={"AutoModel": "evil.Model"})), "asks for code of its own (auto_map)"),
    ],
)
def test_a_config_that_is_no_language_models_is_refused(tmp_path, content, sentence):
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(PreparationError) as refusal:
        runpy.run_path(str(TASK / "prepare.py"))["_vocabulary_of"](tmp_path / "config.json")
    assert sentence in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (weights()[:-1], "bytes, and its header describes"),
        (weights() + b"\0", "bytes, and its header describes"),
        (weights()[:20], "is not a safetensors file"),
        (b"", "is not a safetensors file"),
        (b"\2\0\0\0\0\0\0\0{}", "is not a safetensors file"),
        (b"\xff" * 64, "is not a safetensors file"),
        (b"\x80\x04pickle" * 9, "is not a safetensors file"),
    ],
)
def test_weights_that_are_cut_or_of_another_form_are_refused(tmp_path, content, sentence):
    (tmp_path / "model.safetensors").write_bytes(content)
    with pytest.raises(PreparationError) as refusal:
        runpy.run_path(str(TASK / "prepare.py"))["_check_weights"](tmp_path / "model.safetensors")
    assert sentence in str(refusal.value)


# The measure of quality, against values computed by hand.


def told(p: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What an honest generator says where its distributions are `p`, (texts, places, vocabulary)."""
    likely = np.argsort(-p, axis=2)[..., :50]
    logprobs = np.log(np.take_along_axis(p, likely, axis=2)).astype(np.float32)
    return likely[..., 0], likely, logprobs


def random_distributions(seed: int, *shape: int) -> np.ndarray:
    logits = 2 * np.random.default_rng(seed).normal(size=shape)
    p: np.ndarray = np.exp(logits)
    return p / p.sum(axis=-1, keepdims=True)


def test_what_is_told_of_the_models_own_distributions_does_not_diverge():
    p = random_distributions(0, 2, 5, 300)
    assert quality["flaw"](*told(p), 300) == ""
    measured = quality["compare"](np.log(p), *told(p))
    assert abs(measured.divergence) < 1e-6 and measured.agreement == measured.closeness == 1


def test_the_divergence_is_that_of_whole_distributions_where_only_one_token_is_not_told():
    p, q = random_distributions(1, 3, 4, 51), random_distributions(2, 3, 4, 51)
    p[..., 0] = q[..., 0] = 1e-6
    p, q = (each / each.sum(axis=2, keepdims=True) for each in (p, q))
    expected = (p * np.log(p / q)).sum(axis=2).mean()
    assert quality["compare"](np.log(p), *told(q)).divergence == pytest.approx(expected, rel=1e-5)


def test_the_divergence_of_a_hundred_tokens_agrees_with_a_sum_done_by_hand():
    p = np.full(100, 0.2 / 99)
    p[7] = 0.8
    q = np.full(100, 0.4 / 99)
    q[7] = 0.6
    divergence = quality["_divergence"](p, np.r_[7, 10:59], np.r_[0.6, np.full(49, 0.4 / 99)])
    assert divergence == pytest.approx(0.8 * math.log(0.8 / 0.6) + 0.2 * math.log(0.2 / 0.4))


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), sharpness=st.floats(0.1, 8))
def test_the_divergence_of_honest_lists_is_never_negative_and_at_most_that_of_whole_distributions(
    seed, sharpness
):
    """Where a token is not told, what is assumed for it is no less than what it has."""
    rng = np.random.default_rng(seed)
    logits = sharpness * rng.normal(size=200)
    p, q = (np.exp(each) / np.exp(each).sum() for each in (logits, logits + 0.3 * rng.normal(size=200)))
    likely = np.argsort(-q)[:50]
    divergence = quality["_divergence"](p, likely, q[likely])
    assert divergence > -1e-6
    assert divergence <= (p * np.log(p / q)).sum() + 0.2 * (1 - p[likely].sum()) + 1e-6


def test_agreement_counts_clear_places_only_and_closeness_all():
    p = np.full((1, 4, 60), 1e-4)
    p[0, :, 0] = [0.6, 0.6, 0.45, 0.5]
    p[0, :, 1] = [0.3, 0.3, 0.40, 0.3]
    tokens, likely, logprobs = told(p)
    tokens[0, 1:3] = 1
    measured = quality["compare"](np.log(p), tokens, likely, logprobs)
    assert measured.agreement == pytest.approx(2 / 3) and measured.closeness == pytest.approx(3 / 4)


# The grader, over outputs of the oracle's NumPy, with the oracle's NumPy in place of the library as well.


@pytest.fixture
def oracle(tmp_path) -> Iterator[ModuleType]:
    yield load("llama_oracle", SOLUTION, tmp_path)
    del sys.modules["llama_oracle"]


@pytest.fixture
def grade(small: Prepared, oracle: ModuleType) -> Callable[[Path], None]:
    """grade.py, which asks the oracle for the model's distributions; a test below shows that they are the same."""
    module = runpy.run_path(str(TASK / "grade.py"))

    def distributions(folder: Path, prompts: list[list[int]], tokens: np.ndarray) -> Iterator[np.ndarray]:
        model = oracle.load(folder)
        for prompt, new in zip(prompts, tokens, strict=True):
            model.start(1, len(prompt) + len(new))
            texts = [prompt, *([int(token)] for token in new[:-1])]
            logits = np.concatenate([model(np.array([text])) for text in texts]).astype(np.float64)
            yield logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))

    module["QUALITY"]["distributions"] = distributions
    return lambda outputs: module["grade"](outputs, small.private)


def generated(module: ModuleType, small: Prepared) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    asked = json.loads((small.private / "inputs" / "prompts.json").read_text())
    arrays = module.Generator(small.public / "model").generate(asked["prompts"], asked["new_tokens"])
    return tuple(map(np.asarray, arrays))  # type: ignore[return-value]


def write(folder: Path, arrays: tuple[np.ndarray, ...]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, array in zip(("tokens", "likely", "logprobs"), arrays, strict=True):
        np.save(folder / f"{name}.npy", array)
    return folder


@pytest.fixture
def outputs(oracle, small, tmp_path) -> Path:
    """Right outputs, for a test to spoil."""
    return write(tmp_path / "outputs", generated(oracle, small))


def refusal_of(grade: Callable[[Path], None], outputs: Path) -> str:
    with pytest.raises(SubmissionRefusedError) as refusal:
        grade(outputs)
    sentence = str(refusal.value)
    assert sentence.endswith(".") and "\n" not in sentence
    return sentence


def test_right_outputs_pass_and_so_do_those_of_half_precision(grade, outputs):
    grade(outputs)
    logprobs = np.load(outputs / "logprobs.npy")
    noise = np.random.default_rng(0).normal(scale=0.01, size=logprobs.shape)
    noisy = (
        logprobs
        + noise
        - np.log(np.exp(logprobs + noise).sum(axis=2) / np.exp(logprobs).sum(axis=2))[..., None]
    )
    tokens = np.take_along_axis(np.load(outputs / "likely.npy"), noisy.argmax(axis=2)[..., None], axis=2)[
        ..., 0
    ]
    if (tokens == np.load(outputs / "tokens.npy")).all():
        np.save(outputs / "logprobs.npy", noisy.astype(np.float32))
        grade(outputs)


def spoil(outputs: Path, kind: str) -> None:
    tokens, likely, logprobs = (np.load(outputs / f"{name}.npy") for name in ("tokens", "likely", "logprobs"))
    best = logprobs.argmax(axis=2)
    match kind:
        case "missing":
            (outputs / "likely.npy").unlink()
        case "extra":
            (outputs / "more.npy").write_bytes(b"")
        case "folder":
            (outputs / "tokens.npy").unlink()
            (outputs / "tokens.npy").mkdir()
        case "fewer tokens":
            write(outputs, (tokens[:, :-1], likely[:, :-1], logprobs[:, :-1]))
        case "fewer prompts":
            write(outputs, (tokens[:-1], likely[:-1], logprobs[:-1]))
        case "short lists":
            write(outputs, (tokens, likely[..., :10], logprobs[..., :10]))
        case "double precision":
            np.save(outputs / "logprobs.npy", logprobs.astype(np.float64))
        case "pickle":
            np.save(outputs / "tokens.npy", np.array([print], dtype=object), allow_pickle=True)
        case "cut":
            (outputs / "tokens.npy").write_bytes((outputs / "tokens.npy").read_bytes()[:-1])
        case "appended":
            (outputs / "tokens.npy").write_bytes((outputs / "tokens.npy").read_bytes() + b"\0")
        case "not an array":
            (outputs / "tokens.npy").write_bytes(b"hello")
        case "no such token":
            likely[1, 2, 3] = 512
            np.save(outputs / "likely.npy", likely)
        case "negative token":
            tokens[1, 2] = -1
            np.save(outputs / "tokens.npy", tokens)
        case "not a number":
            logprobs[1, 2, 3] = np.nan
            np.save(outputs / "logprobs.npy", logprobs)
        case "impossible":
            logprobs[1, 2, 3] = 0.5
            np.save(outputs / "logprobs.npy", logprobs)
        case "zero":
            logprobs[1, 2, (best[1, 2] + 1) % 50] = -np.inf
            np.save(outputs / "logprobs.npy", logprobs)
        case "twice":
            likely[1, 2, (best[1, 2] + 1) % 50] = likely[1, 2, best[1, 2]]
            np.save(outputs / "likely.npy", likely)
        case "another choice":
            tokens[1, 2] = likely[1, 2, (best[1, 2] + 1) % 50]
            np.save(outputs / "tokens.npy", tokens)
        case "a choice that is not told":
            tokens[1, 2] = np.setdiff1d(np.arange(512), likely[1, 2])[0]
            np.save(outputs / "tokens.npy", tokens)
        case "more than one":
            np.save(outputs / "logprobs.npy", logprobs + np.float32(0.5) * (logprobs < -1))
            logprobs[1, 2] = -1
            np.save(outputs / "logprobs.npy", logprobs)
        case "mass in hiding":
            np.save(outputs / "logprobs.npy", logprobs - np.float32(20))


SPOILED = {
    "missing": "There is no output likely.npy",
    "extra": "There is an output 'more.npy' that nothing asked for",
    "folder": "tokens.npy is not a file",
    "fewer tokens": f"is an array of dtype <i8 and shape ({PROMPTS}, {NEW - 1})",
    "fewer prompts": f"is an array of dtype <i8 and shape ({PROMPTS - 1}, {NEW})",
    "short lists": f"is an array of dtype <i8 and shape ({PROMPTS}, {NEW}, 10)",
    "double precision": "generate must return logprobs of dtype <f4",
    "pickle": "is an array of dtype |O",
    "cut": "tokens.npy has not the",
    "appended": "tokens.npy has not the",
    "not an array": "tokens.npy is not a NumPy array file",
    "no such token": "likely has at (1, 2, 3) the number 512, and there are 512 tokens",
    "negative token": "tokens has at (1, 2) the number -1",
    "not a number": "logprobs has at (1, 2, 3) nan",
    "impossible": "logprobs has at (1, 2, 3) 0.5",
    "zero": "-inf, which is no logarithm of a probability",
    "twice": "likely has at (1, 2) the same token twice",
    "another choice": "At (1, 2) the chosen token is not the most likely one of those told",
    "a choice that is not told": "At (1, 2) the chosen token is not the most likely one of those told",
    "more than one": "At (1, 2) the probabilities sum to 18.3940, which is more than 1",
    "mass in hiding": "At (0, 0) tokens that are not told must be more likely than some that are",
}


@pytest.mark.parametrize("kind", SPOILED)
def test_spoiled_outputs_are_refused(grade, outputs, kind):
    spoil(outputs, kind)
    assert SPOILED[kind] in refusal_of(grade, outputs)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
@given(
    name=st.sampled_from(["tokens", "likely", "logprobs"]),
    place=st.integers(0, 260),
    patch=st.binary(min_size=1, max_size=40),
)
def test_a_file_patched_anywhere_near_its_header_is_judged_or_refused(grade, outputs, name, place, patch):
    file = outputs / f"{name}.npy"
    content = file.read_bytes()
    try:
        file.write_bytes(content[:place] + patch + content[place + len(patch) :])
        grade(outputs)
    except SubmissionRefusedError as refusal:
        assert "\n" not in str(refusal)
    finally:
        file.write_bytes(content)


# Those who say what is not the model's.

CHEATS = {
    "a smaller draft model that nobody checks": (
        "self.layers = []\n        for layer in range(config",
        "self.layers = []\n        for layer in range(0 * config",
    ),
    "only the last tokens are looked at": (
        "new = np.array(prompts, dtype=np.int64)",
        "new = np.array(prompts, dtype=np.int64)[:, -12:]",
    ),
    "the prompt is left out": (
        "new = np.array(prompts, dtype=np.int64)",
        "new = np.array(prompts, dtype=np.int64)[:, -1:]",
    ),
    "only the first prompt is worked on": (
        "tokens, likely, logprobs = (np.stack(each, axis=1) for each in zip(*told, strict=True))",
        "tokens, likely, logprobs = (np.stack(each, axis=1) for each in zip(*told, strict=True))\n"
        "        tokens[:], likely[:], logprobs[:] = tokens[:1], likely[:1], logprobs[:1]",
    ),
    "later tokens are guessed with confidence": (
        "tokens, likely, logprobs = (np.stack(each, axis=1) for each in zip(*told, strict=True))",
        "tokens, likely, logprobs = (np.stack(each, axis=1) for each in zip(*told, strict=True))\n"
        "        tokens[:, 2:], likely[:, 2:] = tokens[:, 1:2], likely[:, 1:2]\n"
        "        logprobs[:, 2:] = np.where(likely[:, 2:] == tokens[:, 2:, None], -0.01, -9)",
    ),
    "rough weights": (
        "weights[name] = values.reshape(tensor[\"shape\"])",
        "step = np.abs(values).max() / 3\n"
        "        weights[name] = (np.round(values / step) * step).reshape(tensor[\"shape\"])",
    ),
}  # fmt: skip


@pytest.mark.parametrize("cheat", CHEATS)
def test_what_the_model_does_not_say_is_refused(grade, small, tmp_path, cheat):
    before, after = CHEATS[cheat]
    assert before in SOLUTION
    module = load("llama_cheat", SOLUTION.replace(before, after), tmp_path)
    arrays = generated(module, small)
    outputs = write(tmp_path / "outputs", arrays)
    assert "The distributions are not the model's" in refusal_of(grade, outputs)


GARBAGE = """
import numpy as np

class Generator:
    def __init__(self, model):
        pass

    def generate(self, prompts, new_tokens):
        shape = (len(prompts), new_tokens, 50)
        likely = np.broadcast_to(np.arange(50), shape).copy()
        logprobs = np.full(shape, -{spread}, dtype=np.float32)
        logprobs[..., 0] = {top}
        return np.zeros(shape[:2], dtype=np.int64), likely, logprobs
"""


@pytest.mark.parametrize(
    ("top", "spread"), [(-0.001, 12.0), (-1.0, 6.4), (-6.2383, 6.2384)], ids=["sure", "unsure", "even"]
)
def test_garbage_is_refused_whether_it_is_sure_of_itself_or_not(grade, small, tmp_path, top, spread):
    module = load("llama_cheat", GARBAGE.format(top=top, spread=spread), tmp_path)
    sentence = refusal_of(grade, write(tmp_path / "outputs", generated(module, small)))
    assert "not the model's" in sentence or "tokens that are not told" in sentence


def test_a_list_that_leaves_out_what_the_model_finds_likely_is_refused(grade, outputs):
    """Told: the right token with its probability, and beside it tokens that nobody expects."""
    tokens, likely, logprobs = (np.load(outputs / f"{name}.npy") for name in ("tokens", "likely", "logprobs"))
    for place in np.ndindex(tokens.shape):
        unlikely = np.setdiff1d(np.arange(512), likely[place])[:49]
        top = logprobs[place].max()
        likely[place] = np.append(unlikely, tokens[place])
        logprobs[place] = np.append(np.full(49, np.log((1 - np.exp(top)) / 511)), top)
    assert "not the model's" in refusal_of(grade, write(outputs, (tokens, likely, logprobs)))


# Those who cheat the clock: what was run in the sandbox, and how long it took.

BURN = """
import time as _time
_started = _time.clock_gettime(_time.CLOCK_PROCESS_CPUTIME_ID)
def _burn(read=_time.clock_gettime, clock=_time.CLOCK_PROCESS_CPUTIME_ID):
    while read(clock) - _started < 1.5:
        pass
"""
HIDING = {
    "on import": BURN + "_burn()\n" + SOLUTION,
    "in the constructor": BURN
    + SOLUTION.replace("self.model = load(model)", "_burn(); self.model = load(model)"),
    "in a thread that was started before": BURN
    + "import threading\n_helper = threading.Thread(target=_burn)\n_helper.start()\n"
    + SOLUTION,
    "in a thread that nobody waits for": BURN
    + "import threading\n_helper = threading.Thread(target=_burn, daemon=True)\n_helper.start()\n"
    + SOLUTION.replace("return tokens, likely,", "_helper.join(); return tokens, likely,"),
    "behind clocks that stand still": BURN
    + """
import resource, time
for name in ("time", "perf_counter", "process_time", "monotonic", "thread_time", "clock_gettime"):
    setattr(time, name, lambda *_: 0.0)
resource.getrusage = lambda who: None
"""
    + SOLUTION
    + "\n_burn()\n",
    "behind a clock that is set back": BURN
    + """
import ctypes, struct, time
for clock in (time.CLOCK_REALTIME, time.CLOCK_PROCESS_CPUTIME_ID):
    try:
        time.clock_settime(clock, 0)
        raise SystemExit("the clock was set")
    except OSError:
        pass
if ctypes.CDLL(None).settimeofday(struct.pack("qq", 0, 0), None) == 0:
    raise SystemExit("the clock was set")
"""
    + SOLUTION
    + "\n_burn()\n",
    "at the end of the process": BURN + "import atexit\natexit.register(_burn)\n" + SOLUTION,
}  # fmt: skip


@pytest.mark.parametrize("place", HIDING)
def test_work_is_counted_wherever_it_is_done(stage, place):
    result, kept = inferred(stage, {"inference.py": HIDING[place]})
    assert result.cpu_seconds >= 1.5
    assert {file.name for file in kept.iterdir()} == {"tokens.npy", "likely.npy", "logprobs.npy"}


LEAVES_WORK_TO_A_CHILD = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
reader, writer = os.pipe()
if os.fork() == 0:
    os.write(writer, b"x")
    os._exit(0)
os.read(reader, 1)
"""


@pytest.mark.parametrize(
    "start",
    [
        LEAVES_WORK_TO_A_CHILD,
        "import subprocess, sys\nsubprocess.run([sys.executable, '-c', ''], check=True)\n",
        "import multiprocessing\nmultiprocessing.get_context('fork').Pool(1)\n",
    ],
    ids=["fork", "spawn", "pool"],
)
def test_no_work_can_be_left_to_a_child(stage, start):
    with pytest.raises(SubmissionRefusedError, match=r"Operation not permitted|PermissionError"):
        inferred(stage, {"inference.py": start + SOLUTION})


LOOKS_FOR_PROMPTS = """
import json, os
shown = json.load(open("prompts.json"))["prompts"]
found = []
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in files:
        try:
            if name.endswith((".json", ".npy", ".txt")):
                text = open(os.path.join(folder, name)).read()
                if '"prompts"' in text and '"new_tokens"' in text and json.loads(text)["prompts"] != shown:
                    found.append(name)
        except (OSError, ValueError, KeyError, TypeError):
            pass
print("other prompts:", len(found))
"""


def test_hidden_prompts_are_found_nowhere_while_the_agent_works(stage, tmp_path):
    trial = run_in_workspace(stage, tmp_path / "trial", ("-c", LOOKS_FOR_PROMPTS))
    assert trial.ran and "other prompts: 0" in trial.output


REMEMBERS = '''
import json, os, pickle
PLACES = [
    os.path.join(place, "answers.pkl")
    for place in (".", "/tmp", os.path.expanduser("~"), "model", "/dev/shm", "/var/tmp", "/run", "/task")
]

class Generator(Generator):
    """Answers from a file what it was asked before."""

    def generate(self, prompts, new_tokens):
        key = json.dumps([prompts, new_tokens])
        for place in PLACES:
            if os.path.exists(place):
                with open(place, "rb") as file:
                    known = pickle.load(file)
                if key in known:
                    return known[key]
        told = super().generate(prompts, new_tokens)
        for place in PLACES:
            try:
                with open(place, "wb") as file:
                    pickle.dump({key: told}, file)
            except OSError:
                pass
        return told
'''


def test_what_was_answered_before_is_not_there_again_in_the_next_run(stage):
    script = STARTER.replace('if __name__ == "__main__":\n    main()\n', "") + REMEMBERS
    remembering = graded(stage, {"inference.py": script})
    assert remembering.valid and remembering.success is False
    assert remembering.score is not None and remembering.score > 0.8


def test_answers_to_the_examples_answer_nothing_else(stage, small, oracle):
    example = json.loads((small.public / "prompts.json").read_text())
    told = oracle.Generator(small.public / "model").generate(example["prompts"], NEW)
    known = json.dumps([each[:PROMPTS].tolist() for each in told])
    script = (
        "import json\nimport numpy as np\n"
        "class Generator:\n"
        "    def __init__(self, model): pass\n"
        "    def generate(self, prompts, new_tokens):\n"
        "        tokens, likely, logprobs = json.load(open('known.json'))\n"
        "        return np.array(tokens), np.array(likely), np.array(logprobs, dtype=np.float32)\n"
    )
    refused = graded(stage, {"inference.py": script, "known.json": known})
    assert not refused.valid and "The distributions are not the model's" in refused.reason


CHANGES_ITS_MIND = """
class Generator(Generator):
    def generate(self, prompts, new_tokens):
        tokens, likely, logprobs = super().generate(prompts, new_tokens)
        with open(CHANNEL, "a") as file:
            file.write(json.dumps(prompts) + "\\n")
        rounds = len(open(CHANNEL).readlines())
        return tokens, likely, logprobs - np.float32(rounds > 2)
"""


def test_every_round_has_prompts_of_its_own_and_all_are_checked(small, tmp_path):
    """Without walls a program knows which round it is. It sees no prompt twice, and its last answer is checked too."""
    limits = resource_limits(run_limits(small.task.definition.limits))
    open_stage = Stage(small, choose("none"), limits, tmp_path / "scratch")
    channel = tmp_path / "channel"
    script = SOLUTION.replace('if __name__ == "__main__":\n    main()\n', "")
    script = f"import json\nCHANNEL = {str(channel)!r}\n" + script + CHANGES_ITS_MIND
    grade = graded(open_stage, {"inference.py": script})
    assert not grade.valid and "tokens that are not told must be more likely" in grade.reason
    seen = [tuple(prompt) for line in channel.read_text().splitlines() for prompt in json.loads(line)]
    assert len(seen) == len(set(seen)) == 3 * PROMPTS
    prepared = json.loads((small.private / "inputs" / "prompts.json").read_text())["prompts"]
    assert not set(seen) & {tuple(prompt) for prompt in prepared}


@pytest.mark.parametrize("which", ["starter", "plain", "solution"])
def test_what_the_tasks_own_generators_tell_is_right_and_the_script_says_how_fast_it_is(stage, which):
    """Here the library itself says what is right."""
    files = {"inference.py": (TASK / which / "inference.py").read_text()}
    _, kept = inferred(stage, files)
    stage.trusted(kept)
    overlay = None if which == "starter" else TASK / which
    trial = run_in_workspace(stage, stage.scratch / "trial", ("inference.py",), overlay=overlay)
    assert trial.ran and re.search(
        r"^validation CPU seconds per token: \d+\.\d+$", trial.output, re.MULTILINE
    )


def test_the_agent_can_measure_the_quality_that_is_graded_and_cannot_change_the_model(stage):
    trial = run_in_workspace(stage, stage.scratch / "trial", ("quality.py",), overlay=TASK / "solution")
    assert trial.ran, trial.output
    assert re.search(r"^validation divergence: -?0\.00000\d", trial.output, re.MULTILINE)
    assert "validation agreement where the choice is clear: 1.0000" in trial.output
    code = "open('model/config.json', 'w')"
    forged = run_in_workspace(stage, stage.scratch / "forged", ("-c", code))
    assert not forged.ran and "Error" in forged.output


OTHER = """
import sys, torch
from transformers import GPT2Config, GPT2LMHeadModel
torch.manual_seed(0)
GPT2LMHeadModel(GPT2Config(vocab_size=512, n_embd=32, n_layer=2, n_head=2)).save_pretrained(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("which", ["starter", "plain", "solution"])
def test_any_other_causal_model_is_served_as_well(stage, which, tmp_path):
    model = stage.prepared.public / "model"
    shutil.rmtree(model)
    python = str(stage.prepared.interpreter.python)
    subprocess.run([python, "-c", OTHER, str(model)], check=True, capture_output=True, timeout=300)
    _, kept = inferred(stage, {"inference.py": (TASK / which / "inference.py").read_text()})
    stage.trusted(kept)
