"""The vectorization task: hidden cases, the layers that run over them, and the check of their outputs."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.suite import contents

from mlagentbench.errors import SubmissionRefusedError
from mlagentbench.grading import Grader
from mlagentbench.sandbox import choose
from mlagentbench.task.definition import read_definition
from mlagentbench.task.layout import layout
from mlagentbench.task.preparation import prepare
from mlagentbench.task.registry import load_task
from mlagentbench.workspace import Store, Workspace

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "vectorization"


def load(file: Path) -> ModuleType:
    name = "vectorization_" + "_".join(file.relative_to(TASK).with_suffix("").parts)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


task = load(TASK / "prepare.py")
grade = load(TASK / "grade.py").grade


def prepared(folder: Path, seed: int = 0) -> Path:
    for part in ("public", "private"):
        (folder / part).mkdir(parents=True)
    task.prepare("mini", folder / "public", folder / "private", seed)
    return folder


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


@pytest.fixture
def outputs(mini, tmp_path) -> Path:
    """Right outputs, for a test to spoil."""
    return Path(shutil.copytree(mini / "private" / "expected", tmp_path / "outputs"))


def refusal_of(outputs: Path, mini: Path) -> str:
    with pytest.raises(SubmissionRefusedError) as refusal:
        grade(outputs, mini / "private")
    return str(refusal.value)


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name and definition.program and definition.program.timing
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_cases(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other = contents(prepared(tmp_path / "other", seed=1))
    same = [name for name, content in contents(mini).items() if other[name] == content]
    assert all(name.endswith("settings.json") for name in same)


def test_inputs_hold_no_answers_and_the_example_is_none_of_them(mini):
    inputs = contents(mini / "private" / "inputs")
    assert {Path(name).name for name in inputs} == {"images.npy", "weights.npy", "bias.npy", "settings.json"}
    answers = set(contents(mini / "private" / "expected").values())
    assert not answers & set(inputs.values())
    assert not answers & set(contents(mini / "public").values())


@pytest.mark.parametrize("which", ["starter", "plain", "solution"])
def test_every_layer_computes_what_the_reference_computes(which):
    layer = load(TASK / which / "train.py").ConvolutionLayer
    rng = np.random.default_rng(0)
    shapes = [
        *task.CORNERS,
        task.Shape(2, 11, 9, 3, (3, 2), 4, 2, 1),
        task.Shape(1, 8, 8, 1, (3, 3), 1, 1, 1),
    ]
    for shape in shapes:
        images, weights, bias = task.draw(rng, shape)
        expected = task.convolve(images, weights, bias, shape.stride, shape.padding)
        output = layer(weights, bias, shape.stride, shape.padding).forward(images)
        assert output.shape == expected.shape and output.dtype == expected.dtype
        np.testing.assert_allclose(output, expected, rtol=0, atol=1e-12)


def test_the_reference_agrees_with_a_sum_done_by_hand():
    images = np.arange(9.0).reshape(1, 3, 3, 1)
    weights = np.array([1.0, 10.0, 100.0, 1000.0]).reshape(2, 2, 1, 1)
    assert task.convolve(images, weights, np.array([0.5]), 1, 0)[0, 0, 0, 0] == 0 + 10 + 300 + 4000 + 0.5
    assert task.convolve(images, weights, np.array([0.5]), 2, 1)[0, 0, 0, 0] == 0.5
    assert task.convolve(images, weights, np.array([0.5]), 2, 1)[0, 1, 1, 0] == 4 + 50 + 700 + 8000 + 0.5


@pytest.mark.parametrize("which", ["starter", "plain", "solution"])
def test_the_file_that_the_agent_edits_is_the_one_that_runs_and_its_outputs_pass(mini, tmp_path, which):
    workspace, outputs = tmp_path / "workspace", tmp_path / "outputs"
    shutil.copytree(TASK / which, workspace)
    outputs.mkdir()
    command = [sys.executable, str(TASK / "infer.py"), str(mini / "private" / "inputs"), str(outputs)]
    subprocess.run(command, cwd=workspace, check=True)
    grade(outputs, mini / "private")


def test_the_starter_runs_and_says_its_time_and_that_it_is_right(mini, tmp_path):
    shutil.copytree(TASK / "starter", tmp_path, dirs_exist_ok=True)
    shutil.copytree(mini / "public", tmp_path, dirs_exist_ok=True)
    done = subprocess.run(
        [sys.executable, "train.py"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    first, second = done.stdout.splitlines()
    assert first.startswith("forward pass: ") and first.endswith(" s")
    assert float(second.rpartition(" ")[2]) < 1e-12


def test_right_outputs_pass_and_a_negative_zero_or_rounding_is_no_error(mini, outputs):
    grade(outputs, mini / "private")
    array = np.load(outputs / "case-0.npy")
    np.save(outputs / "case-0.npy", array + 5e-9)
    grade(outputs, mini / "private")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, 2e-8])
def test_one_wrong_value_is_refused_with_its_place(mini, outputs, value):
    array = np.load(outputs / "case-1.npy")
    array[1, 2, 3, 4] = array[1, 2, 3, 4] + value
    np.save(outputs / "case-1.npy", array)
    sentence = refusal_of(outputs, mini)
    assert f"case-1.npy: 1 of {array.size} values are wrong, the first at (1, 2, 3, 4)" in sentence


def spoil(outputs: Path, kind: str) -> None:
    file = outputs / "case-2.npy"
    array = np.load(file)
    match kind:
        case "missing":
            file.unlink()
        case "extra":
            (outputs / "more.npy").write_bytes(b"")
        case "folder":
            file.unlink()
            file.mkdir()
        case "single precision":
            np.save(file, array.astype(np.float32))
        case "rounded to single precision":
            np.save(file, array.astype(np.float32).astype(np.float64))
        case "other byte order":
            np.save(file, array.astype(">f8"))
        case "other axes":
            np.save(file, array.transpose(0, 3, 1, 2).copy())
        case "flat":
            np.save(file, array.reshape(-1))
        case "column-major":
            np.save(file, np.asfortranarray(array))
        case "pickle":
            np.save(file, np.array([print], dtype=object), allow_pickle=True)
        case "huge claim":
            file.write_bytes(file.read_bytes().replace(b"'shape': (3", b"'shape': (9"))
        case "cut":
            file.write_bytes(file.read_bytes()[:-8])
        case "appended":
            file.write_bytes(file.read_bytes() + b"\0")
        case "empty":
            file.write_bytes(b"")
        case "not an array":
            file.write_bytes(b"hello")
        case "output of another case":
            shutil.copyfile(outputs / "case-0.npy", file)
        case "zeros":
            np.save(file, np.zeros_like(array))


SPOILED = {
    "missing": "There is no output case-2.npy",
    "extra": "There is an output 'more.npy' that nothing asked for",
    "folder": "case-2.npy is not a file",
    "single precision": "is an array of dtype <f4",
    "rounded to single precision": "values are wrong",
    "other byte order": "is an array of dtype >f8",
    "other axes": "and shape (3, 16, ",
    "flat": "an array of dtype <f8 and shape (",
    "column-major": "stored by columns",
    "pickle": "is an array of dtype |O",
    "huge claim": "and shape (9, ",
    "cut": "bytes of an array of shape",
    "appended": "bytes of an array of shape",
    "empty": "is not a NumPy array file",
    "not an array": "is not a NumPy array file",
    "output of another case": "forward must return dtype <f8 and shape (3, ",
    "zeros": "values are wrong",
}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(place=st.integers(0, 160), patch=st.binary(min_size=1, max_size=40))
def test_a_file_patched_anywhere_near_its_header_passes_or_is_refused(mini, outputs, place, patch):
    content = (mini / "private" / "expected" / "case-8.npy").read_bytes()
    patched = content[:place] + patch + content[place + len(patch) :]
    (outputs / "case-8.npy").write_bytes(patched)
    try:
        grade(outputs, mini / "private")
    except SubmissionRefusedError as refusal:
        assert "case-8.npy" in str(refusal) and "\n" not in str(refusal)
    else:
        assert patched[:128] == content[:128]


@pytest.mark.parametrize("kind", SPOILED)
def test_spoiled_outputs_are_refused(mini, outputs, kind):
    spoil(outputs, kind)
    assert SPOILED[kind] in refusal_of(outputs, mini)


REMEMBERS = """
import hashlib, os, pickle

class ConvolutionLayer(ConvolutionLayer):
    def forward(self, images):
        parts = (images, self.weights, self.bias)
        asked = hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
        kept = os.path.join(CHANNEL, asked)
        if os.path.exists(kept):
            with open(os.path.join(CHANNEL, "hits"), "a") as hits:
                hits.write("x")
            return pickle.load(open(kept, "rb"))
        output = super().forward(images)
        with open(kept, "wb") as file:
            pickle.dump(output, file)
        return output
"""


def test_even_a_channel_from_round_to_round_answers_nothing(mini, tmp_path):
    """Without walls a layer can keep what it computed; no input comes twice, so that it never finds any of it."""
    private = Path(shutil.copytree(mini / "private", tmp_path / "private"))
    for case in sorted((private / "inputs").iterdir())[:4]:  # those that take long
        shutil.rmtree(case)
        (private / "expected" / f"{case.name}.npy").unlink()
    loaded = load_task(TASK)
    prepared = replace(prepare(loaded, "mini"), private=private, public=mini / "public")
    channel = tmp_path / "channel"
    channel.mkdir()
    plan = layout(prepared)
    workspace = Workspace(tmp_path / "workspace", Store(tmp_path / "store"), plan.read_only, max_file=2**31)
    plan.lay(workspace.folder)
    script = (TASK / "starter" / "train.py").read_text().partition("def main()")[0]
    (workspace.folder / "train.py").write_text(f"{script}\nCHANNEL = {str(channel)!r}\n{REMEMBERS}")
    grader = Grader(prepared, choose("none"), tmp_path / "scratch")
    verdict = grader.grade(workspace.store, workspace.snapshot(executed=True).id)
    assert verdict.valid and not verdict.success, verdict
    assert loaded.definition.program is not None and loaded.definition.program.timing is not None
    cases = len(list((private / "inputs").iterdir()))
    assert len(list(channel.iterdir())) == cases * loaded.definition.program.timing.rounds, (
        "no hits, all different"
    )
