"""Share of pairs of nodes whose pointer is right, by size of graph and then on average; and whether it was learned.

For graphs of one size this is what dm-clrs computes for an output of pointers.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from mlagentbench.errors import SubmissionRefusedError

KEPT = 2 / 3
"""The share of what a score has over pointing each pair at its first node that may be left without the weights.
A random network may prefer near nodes by chance, and gets half of the pointers with it."""
LARGEST_CHECKPOINT = 200_000_000
LARGEST_HEADER = 5_000_000
FLOATS = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "F8_E5M2": 1, "F8_E4M3": 1}
OTHERS = {"I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2, "U8": 1, "BOOL": 1}
SIZES = FLOATS | OTHERS


def grade(submission: Path, private: Path, control: Path) -> dict[str, Any]:
    answers = _answers(private)
    score = _score(_outputs(submission, answers, ""), answers)
    scrambled = _score(_outputs(control, answers, "With its weights scrambled: "), answers)
    first = _score({name: _first_nodes(pointers) for name, pointers in answers.items()}, answers)
    told: dict[str, Any] = {"score": score}
    if score == 1.0:
        told["notes"] = [
            "Every pointer is right, which a trained network seldom gets; look at what the code computes."
        ]
    if score > first and scrambled - first > KEPT * (score - first):
        told["withheld"] = (
            f"With the numbers in checkpoint.safetensors scrambled it still scores {scrambled:.4f}, so that the score "
            f"does not come from what was learned; without knowing anything it would be {first:.4f}."
        )
    return told


def _answers(private: Path) -> dict[str, np.ndarray]:
    answers = {}
    for file in sorted((private / "answers").iterdir()):
        with np.load(file, allow_pickle=False) as arrays:
            answers[file.stem] = arrays["Pi"]
    return answers


def _first_nodes(pointers: np.ndarray) -> np.ndarray:
    """What the algorithm starts from: before any node on the way from i is i."""
    return np.broadcast_to(np.arange(pointers.shape[1])[:, None], pointers.shape)


def _score(outputs: dict[str, np.ndarray], answers: dict[str, np.ndarray]) -> float:
    return float(np.mean([np.mean(outputs[name] == pointers) for name, pointers in answers.items()]))


def _outputs(folder: Path, answers: dict[str, np.ndarray], when: str) -> dict[str, np.ndarray]:
    expected = {f"{name}.txt": name for name in answers}
    found = {file.name for file in folder.iterdir()}
    if missing := expected.keys() - found:
        raise SubmissionRefusedError(
            f"{when}There is no output {min(missing)}; the model must predict for every graph."
        )
    if extra := found - expected.keys():
        raise SubmissionRefusedError(
            f"{when}There is an output {min(extra)[:40]!r} that nothing asked for; leave it out."
        )
    return {name: _pointers(folder / file, answers[name].shape, when) for file, name in expected.items()}


def _pointers(path: Path, shape: tuple[int, ...], when: str) -> np.ndarray:
    """The numbers in a text that must have one line for each graph and first node, and one number for each second."""
    graphs, nodes, _ = shape
    if not path.is_file():
        raise SubmissionRefusedError(f"{when}{path.name} is not a file; leave the writing of outputs alone.")
    largest = graphs * nodes * nodes * (len(str(nodes)) + 1)
    with path.open("rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise SubmissionRefusedError(f"{when}{path.name} is longer than pointers for {graphs} graphs can be.")
    lines = content.split(b"\n")
    if lines.pop() != b"" or len(lines) != graphs * nodes:
        raise SubmissionRefusedError(
            f"{when}{path.name} has not the {graphs * nodes} lines of pointers for {graphs} graphs of {nodes} nodes."
        )
    rows = []
    for place, line in enumerate(lines, start=1):
        words = line.split(b" ")
        if len(words) != nodes:
            raise SubmissionRefusedError(
                f"{when}{path.name}, line {place} has {len(words)} pointers, not {nodes}."
            )
        for word in words:
            if not word.isdigit() or int(word) >= nodes:
                raise SubmissionRefusedError(
                    f"{when}{path.name}, line {place} has {word[:20].decode('ascii', 'replace')!r}; "
                    f"a pointer is a node, a number from 0 to {nodes - 1}."
                )
        rows.append([int(word) for word in words])
    return np.array(rows).reshape(shape)


def control(artefact: Path, changed: Path) -> None:
    """The same tensors with their numbers scrambled, so that nothing that was learned is left in them.

    Numbers change places within their tensor. Those of a tensor with both signs get a sign by chance; those of one
    sign, as variances and scales have, keep it, and are made up to four times larger or smaller.
    """
    if artefact.stat().st_size > LARGEST_CHECKPOINT:
        raise SubmissionRefusedError(
            f"{artefact.name} has more than {LARGEST_CHECKPOINT} bytes; use fewer weights."
        )
    content = bytearray(artefact.read_bytes())
    start, tensors = _tensors(artefact.name, content)
    for name, (dtype, begin, end) in tensors.items():
        seed = int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass")).digest(), "big")
        content[start + begin : start + end] = _scrambled(
            bytes(content[start + begin : start + end]), dtype, np.random.default_rng(seed)
        )
    changed.write_bytes(content)


def _tensors(file: str, content: bytearray) -> tuple[int, dict[str, tuple[str, int, int]]]:
    """Where the data of a safetensors file start, and the type and place of each tensor behind that."""

    def refused(what: str) -> SubmissionRefusedError:
        return SubmissionRefusedError(f"{file} is not a safetensors file: {what}. Write it with save_file.")

    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(len(content) - 8, LARGEST_HEADER):
        raise refused("it has no header of the length that its first eight bytes say")
    try:
        header = json.loads(content[8 : 8 + length].decode("utf-8"), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError):
        raise refused("its header is not JSON, or says something twice") from None
    if not isinstance(header, dict):
        raise refused("its header is not a JSON object")
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise refused(f"{name[:40]!r} is not described by dtype, shape and data_offsets")
        dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        if not isinstance(dtype, str) or dtype not in SIZES:
            raise refused(f"{name[:40]!r} has a dtype that is not one of {', '.join(SIZES)}")
        if not _counts(shape, 32) or not _counts(offsets, 2) or len(offsets) != 2:
            raise refused(f"{name[:40]!r} has a shape or offsets that are not lists of sizes")
        if offsets[1] - offsets[0] != math.prod(shape) * SIZES[dtype]:
            raise refused(f"{name[:40]!r} has not as many bytes as its shape needs")
        tensors[name] = (dtype, *offsets)
    reached = 0
    for _, begin, end in sorted(tensors.values(), key=lambda each: each[1:]):
        if begin != reached:
            raise refused("its tensors overlap or leave gaps")
        reached = end
    if reached != len(content) - 8 - length:
        raise refused("its tensors do not fill the rest of it")
    if not reached:
        raise refused("it holds no numbers")
    return 8 + length, tensors


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _counts(value: object, most: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) <= most
        and all(type(each) is int and 0 <= each <= LARGEST_CHECKPOINT for each in value)
    )


def _scrambled(data: bytes, dtype: str, rng: np.random.Generator) -> bytes:
    size = SIZES[dtype]
    values = np.frombuffer(data, f"<u{size}")
    values = values[rng.permutation(len(values))]
    if dtype not in FLOATS or not len(values):
        return values.tobytes()
    sign = values.dtype.type(1 << (8 * size - 1))
    negative = (values & sign) != 0
    if negative.any() and not negative.all():
        return np.where(rng.random(len(values)) < 0.5, values ^ sign, values).astype(values.dtype).tobytes()
    if size == 1:
        return values.tobytes()
    factors = 4.0 ** rng.uniform(-1, 1, len(values))
    with np.errstate(all="ignore"):
        if dtype == "BF16":
            wide = (values.astype("<u4") << 16).view("<f4") * factors
            return (wide.astype("<f4").view("<u4") >> 16).astype("<u2").tobytes()
        return (values.view(f"<f{size}") * factors).astype(f"<f{size}").tobytes()
