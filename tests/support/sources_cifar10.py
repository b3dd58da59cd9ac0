"""CIFAR-10 as its authors publish it, with made-up pictures: the pickled batches and the binary ones."""

from __future__ import annotations

import io
import struct
import tarfile
from pathlib import Path

import numpy as np

CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
BATCHES = [*(f"data_batch_{index}" for index in range(1, 6)), "test_batch"]
PER_BATCH = 10_000
PIXELS = 3072


def batch(name: str, count: int = PER_BATCH) -> tuple[np.ndarray, list[int]]:
    """Rows of bytes, first all red, then green, then blue; and labels. No two pictures are alike."""
    index = np.arange(count)
    labels = (index * 7 + BATCHES.index(name)) % 10
    rows = np.zeros((count, PIXELS), np.uint8)
    rows[:, 0], rows[:, 1], rows[:, 2] = labels, index % 256, index // 256
    rows[:, 1024], rows[:, 2048], rows[:, 3071] = BATCHES.index(name), 100, 200
    return rows, labels.tolist()


def pickled_files(count: int = PER_BATCH) -> dict[str, bytes]:
    """By their names in the archive, as Python 2 pickled them."""
    files = {
        "batches.meta": _pickle(
            {
                b"num_cases_per_batch": _number(count),
                b"label_names": _list(_string(name.encode()) for name in CLASSES),
                b"num_vis": _number(PIXELS),
            }
        )
    }
    for name in BATCHES:
        rows, labels = batch(name, count)
        files[name] = pickled_batch(rows, labels, name)
    return {f"cifar-10-batches-py/{name}": content for name, content in files.items()}


def pickled_batch(rows: np.ndarray, labels: list[int], name: str = "test_batch") -> bytes:
    return _pickle(
        {
            b"batch_label": _string(name.encode()),
            b"labels": _list(map(_number, labels)),
            b"data": _array(rows),
            b"filenames": _list(_string(b"picture_s_%06d.png" % index) for index in range(len(labels))),
        }
    )


def binary_files(count: int = PER_BATCH) -> dict[str, bytes]:
    files = {"batches.meta.txt": "".join(f"{name}\n" for name in CLASSES).encode() + b"\n"}
    for name in BATCHES:
        rows, labels = batch(name, count)
        files[f"{name}.bin"] = np.column_stack([np.array(labels, np.uint8), rows]).tobytes()
    return {f"cifar-10-batches-bin/{name}": content for name, content in files.items()}


def archive(files: dict[str, bytes]) -> bytes:
    """A .tar.gz of them."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=1) as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def unpacked(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def _pickle(fields: dict[bytes, bytes]) -> bytes:
    inside = b"".join(_string(name) + value for name, value in fields.items())
    return b"\x80\x02}(" + inside + b"u."


def _string(text: bytes) -> bytes:
    return b"U" + bytes([len(text)]) + text if len(text) < 256 else b"T" + struct.pack("<i", len(text)) + text


def _number(value: int) -> bytes:
    return b"K" + bytes([value]) if 0 <= value < 256 else b"J" + struct.pack("<i", value)


def _list(items: object) -> bytes:
    return b"](" + b"".join(items) + b"e"  # type: ignore[arg-type]


def _array(values: np.ndarray) -> bytes:
    empty = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\n" + b"K\x00\x85" + _string(b"b") + b"\x87R"
    )
    kind = b"cnumpy\ndtype\n" + _string(b"u1") + b"K\x00K\x01\x87R"
    kind += b"(K\x03" + _string(b"|") + b"NNN" + _number(-1) * 2 + b"K\x00tb"
    shape = _number(values.shape[0]) + _number(values.shape[1]) + b"\x86"
    return empty + b"(K\x01" + shape + kind + b"\x89" + _string(values.tobytes()) + b"tb"
