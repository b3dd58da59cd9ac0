"""Checks that the outputs of a submitted layer are right. The harness measures how fast they came."""

from __future__ import annotations

import io
import json
import re
import runpy
from pathlib import Path

import numpy as np

from mlagentbench.errors import SubmissionRefusedError

TOLERANCE = 1e-8
HEADER = re.compile(
    rb"\{'descr': '([<>|=\w]{1,8})', 'fortran_order': (True|False), 'shape': \(([0-9, ]{0,99})\), \}"
)


def make_rounds(private: Path, folder: Path, count: int, seed: int) -> None:
    """Cases of the prepared sizes with other numbers, for each round others: all take as long, and none is known."""
    task = runpy.run_path(str(Path(__file__).with_name("prepare.py")))
    rng = np.random.default_rng(seed)
    for number in range(count):
        made = folder / str(number) / "private"
        (made / "expected").mkdir()
        for case in sorted((private / "inputs").iterdir()):
            sizes = [
                np.load(case / f"{name}.npy", mmap_mode="r").shape for name in ("images", "weights", "bias")
            ]
            settings = json.loads((case / "settings.json").read_text(encoding="utf-8"))
            arrays = [rng.normal(size=size) for size in sizes]
            task["write"](made / "inputs" / case.name, *arrays, **settings)
            np.save(made / "expected" / f"{case.name}.npy", task["convolve"](*arrays, **settings))


def grade(submission: Path, private: Path) -> None:
    expected = {file.name: file for file in sorted((private / "expected").iterdir())}
    found = {file.name for file in submission.iterdir()}
    if expected.keys() - found:
        missing = min(expected.keys() - found)
        raise SubmissionRefusedError(f"There is no output {missing}; the layer must be run on every input.")
    if found - expected.keys():
        extra = min(found - expected.keys())
        raise SubmissionRefusedError(
            f"There is an output {extra[:40]!r} that nothing asked for; leave it out."
        )
    for name, file in expected.items():
        right = np.load(file, allow_pickle=False)
        output = _read(submission / name, right)
        with np.errstate(invalid="ignore", over="ignore"):
            wrong = ~(np.abs(output - right) <= TOLERANCE)
        if wrong.any():
            place = tuple(map(int, np.argwhere(wrong)[0]))
            raise SubmissionRefusedError(
                f"{name}: {int(wrong.sum())} of {wrong.size} values are wrong, the first at {place}: "
                f"{float(output[place])!r}; they must agree with the right ones to {TOLERANCE:g}."
            )


def _read(path: Path, right: np.ndarray) -> np.ndarray:
    """The array in a file that must have exactly the form of `right`; nothing of the file is interpreted."""
    form = io.BytesIO()
    np.save(form, np.empty_like(right, order="C"), allow_pickle=False)
    size = form.getbuffer().nbytes
    header = form.getvalue()[: size - right.nbytes]
    if not path.is_file():
        raise SubmissionRefusedError(f"{path.name} is not a file; forward must return an array.")
    with path.open("rb") as file:
        content = file.read(size + 1)
    if not content.startswith(header):
        described = HEADER.search(content[:512])
        what = (
            f"an array of dtype {described[1].decode('ascii', 'replace')} and shape ({described[3].decode()})"
            f"{', stored by columns' if described[2] == b'True' else ''}"
            if described
            else "not a NumPy array file"
        )
        raise SubmissionRefusedError(
            f"{path.name} is {what}; forward must return dtype {right.dtype.str} and shape {right.shape}."
        )
    if len(content) != size:
        raise SubmissionRefusedError(
            f"{path.name} has not the {size} bytes of an array of shape {right.shape}."
        )
    return np.frombuffer(content, dtype=right.dtype, offset=len(header)).reshape(right.shape)
