"""Checks that what a submitted generator tells is what the model says. The harness measures how fast it came."""

from __future__ import annotations

import io
import json
import re
import runpy
from pathlib import Path

import numpy as np

from mlagentbench.errors import SubmissionRefusedError

HEADER = re.compile(
    rb"\{'descr': '([<>|=\w]{1,8})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,99})\), \}"
)
# The task's own copy, the same that the agent finds in its workspace to try its work with.
QUALITY = runpy.run_path(str(Path(__file__).parent / "starter" / "quality.py"))
LIKELY = QUALITY["LIKELY"]


def make_rounds(private: Path, folder: Path, count: int, seed: int) -> None:
    """As many prompts as prepared, for each round others of the pool."""
    asked, pool = (
        json.loads(file.read_text(encoding="utf-8"))
        for file in (private / "inputs" / "prompts.json", private / "pool.json")
    )
    each = len(asked["prompts"])
    if len(pool["prompts"]) < count * each:
        raise ValueError(
            f"{private / 'pool.json'} has too few prompts for {count} rounds; prepare the task again"
        )
    drawn = np.random.default_rng(seed).permutation(len(pool["prompts"]))
    for number in range(count):
        prompts = [pool["prompts"][place] for place in drawn[number * each : (number + 1) * each]]
        inputs = folder / str(number) / "private" / "inputs"
        inputs.mkdir()
        (inputs / "prompts.json").write_text(
            json.dumps(asked | {"prompts": prompts}) + "\n", encoding="utf-8"
        )


def grade(submission: Path, private: Path) -> None:
    asked = json.loads((private / "inputs" / "prompts.json").read_text(encoding="utf-8"))
    model = private.parent / "public" / "model"
    vocabulary = json.loads((model / "config.json").read_text(encoding="utf-8"))["vocab_size"]
    told = read(submission, len(asked["prompts"]), asked["new_tokens"])
    if sentence := QUALITY["flaw"](*told, vocabulary):
        raise SubmissionRefusedError(sentence)
    own = QUALITY["distributions"](model, asked["prompts"], told[0])
    judge(QUALITY["compare"](own, *told))


def judge(quality) -> None:
    most, least = QUALITY["LARGEST_DIVERGENCE"], QUALITY["SMALLEST_AGREEMENT"]
    if not quality.divergence <= most:
        raise SubmissionRefusedError(
            f"The distributions are not the model's: their mean divergence is {quality.divergence:.4f}, and at most "
            f"{most} is allowed; run quality.py to see it for the example prompts."
        )
    if quality.agreement < least:
        raise SubmissionRefusedError(
            f"Only {quality.agreement:.1%} of the tokens are those that the model clearly prefers, and {least:.0%} are "
            "asked; run quality.py to see it for the example prompts."
        )
    if quality.closeness < least:
        raise SubmissionRefusedError(
            f"Only {quality.closeness:.1%} of the tokens are about as likely as the model's own choice, and "
            f"{least:.0%} are asked; run quality.py to see it for the example prompts."
        )


def read(submission: Path, prompts: int, new_tokens: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The tokens, the likely ones and their logarithms of probabilities."""
    forms = {
        "tokens.npy": ((prompts, new_tokens), np.dtype("<i8")),
        "likely.npy": ((prompts, new_tokens, LIKELY), np.dtype("<i8")),
        "logprobs.npy": ((prompts, new_tokens, LIKELY), np.dtype("<f4")),
    }
    found = {file.name for file in submission.iterdir()}
    if forms.keys() - found:
        missing = min(forms.keys() - found)
        raise SubmissionRefusedError(
            f"There is no output {missing}; generate must return tokens, likely and logprobs."
        )
    if found - forms.keys():
        extra = min(found - forms.keys())
        raise SubmissionRefusedError(
            f"There is an output {extra[:40]!r} that nothing asked for; leave it out."
        )
    tokens, likely, logprobs = (_read(submission / name, *form) for name, form in forms.items())
    return tokens, likely, logprobs


def _read(path: Path, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The array in a file that must have exactly this form; nothing of the file is interpreted."""
    form = io.BytesIO()
    np.save(form, np.empty(shape, dtype), allow_pickle=False)
    size = form.getbuffer().nbytes
    header = form.getvalue()[: size - dtype.itemsize * int(np.prod(shape))]
    if not path.is_file():
        raise SubmissionRefusedError(f"{path.name} is not a file; generate must return three arrays.")
    with path.open("rb") as file:
        content = file.read(size + 1)
    if not content.startswith(header):
        described = HEADER.search(content[:512])
        what = (
            f"an array of dtype {described[1].decode('ascii', 'replace')} and shape ({described[3].decode()})"
            if described
            else "not a NumPy array file"
        )
        raise SubmissionRefusedError(
            f"{path.name} is {what}; generate must return {path.stem} of dtype {dtype.str} and shape {shape}."
        )
    if len(content) != size:
        raise SubmissionRefusedError(f"{path.name} has not the {size} bytes of an array of shape {shape}.")
    return np.frombuffer(content, dtype=dtype, offset=len(header)).reshape(shape)
