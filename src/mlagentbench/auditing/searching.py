"""Looks for the hidden answers in the bytes of public files, packed or not."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import re
import struct
import tarfile
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from mlagentbench.task.layout import files_of

MOST_BYTES = 64 * 2**20
"""Of one file, packed or unpacked, that are looked at."""
_DEEPEST = 3
_MOST_MEMBERS = 20_000
_RUN = 64
"""Answers in a row that are looked for; so many are not there by chance."""
_SAMPLE = 60
_FOUND = 0.9
_SEPARATORS = ("\n", "\r\n", ",", ", ", " ", "\t", "", ";", '", "', '","', "', '")
_NOT_PACKED = (
    OSError, EOFError, ValueError, RuntimeError,
    zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError,
)  # fmt: skip
_BETWEEN = rb"[\"']?\s{0,3}[,;:\t =]\s{0,3}[\"']?"


def answers_in_files(public: Path, name: str, answers: Mapping[str, str]) -> tuple[list[str], list[str]]:
    """Public files that hold these answers; and those of which not everything was looked at."""
    needles = list(_needles(list(answers.values())))
    pairs = _pairs(answers)
    found, cut = [], []
    for place, path in sorted(files_of(public).items()):
        whole = path.stat().st_size <= MOST_BYTES
        with path.open("rb") as stream:
            data = stream.read(MOST_BYTES)
        for inner, content in _unpacked(str(place), data, 0):
            if len(content) >= MOST_BYTES:
                whole = False
            if any(needle in content for needle in needles) or _holds(content, pairs):
                found.append(f"{inner} holds {name}")
        if not whole:
            cut.append(str(place))
    return found, cut


def _needles(values: list[str]) -> Iterator[bytes]:
    """The first answers in a row, as text and as arrays and pickles write them."""
    run = values[:_RUN]
    if len(run) < _RUN // 2 or len(set(run)) < 2 or max(map(run.count, set(run))) > _FOUND * len(run):
        return
    for separator in _SEPARATORS:
        text = separator.join(run).encode()
        if len(text) >= _RUN // 2:
            yield text
    kinds = sorted(set(values))
    codes = [[kinds.index(value) for value in run]] if len(kinds) <= 256 else []
    if codes and len(kinds) == 2:
        codes.append([1 - code for code in codes[0]])
    for each in codes:
        for form in ("b", "h", "i", "q", "f", "d"):
            if form not in "b" or max(each) < 128:
                yield struct.pack(f"<{len(each)}{form}", *each)
        yield b"".join(b"K" + bytes([code]) for code in each)
        for separator in ("", ",", ", ", "\n", " "):
            yield separator.join(map(str, each)).encode()
        if len(kinds) == 2:
            yield b"".join(b"\x88" if code else b"\x89" for code in each)
            bits = "".join(map(str, each))
            yield int(bits, 2).to_bytes((len(bits) + 7) // 8, "big")
            yield int(bits[::-1], 2).to_bytes((len(bits) + 7) // 8, "little")
    try:
        numbers = [float(value) for value in run]
    except ValueError:
        return
    yield struct.pack(f"<{len(run)}f", *numbers)
    yield struct.pack(f"<{len(run)}d", *numbers)
    yield b"".join(b"G" + struct.pack(">d", number) for number in numbers)


def _pairs(answers: Mapping[str, str]) -> list[tuple[bytes, re.Pattern[bytes]]]:
    """An id with its answer behind it, for some rows of every answer."""
    by_answer: dict[str, list[str]] = defaultdict(list)
    for row, value in answers.items():
        by_answer[value].append(row)
    if len(by_answer) < 2:
        return []
    each = max(1, _SAMPLE // len(by_answer))
    rows = [(row, value) for value, ids in by_answer.items() for row in ids[:each]][: 4 * _SAMPLE]
    return [
        (
            row.encode(),
            re.compile(
                rb"(?<!\w)" + re.escape(row.encode()) + _BETWEEN + re.escape(value.encode()) + rb"(?![\w.])"
            ),
        )
        for row, value in rows
        if row and value
    ]


def _holds(content: bytes, pairs: list[tuple[bytes, re.Pattern[bytes]]]) -> bool:
    """Most of the rows; it stops looking when too many are missing."""
    missing = 0
    for row, pair in pairs:
        if row not in content or pair.search(content) is None:
            missing += 1
            if missing > (1 - _FOUND) * len(pairs):
                return False
    return bool(pairs)


def _unpacked(name: str, data: bytes, depth: int) -> Iterator[tuple[str, bytes]]:
    """The bytes themselves, and what is packed in them, and in that."""
    yield name, data
    if depth == _DEEPEST:
        return
    for inner, content in _members(data):
        yield from _unpacked(f"{name} ({inner})", content, depth + 1)


def _members(data: bytes) -> Iterator[tuple[str, bytes]]:
    try:
        if data[:2] == b"\x1f\x8b":
            yield "unpacked", _read(gzip.GzipFile, data)
        elif data[:3] == b"BZh":
            yield "unpacked", _read(bz2.BZ2File, data)
        elif data[:6] == b"\xfd7zXZ\x00" or data[:3] == b"\x5d\x00\x00":
            yield "unpacked", _read(lzma.LZMAFile, data)
        elif data[:1] == b"\x78":
            yield "unpacked", zlib.decompressobj().decompress(data, MOST_BYTES)
        elif data[:4] == b"PK\x03\x04":
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                left = MOST_BYTES
                for member in archive.infolist()[:_MOST_MEMBERS]:
                    if left > 0 and not member.is_dir():
                        with archive.open(member) as stream:
                            content = stream.read(left)
                        left -= len(content)
                        yield member.filename, content
        elif data[257:262] == b"ustar":
            with tarfile.open(fileobj=io.BytesIO(data)) as archive_of_tape:
                for number, part in enumerate(archive_of_tape):
                    stream_of_part = archive_of_tape.extractfile(part)
                    if number < _MOST_MEMBERS and stream_of_part is not None:
                        yield part.name, stream_of_part.read(MOST_BYTES)
    except _NOT_PACKED:
        return  # it only looks packed, or is cut: its bytes were looked at as they are


def _read(opening: Callable[..., gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile], data: bytes) -> bytes:
    packed = io.BytesIO(data)
    with opening(fileobj=packed) if opening is gzip.GzipFile else opening(packed) as stream:
        return stream.read(MOST_BYTES)
