"""Word perplexity: the exponential of the hidden text's negative log-likelihood over the number of its words."""

from __future__ import annotations

import json
import math
from pathlib import Path

from mlagentbench.errors import SubmissionRefusedError

LARGEST = 100_000
MASS = 1e-6
"""How far the probabilities of all tokens may be from one, in sum."""


def grade(submission: Path, private: Path) -> float:
    words = {
        file.name: len(file.read_text(encoding="utf-8").split())
        for file in (private / "inputs").glob("*.test")
    }
    result = _read(submission)
    if isinstance(result.get("refused"), str) and len(result) == 1:
        sentence = " ".join("".join(c if c.isprintable() else " " for c in result["refused"][:600]).split())
        raise SubmissionRefusedError(sentence or "The model was refused.")
    files = result.get("files")
    if set(result) != {"files", "mass", "context"} or not isinstance(files, dict):
        raise SubmissionRefusedError("result.json has not the fields of a result.")
    if files.keys() != words.keys():
        odd = min(files.keys() ^ words.keys())
        raise SubmissionRefusedError(
            f"result.json has not exactly one entry for each hidden file: {odd[:40]!r} is wrong."
        )
    if not 0 <= _number(result["mass"], "mass") <= MASS:
        raise SubmissionRefusedError(
            f"The probabilities of all tokens do not sum to one, but miss it by {result['mass']}."
        )
    total = 0.0
    for name, entry in files.items():
        if not isinstance(entry, dict) or set(entry) != {"nll", "tokens"} or type(entry["tokens"]) is not int:
            raise SubmissionRefusedError(f"result.json has not the fields nll and tokens for {name}.")
        surprise = _number(entry["nll"], f"nll of {name}")
        if surprise < 0 or entry["tokens"] < 1:
            raise SubmissionRefusedError(f"result.json has numbers below zero for {name}.")
        total += surprise
    try:
        return math.exp(total / sum(words.values()))
    except OverflowError:
        raise SubmissionRefusedError(
            f"The model's word perplexity is larger than any number: {total / sum(words.values()):.3g} nats a word."
        ) from None


def _read(submission: Path) -> dict[str, object]:
    names = sorted(path.name for path in submission.iterdir())
    if names != ["result.json"]:
        raise SubmissionRefusedError(f"The outputs are {names[:3]}, not one file result.json.")
    with (submission / "result.json").open("rb") as file:
        content = file.read(LARGEST + 1)
    try:
        result = json.loads(content.decode("utf-8")) if len(content) <= LARGEST else None
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        raise SubmissionRefusedError("result.json is not a JSON object of a result.")
    return result


def _number(value: object, what: str) -> float:
    if type(value) is not float or not math.isfinite(value):
        raise SubmissionRefusedError(f"The {what} in result.json is {str(value)[:40]}, not a finite number.")
    return float(value)
