"""The CLRS task: its graphs, its grader, the control with scrambled weights, and those who do not learn."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import runpy
import struct
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import sources_clrs
from support.acting import copying, executing, play, steps_of, submitting, writing
from support.suite import contents, preparing

from mlagentbench.errors import PreparationError, SubmissionRefusedError
from mlagentbench.grading import Grade
from mlagentbench.task.definition import read_definition

TASK = Path(__file__).parents[2] / "src" / "mlagentbench" / "suite" / "CLRS"
prepare = runpy.run_path(str(TASK / "prepare.py"))["prepare"]
prepared = preparing(prepare)
grading = runpy.run_path(str(TASK / "grade.py"))
graphs = runpy.run_path(str(TASK / "graphs.py"))
grade, control = grading["grade"], grading["control"]

ARRAYS = {"pos", "A", "adj", "Pi", "Pi_h", "D", "msk", "k"}


def arrays(file: Path) -> dict[str, np.ndarray]:
    with np.load(file, allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


@pytest.fixture(scope="module")
def mini(tmp_path_factory) -> Path:
    return prepared(tmp_path_factory.mktemp("mini"))


def test_the_definition_is_valid_and_its_problem_text_names_only_known_things():
    definition = read_definition(TASK / "task.toml")
    assert definition.name == TASK.name and definition.program
    assert definition.program.control == "checkpoint.safetensors"
    assert any(each.startswith("dm-clrs==") for each in definition.requirements_of("full"))
    assert not any("clrs" in each for each in definition.requirements_of("mini"))
    names = {"variant", "metric", "goal", "submission", "steps", "time", "execution_time", "data"}
    text = (TASK / "problem.md").read_text().format(**{name: f"<{name}>" for name in names})
    assert "<submission>" in text and "<metric>" in text and "checkpoint.safetensors" in text


def test_preparing_twice_gives_the_same_bytes_and_another_seed_gives_other_graphs(mini, tmp_path):
    assert contents(prepared(tmp_path / "again")) == contents(mini)
    other, this = contents(prepared(tmp_path / "other", seed=1)), contents(mini)
    assert other.keys() == this.keys()
    assert all(other[name] != this[name] for name in this if name.endswith(".npz"))


def test_hidden_graphs_come_without_hints_and_answers_and_are_none_of_the_public_ones(mini):
    assert {file.name for file in (mini / "public").iterdir()} == {
        "data_description.txt", *(f"train-{size}.npz" for size in (4, 7, 11, 13, 16)),
    }  # fmt: skip
    assert "synthetic" in (mini / "public" / "data_description.txt").read_text()
    known = {graph.tobytes() for graph in arrays(mini / "public" / "train-16.npz")["A"]}
    for size in (16, 20, 24):
        inputs = arrays(mini / "private" / "inputs" / f"test-{size}.npz")
        answers = arrays(mini / "private" / "answers" / f"test-{size}.npz")
        assert inputs.keys() == {"pos", "A", "adj"} and answers.keys() == {"Pi"}
        assert inputs["A"].shape == answers["Pi"].shape == (32, size, size)
        assert not known & {graph.tobytes() for graph in inputs["A"]}


def test_runs_are_those_of_the_algorithm_written_out_step_by_step(mini):
    for file in sorted((mini / "public").glob("*.npz")):
        made = arrays(file)
        assert made.keys() == ARRAYS
        for index in (0, 1, 2, 50, -1):
            right = sources_clrs.floyd_warshall(made["A"][index])
            for name in ARRAYS - {"D"}:
                np.testing.assert_array_equal(made[name][index], right[name], err_msg=f"{file.name} {name}")
            np.testing.assert_array_equal(made["D"][index], right["D"].astype(np.float32))
    inputs = arrays(mini / "private" / "inputs" / "test-24.npz")
    answers = arrays(mini / "private" / "answers" / "test-24.npz")
    right = sources_clrs.floyd_warshall(inputs["A"][3])
    np.testing.assert_array_equal(answers["Pi"][3], right["Pi"])
    np.testing.assert_array_equal(inputs["adj"][3], right["adj"])


def test_a_run_done_by_hand():
    """Three nodes in a row, and a dear edge between the ends."""
    weights = np.array([[0.0, 0.2, 0.9], [0.2, 0.0, 0.3], [0.9, 0.3, 0.0]])
    run = graphs["floyd_warshall"](weights)
    assert run["Pi"].tolist() == [[0, 0, 1], [1, 1, 1], [1, 2, 2]]
    assert run["Pi_h"][1].tolist() == run["Pi_h"][0].tolist() == [[0] * 3, [1] * 3, [2] * 3]
    np.testing.assert_allclose(run["D"][2], [[0, 0.2, 0.5], [0.2, 0, 0.3], [0.5, 0.3, 0]])
    assert run["k"].tolist() == np.eye(3).tolist()
    alone = graphs["floyd_warshall"](np.zeros((2, 2)))
    assert alone["Pi"].tolist() == [[0, 0], [1, 1]] and alone["msk"].tolist() == [np.eye(2).tolist()] * 2
    loop = graphs["floyd_warshall"](np.array([[0.9, 0.1], [0.1, 0.0]]))
    assert loop["Pi"].tolist() == [[1, 0], [1, 1]], "there and back is shorter than the edge to itself"


def test_graphs_are_undirected_and_as_dense_as_drawn():
    rng = np.random.default_rng(0)
    made = [graphs["weighted_graph"](rng, 20, 0.5) for _ in range(200)]
    assert all((graph == graph.T).all() for graph in made)
    loops = np.mean([np.diag(graph) > 0 for graph in made])
    edges = np.mean([(graph > 0)[~np.eye(20, dtype=bool)] for graph in made])
    assert abs(edges - 0.25) < 0.01 and abs(loops - 0.5) < 0.03
    weights = np.concatenate([graph[graph > 0] for graph in made])
    assert weights.min() > 0.03 and weights.max() < np.sqrt(1.001)
    assert abs(weights.mean() - 4 / 9) < 0.03


@pytest.fixture
def with_library(tmp_path, monkeypatch) -> Path:
    sources_clrs.library(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "clrs", raising=False)
    for name, number in sources_clrs.SIZES.items():
        monkeypatch.setitem(prepare.__globals__, name, number)
    return tmp_path / "clrs.py"


def test_full_has_the_form_of_mini_with_what_the_library_makes(mini, with_library, tmp_path):
    full = prepared(tmp_path / "full", "full")
    assert {name for name in contents(full) if "test" not in name} == {
        name for name in contents(mini) if "test" not in name
    }
    for name in ("public/train-11.npz", "public/train-4.npz"):
        one, other = arrays(full / name), arrays(mini / name)
        assert {key: (array.dtype, array.shape[1:]) for key, array in one.items()} == {
            key: (array.dtype, array.shape[1:]) for key, array in other.items()
        }
        right = sources_clrs.floyd_warshall(one["A"][1])
        np.testing.assert_array_equal(one["Pi_h"][1], right["Pi_h"])
        np.testing.assert_array_equal(one["Pi"][1], right["Pi"])
    assert arrays(full / "private" / "inputs" / "test-64.npz")["A"].shape == (2, 64, 64)
    assert arrays(full / "private" / "answers" / "test-64.npz")["Pi"].shape == (2, 64, 64)
    assert "synthetic" not in (full / "public" / "data_description.txt").read_text()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('("Pi_h", "D", "msk", "k")', '("Pi_h", "D", "msk")', "gives 'k' the shape None"),
        ("DataPoint(name, np.stack", "DataPoint(name.lower(), np.stack", "'A' the shape None"),
        ("axis=1))", "axis=2))", "the shape"),
        ('"Pi": np.array(before, float)', '"Pi": np.array(before, float) + 1', "are not nodes"),
    ],
)
def test_a_library_with_another_specification_is_refused(with_library, tmp_path, old, new, sentence):
    text = with_library.read_text()
    assert old in text
    with_library.write_text(text.replace(old, new))
    with pytest.raises(PreparationError, match=re.escape(sentence)) as refusal:
        prepared(tmp_path / "full", "full")
    assert "\n" not in str(refusal.value)


def test_full_without_the_library_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "clrs", None)
    with pytest.raises(PreparationError, match="dm-clrs, which cannot be imported"):
        prepared(tmp_path / "full", "full")


def written(folder: Path, pointers: dict[str, np.ndarray]) -> Path:
    """Outputs as infer.py writes them."""
    folder.mkdir()
    for name, values in pointers.items():
        lines = (" ".join(map(str, row)) + "\n" for graph in values.tolist() for row in graph)
        (folder / f"{name}.txt").write_text("".join(lines))
    return folder


def right_ones(mini: Path) -> dict[str, np.ndarray]:
    return {file.stem: arrays(file)["Pi"] for file in (mini / "private" / "answers").iterdir()}


def first_ones(mini: Path) -> dict[str, np.ndarray]:
    return {
        name: np.broadcast_to(np.arange(values.shape[1])[:, None], values.shape)
        for name, values in right_ones(mini).items()
    }


@pytest.fixture
def outputs(mini, tmp_path) -> Path:
    return written(tmp_path / "outputs", right_ones(mini))


@pytest.fixture
def nothing_learned(mini, tmp_path) -> Path:
    return written(tmp_path / "control", first_ones(mini))


def test_the_score_is_the_share_of_right_pointers_averaged_over_sizes(tmp_path):
    """Two graphs of two nodes with 6 of 8 pointers right, and one of three nodes with 3 of 9."""
    private = tmp_path / "private"
    (private / "answers").mkdir(parents=True)
    small, large = (
        np.array([[[0, 0], [1, 1]], [[0, 0], [1, 1]]]),
        np.array([[[0, 1, 2], [0, 1, 2], [0, 1, 2]]]),
    )
    np.savez(private / "answers" / "test-2.npz", Pi=small)
    np.savez(private / "answers" / "test-3.npz", Pi=large)
    submitted = written(
        tmp_path / "outputs",
        {"test-2": np.array([[[0, 1], [1, 1]], [[0, 0], [0, 1]]]), "test-3": np.zeros((1, 3, 3), int)},
    )
    told = grade(submitted, private, submitted)
    assert told["score"] == pytest.approx((6 / 8 + 3 / 9) / 2)


def test_a_score_that_needs_its_weights_stands_and_one_that_does_not_is_withheld(
    mini, outputs, nothing_learned, tmp_path
):
    told = grade(outputs, mini / "private", nothing_learned)
    assert told["score"] == 1 and "withheld" not in told
    assert "Every pointer is right" in told["notes"][0]
    told = grade(outputs, mini / "private", outputs)
    assert told["score"] == 1 and "still scores 1.0000" in told["withheld"]
    first = grade(nothing_learned, mini / "private", nothing_learned)
    assert 0.2 < first["score"] < 0.3 and first.keys() == {"score"}

    rng = np.random.default_rng(0)
    for share, withheld in ((0.9, True), (0.75, True), (0.55, False), (0.2, False)):
        mixed = {
            name: np.where(rng.random(values.shape) < share, values, first_ones(mini)[name])
            for name, values in right_ones(mini).items()
        }
        half = written(tmp_path / f"control-{share}", mixed)
        assert ("withheld" in grade(outputs, mini / "private", half)) is withheld


def spoil(outputs: Path, kind: str) -> None:
    file = outputs / "test-20.txt"
    text = file.read_text()
    first, rest = text.split("\n", 1)
    match kind:
        case "missing":
            file.unlink()
        case "extra":
            (outputs / "more.txt").write_text(text)
        case "folder":
            file.unlink()
            file.mkdir()
        case "cut":
            file.write_text(text[: len(text) // 2])
        case "no last line end":
            file.write_text(text[:-1])
        case "a graph twice":
            file.write_text(text + "\n".join(text.split("\n")[:20]) + "\n")
        case "a line less":
            file.write_text(rest)
        case "a pointer less":
            file.write_text(first.rsplit(" ", 1)[0] + "\n" + rest)
        case "out of range":
            file.write_text(first.rsplit(" ", 1)[0] + " 20\n" + rest)
        case "negative":
            file.write_text(first.rsplit(" ", 1)[0] + " -1\n" + rest)
        case "not a number":
            file.write_text(first.rsplit(" ", 1)[0] + " nan\n" + rest)
        case "a fraction":
            file.write_text(first.rsplit(" ", 1)[0] + " 1.0\n" + rest)
        case "digits of another script":
            file.write_text(first.rsplit(" ", 1)[0] + " \u0661\n" + rest)
        case "zeros":
            file.write_bytes(text.encode()[: len(text) // 2] + bytes(len(text) - len(text) // 2))
        case "endless":
            file.write_text("0 " * 10**6)
        case "empty":
            file.write_text("")


SPOILED = {
    "missing": "There is no output test-20.txt",
    "extra": "There is an output 'more.txt' that nothing asked for",
    "folder": "test-20.txt is not a file",
    "cut": "has not the 640 lines",
    "no last line end": "has not the 640 lines",
    "a graph twice": "has not the 640 lines",
    "a line less": "has not the 640 lines",
    "a pointer less": "line 1 has 19 pointers, not 20",
    "out of range": "line 1 has '20'; a pointer is a node, a number from 0 to 19",
    "negative": "line 1 has '-1'",
    "not a number": "line 1 has 'nan'",
    "a fraction": "line 1 has '1.0'",
    "digits of another script": "line 1 has",
    "zeros": "has not the 640 lines",
    "endless": "is longer than pointers for 32 graphs can be",
    "empty": "has not the 640 lines",
}


@pytest.mark.parametrize("kind", SPOILED)
def test_spoiled_outputs_are_refused_of_either_run(mini, outputs, nothing_learned, kind):
    spoil(outputs, kind)
    for submission, other in ((outputs, nothing_learned), (nothing_learned, outputs)):
        with pytest.raises(SubmissionRefusedError) as refusal:
            grade(submission, mini / "private", other)
        assert SPOILED[kind] in str(refusal.value) and "\n" not in str(refusal.value)
        assert str(refusal.value).startswith("With its weights scrambled: ") is (other == outputs)


def checkpoint(
    tensors: dict[str, tuple[str, list[int], bytes]], metadata: dict[str, str] | None = None
) -> bytes:
    header: dict[str, object] = {"__metadata__": metadata} if metadata else {}
    data = b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def tensor(values: np.ndarray, dtype: str = "F32") -> tuple[str, list[int], bytes]:
    return dtype, list(values.shape), values.tobytes()


def scrambled(content: bytes, folder: Path) -> bytes:
    (folder / "checkpoint.safetensors").write_bytes(content)
    control(folder / "checkpoint.safetensors", folder / "changed")
    return (folder / "changed").read_bytes()


def test_scrambling_changes_every_tensor_and_keeps_form_and_magnitude(tmp_path):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(20, 30)).astype("<f4")
    positive = rng.uniform(0.5, 2, 50).astype("<f2")
    wide = np.array([1.5, 1.25, 3.0], "<f4")
    content = checkpoint(
        {
            "weights": tensor(weights),
            "norm": tensor(positive, "F16"),
            "one": tensor(np.array([0.7], "<f8"), "F64"),
            "brain": ("BF16", [3], (wide.view("<u4") >> 16).astype("<u2").tobytes()),
            "small": tensor(np.arange(9, dtype="u1").reshape(3, 3), "F8_E4M3"),
            "indices": tensor(np.arange(40, dtype="<i8"), "I64"),
            "none": ("F32", [0, 4], b""),
        },
        {"format": "pt"},
    )
    changed = scrambled(content, tmp_path)
    assert changed == scrambled(content, tmp_path), "the same each time"
    assert len(changed) == len(content)
    start = len(content) - 4 * 600 - 2 * 50 - 8 - 6 - 9 - 320
    assert changed[:start] == content[:start], "the header stays"
    numbers = io.BytesIO(changed[start:])
    other = np.frombuffer(numbers.read(2400), "<f4").reshape(weights.shape)
    assert sorted(np.abs(other).ravel()) == sorted(np.abs(weights).ravel())
    assert abs(np.corrcoef(other.ravel(), weights.ravel())[0, 1]) < 0.15
    scales = np.frombuffer(numbers.read(100), "<f2").astype(float)
    assert (scales > 0).all() and scales.min() > 0.1 and scales.max() < 8.1
    assert len(set(scales) & set(positive.astype(float))) < 10
    (one,) = np.frombuffer(numbers.read(8), "<f8")
    assert one != 0.7 and 0.7 / 4 <= one <= 0.7 * 4
    brain = (np.frombuffer(numbers.read(6), "<u2").astype("<u4") << 16).view("<f4")
    assert ((brain > 0.3) & (brain < 12.1)).all() and set(brain) != set(wide)
    assert sorted(numbers.read(9)) == list(range(9))
    indices = np.frombuffer(numbers.read(320), "<i8")
    assert sorted(indices) == list(range(40)) and list(indices) != list(range(40))


class Trap:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self):
        return os.system, (f"touch {self.file}",)


def archive(trap: Path) -> bytes:
    """What torch.save writes: a zip file with a pickle in it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(Trap(trap)))
    return stream.getvalue()


GOOD = checkpoint({"w": tensor(np.ones(4, "<f4"))})


def headed(text: str | bytes, data: bytes = b"") -> bytes:
    encoded = text.encode() if isinstance(text, str) else text
    return struct.pack("<Q", len(encoded)) + encoded + data


ENTRY = '"dtype": "F32", "shape": [1], "data_offsets": [0, 4]'
NO_CHECKPOINTS = {
    "empty": (b"", "no header of the length"),
    "short": (b"\x01\x00", "no header of the length"),
    "cut": (GOOD[:40], "no header of the length"),
    "long header": (struct.pack("<Q", 2**63) + b"{}", "no header of the length"),
    "pickle": (pickle.dumps([1.0]), "not a safetensors file"),
    "not JSON": (headed("w = 1"), "its header is not JSON"),
    "not UTF-8": (headed(b"\xff\xfe"), "its header is not JSON"),
    "deep": (headed("[" * 100_000), "its header is not JSON"),
    "a list": (headed("[]"), "not a JSON object"),
    "a name twice": (headed(f'{{"w": {{{ENTRY}}}, "w": {{{ENTRY}}}}}', bytes(4)), "says something twice"),
    "no tensors": (headed("{}"), "it holds no numbers"),
    "empty tensor": (checkpoint({"w": ("F32", [0], b"")}), "it holds no numbers"),
    "no dtype": (headed('{"w": {"shape": [1], "data_offsets": [0, 4]}}', bytes(4)), "is not described by"),
    "unknown dtype": (headed(f'{{"w": {{{ENTRY.replace("F32", "OBJECT")}}}}}', bytes(4)), "has a dtype"),
    "huge shape": (headed(f'{{"w": {{{ENTRY.replace("[1]", "[9999999999]")}}}}}', bytes(4)), "not lists of sizes"),
    "negative": (headed(f'{{"w": {{{ENTRY.replace("[1]", "[-1]")}}}}}', bytes(4)), "not lists of sizes"),
    "truth": (headed(f'{{"w": {{{ENTRY.replace("[1]", "[true]")}}}}}', bytes(4)), "not lists of sizes"),
    "fraction": (headed(f'{{"w": {{{ENTRY.replace("[1]", "[1.0]")}}}}}', bytes(4)), "not lists of sizes"),
    "wrong size": (headed(f'{{"w": {{{ENTRY.replace("[1]", "[2]")}}}}}', bytes(4)), "not as many bytes"),
    "overlap": (headed(f'{{"v": {{{ENTRY}}}, "w": {{{ENTRY}}}}}', bytes(4)), "overlap or leave gaps"),
    "bytes left over": (GOOD + b"\0", "do not fill the rest"),
    "data missing": (GOOD[:-4], "do not fill the rest"),
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_CHECKPOINTS)
def test_what_is_not_safetensors_is_refused(tmp_path, kind):
    content, sentence = NO_CHECKPOINTS[kind]
    with pytest.raises(SubmissionRefusedError) as refusal:
        scrambled(content, tmp_path)
    assert sentence in str(refusal.value) and "\n" not in str(refusal.value)


def test_nothing_in_a_pickle_runs(tmp_path):
    trap = tmp_path / "trap"
    for content in (archive(trap), pickle.dumps(Trap(trap))):
        with pytest.raises(SubmissionRefusedError, match="not a safetensors file"):
            scrambled(content, tmp_path)
    assert not trap.exists()


def test_a_checkpoint_is_not_too_large(tmp_path):
    with (tmp_path / "checkpoint.safetensors").open("wb") as file:
        file.truncate(200_000_001)
    with pytest.raises(SubmissionRefusedError, match="use fewer weights"):
        control(tmp_path / "checkpoint.safetensors", tmp_path / "changed")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200, deadline=None)
@given(place=st.integers(0, 90), patch=st.binary(min_size=1, max_size=30))
def test_a_checkpoint_patched_anywhere_is_scrambled_or_refused(tmp_path, place, patch):
    content = GOOD[:place] + patch + GOOD[place + len(patch) :]
    try:
        assert len(scrambled(content, tmp_path)) == len(content)
    except SubmissionRefusedError as refusal:
        assert "\n" not in str(refusal)


# A checkpoint of three numbers, for programs that do not need it.
SAVE = """
import numpy as np
from safetensors.numpy import save_file

save_file({"weight": np.array([0.1, -0.2, 0.3], np.float32)}, "checkpoint.safetensors")
"""
COMPUTES = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3))

    def predict(self, pos, A, adj):
        n = A.shape[-1]
        lengths, reached = A.clone(), adj > 0
        pointers = torch.arange(n)[:, None].repeat(len(A), 1, n).view(len(A), n, n)
        for k in range(n):
            through = lengths[:, :, k, None] + lengths[:, None, k]
            possible = reached[:, :, k, None] & reached[:, None, k]
            better = possible & (~reached | (through < lengths))
            pointers = torch.where(better, pointers[:, None, k], pointers)
            lengths = torch.where(better, through, lengths)
            reached = reached | possible
        return pointers
"""
CARRIES = """
from pathlib import Path

import torch
from kept import Model as Learned
from safetensors.torch import load_file


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3))

    def predict(self, pos, A, adj):
        learned = Learned()
        learned.load_state_dict(load_file("kept.safetensors"))
        return learned.predict(pos, A, adj)
"""
LOOKS = """
import os

import torch

for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys")):
        continue
    for name in names:
        if (name.startswith("test-") and "answers" in folder) or (name == "graphs.py" and "CLRS" in folder):
            raise SystemExit(f"found {folder}/{name}")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(3))

    def predict(self, pos, A, adj):
        return torch.zeros(A.shape, dtype=torch.long)
"""
SAVES_A_PICKLE = """
import os

import torch


class Trap:
    def __reduce__(self):
        return os.system, ("touch trapped",)


torch.save({"weight": Trap()}, "checkpoint.safetensors")
"""


def attempt(folder: Path, files: dict[str, str], *actions) -> Grade:
    writings = [writing(name, content) for name, content in files.items()]
    made = play("CLRS", [*writings, executing("train.py"), *actions, submitting()], folder / "play" / "runs")
    assert all(step.observation.ok for step in steps_of(made)), [step.observation for step in steps_of(made)]
    assert made.grade is not None
    return made.grade


def test_a_program_that_computes_the_algorithm_is_no_success(tmp_path):
    verdict = attempt(tmp_path, {"model.py": COMPUTES, "train.py": SAVE})
    assert verdict.valid and verdict.score is not None and verdict.score > 0.999
    assert verdict.success is False and verdict.improvement is not None and verdict.improvement > 0.1
    assert "does not come from what was learned" in verdict.withheld and verdict.withheld in verdict.notes


def test_a_program_that_carries_its_weights_elsewhere_is_no_success(tmp_path):
    training = (TASK / "solution" / "train.py").read_text()
    short = re.sub(r"EPOCHS = \d+", "EPOCHS = 3", training).replace("from model import", "from kept import")
    assert short != training
    verdict = attempt(
        tmp_path,
        {"kept.py": (TASK / "solution" / "model.py").read_text(), "model.py": CARRIES, "train.py": short},
        copying("checkpoint.safetensors", "kept.safetensors"),
        writing("train.py", SAVE),
        executing("train.py"),
    )
    assert verdict.valid and verdict.improvement is not None and verdict.improvement > 0.1
    assert verdict.success is False and "does not come from what was learned" in verdict.withheld


def test_a_pickle_instead_of_a_checkpoint_is_refused_and_never_runs(tmp_path):
    verdict = attempt(tmp_path, {"train.py": SAVES_A_PICKLE})
    assert not verdict.valid and not verdict.success and "safetensors" in verdict.reason.lower()
    # In the sandbox it puts a checkpoint in the place of the pickle before that is read.
    replaces = SAVE + COMPUTES
    verdict = attempt(tmp_path, {"model.py": replaces, "train.py": SAVES_A_PICKLE})
    assert not verdict.valid and "not a safetensors file" in verdict.reason
    assert not list(tmp_path.rglob("trapped"))


def test_a_program_that_looks_for_the_answers_finds_none(tmp_path):
    verdict = attempt(tmp_path, {"model.py": LOOKS, "train.py": SAVE})
    assert verdict.valid and verdict.success is False, verdict.reason


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        ("return pointers[:, :-1]", "it must return integers of the shape"),
        ("return pointers.float() * float('nan')", "predict returned torch.float32"),
    ],
)
def test_predictions_of_another_form_are_refused(tmp_path, returned, told):
    verdict = attempt(tmp_path, {"model.py": COMPUTES.replace("return pointers", returned), "train.py": SAVE})
    assert not verdict.valid and told in verdict.reason


LIBRARY = """
import importlib.util, json, runpy, sys, types

import numpy as np

try:
    import clrs
    whole = True
except ImportError:
    # Without TensorFlow: samplers and scores ask only whether something is a tensor of its.
    whole = False
    sys.modules["tensorflow"] = types.ModuleType("tensorflow")
    sys.modules["tensorflow"].Tensor = type("Tensor", (), {})
    for name in [name for name in sys.modules if name.partition(".")[0] == "clrs"]:
        del sys.modules[name]
    package = types.ModuleType("clrs")
    package.__path__ = importlib.util.find_spec("clrs").submodule_search_locations
    sys.modules["clrs"] = package
from clrs._src import evaluation, probing, samplers, specs

ours = runpy.run_path(sys.argv[1] + "/graphs.py")
grade = runpy.run_path(sys.argv[1] + "/grade.py", init_globals=None)
rng = np.random.default_rng(0)
compared = differing = 0
scores, statistics = [], {"library": [], "ours": []}


def described(graphs):
    loops = np.diagonal(graphs, axis1=1, axis2=2) > 0
    edges = (graphs > 0) & ~np.eye(graphs.shape[1], dtype=bool)
    weights = graphs[graphs > 0]
    return [loops.mean(), edges.mean(), weights.mean(), weights.std(), weights.min(), weights.max()]


for size in (4, 7, 11, 13, 16, 24, 64):
    for densities in ((0.5,), tuple(tenths / 10 for tenths in range(1, 10))):
        sampler, _ = samplers.build_sampler(
            "floyd_warshall", seed=size, num_samples=4 if size == 64 else 60, length=size, p=densities
        )
        made = sampler.next()
        theirs = {point.name: np.asarray(point.data) for point in made.features.inputs + made.outputs}
        theirs |= {point.name: np.swapaxes(point.data, 0, 1) for point in made.features.hints}
        for index, graph in enumerate(theirs["A"]):
            run = ours["floyd_warshall"](graph)
            assert run.keys() == theirs.keys()
            for name, values in run.items():
                compared += 1
                differing += not np.array_equal(values, theirs[name][index])
        (truth,) = made.outputs
        guess = np.where(rng.random(truth.data.shape) < 0.3, rng.integers(size, size=truth.data.shape), truth.data)
        point = probing.DataPoint(name="Pi", location=truth.location, type_=truth.type_, data=guess)
        scores.append([evaluation.evaluate(made.outputs, {"Pi": point})["score"],
                       grade["_score"]({"t": guess}, {"t": truth.data})])
    if size == 16:
        sampler, _ = samplers.build_sampler("floyd_warshall", seed=1, num_samples=2000, length=size)
        statistics["library"] = described(sampler.next().features.inputs[1].data)
        statistics["ours"] = described(ours["runs"](rng, 2000, size, (0.5,))["A"])
print(json.dumps({"compared": compared, "differing": differing, "scores": scores, "whole": whole, **statistics}))
"""


@pytest.mark.slow
def test_runs_and_scores_are_those_of_the_library(tmp_path):
    python = os.environ.get("MLAGENTBENCH_CLRS_PYTHON", "")
    if not python:
        pytest.skip("MLAGENTBENCH_CLRS_PYTHON names no interpreter that has dm-clrs")
    sources = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [python, "-c", LIBRARY, str(TASK)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(sources), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["compared"] > 5000 and said["differing"] == 0
    for theirs, ours in said["scores"]:
        assert ours == pytest.approx(theirs, abs=1e-12)
    np.testing.assert_allclose(said["ours"], said["library"], atol=0.02)
