"""Reads CIFAR-10 as its authors publish it: the pickled batches or the binary ones.

The pickles may come from anybody, so they are read by an unpickler that knows five names, each of which it replaces
by something that can only hold what it is given.
"""

# mypy: ignore-errors
from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

from mlagentbench.errors import PreparationError

PER_BATCH = 10_000
PIXELS = 3 * 32 * 32
TRAIN_BATCHES = [f"data_batch_{index}" for index in range(1, 6)]
TEST_BATCH = "test_batch"
PICKLED, BINARY = "cifar-10-batches-py", "cifar-10-batches-bin"
ADVICE = "take cifar-10-python.tar.gz of https://www.cs.toronto.edu/~kriz/cifar.html as it is"
LARGEST_FILE = 2**26


def batches(source: Path, classes: list[str]) -> dict[str, tuple[np.ndarray, list[int]]]:
    """For "train" and "test" the pictures, as n x 32 x 32 x 3 bytes, and their labels."""
    for name, read, meta, ending in (
        (PICKLED, _pickled, "batches.meta", ""),
        (BINARY, _binary, "batches.meta.txt", ".bin"),
    ):
        for folder in (source / name, source):
            if (folder / meta).exists() or (folder / f"{TEST_BATCH}{ending}").exists():
                return _all_batches(folder, classes, read, meta, ending)
    raise PreparationError(f"{source} has neither a folder {PICKLED} nor {BINARY}; {ADVICE}.")


def _all_batches(folder, classes, read, meta, ending):
    needed = [meta, *(f"{batch}{ending}" for batch in [*TRAIN_BATCHES, TEST_BATCH])]
    missing = [name for name in needed if not (folder / name).is_file()]
    if missing:
        raise PreparationError(f"{folder} lacks {', '.join(missing)}; {ADVICE}.")
    names = _names_of_classes(folder / meta)
    if names != classes:
        raise PreparationError(
            f"{folder / meta} names the classes {', '.join(names)}, not {', '.join(classes)}; {ADVICE}."
        )
    train = [read(folder / f"{batch}{ending}") for batch in TRAIN_BATCHES]
    test = read(folder / f"{TEST_BATCH}{ending}")
    return {
        "train": (
            np.concatenate([pictures for pictures, _ in train]),
            [k for _, part in train for k in part],
        ),
        "test": test,
    }


def _names_of_classes(path: Path) -> list[str]:
    if path.suffix == ".txt":
        return _content(path).decode("ascii", "replace").split()
    names = _field(path, _unpickled(path), "label_names", list)
    return [name.decode("ascii", "replace") if isinstance(name, bytes) else str(name) for name in names]


def _binary(path: Path):
    content = _content(path)
    if len(content) != PER_BATCH * (1 + PIXELS):
        raise PreparationError(
            f"{path} has {len(content)} bytes, not {PER_BATCH * (1 + PIXELS)} for {PER_BATCH} pictures; {ADVICE}."
        )
    records = np.frombuffer(content, np.uint8).reshape(PER_BATCH, 1 + PIXELS)
    return _pictures(records[:, 1:]), _labels(path, records[:, 0].tolist())


def _pickled(path: Path):
    batch = _unpickled(path)
    labels, data = _field(path, batch, "labels", list), _field(path, batch, "data", _Array)
    if len(labels) != PER_BATCH:
        raise PreparationError(f"{path} has {len(labels)} labels, not {PER_BATCH}; {ADVICE}.")
    return _pictures(_values(path, data)), _labels(path, labels)


def _labels(path, labels):
    wrong = [label for label in labels if type(label) is not int or not 0 <= label <= 9]
    if wrong:
        raise PreparationError(f"{path} has the label {wrong[0]!r}, not a number from 0 to 9; {ADVICE}.")
    return labels


def _pictures(rows: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _content(path: Path) -> bytes:
    if path.stat().st_size > LARGEST_FILE:
        raise PreparationError(f"{path} is larger than any part of CIFAR-10; {ADVICE}.")
    return path.read_bytes()


class _Array:
    """Stands for a NumPy array: keeps what it would be made of."""

    state = ()

    def __setstate__(self, state):
        self.state = state


class _Type(_Array):
    """Stands for a NumPy data type."""

    def __init__(self, name=b"", *_):
        self.name = name.decode("ascii", "replace") if isinstance(name, bytes) else name


def _empty_array(*_):
    return _Array()


def _latin(text, encoding="latin1"):
    if not isinstance(text, str) or encoding not in ("latin1", b"latin1"):
        raise pickle.UnpicklingError("it encodes text in an unexpected way")
    return text.encode("latin1")


_KNOWN = {
    ("numpy.core.multiarray", "_reconstruct"): _empty_array,
    ("numpy._core.multiarray", "_reconstruct"): _empty_array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _latin,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module, name):
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which no batch needs")
        return _KNOWN[module, name]

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("it refers to something outside of it")


def _unpickled(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            _content(path)
            batch = _Reader(file, encoding="bytes").load()
    except (
        pickle.UnpicklingError, EOFError, ValueError, TypeError, AttributeError, LookupError, OverflowError,
        MemoryError, RecursionError,
    ) as error:  # fmt: skip
        raise PreparationError(f"{path} cannot be read as a batch ({error}); {ADVICE}.") from None
    if not isinstance(batch, dict):
        raise PreparationError(f"{path} does not hold a dictionary; {ADVICE}.")
    return {key.decode("ascii", "replace") if isinstance(key, bytes) else key: batch[key] for key in batch}


def _field(path, batch, name, kind):
    if name not in batch:
        fields = ", ".join(map(repr, sorted(map(str, batch))))
        raise PreparationError(f"{path} has no field {name!r}, only {fields}; {ADVICE}.")
    if not isinstance(batch[name], kind):
        raise PreparationError(f"{path} has something else than the published kind in {name!r}; {ADVICE}.")
    return batch[name]


def _values(path: Path, array: _Array) -> np.ndarray:
    """The bytes of an array that is what CIFAR-10 holds: a row of unsigned bytes for each picture."""
    try:
        _, shape, kind, by_columns, content = array.state
        right = kind.name in ("u1", "|u1", "uint8") and isinstance(content, bytes)
    except (TypeError, ValueError, AttributeError):
        right, shape = False, None
    if not right:
        raise PreparationError(f"{path} has data that are not an array of bytes; {ADVICE}.")
    if shape != (PER_BATCH, PIXELS) or len(content) != PER_BATCH * PIXELS:
        raise PreparationError(f"{path} has data of the shape {shape}, not {(PER_BATCH, PIXELS)}; {ADVICE}.")
    return np.frombuffer(content, np.uint8).reshape(shape, order="F" if by_columns else "C")
