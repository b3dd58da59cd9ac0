"""Reads submitted tables: any bytes whatsoever become rows by id, or a sentence that says what is wrong.

Standard library only, because graders run on the interpreter of their task, which lacks this package's
dependencies.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from mlagentbench.errors import SubmissionRefusedError

T = TypeVar("T")

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 400
_BLANKS = " \t"


def number(low: float = -math.inf, high: float = math.inf) -> Callable[[str], float]:
    """A column of finite numbers from `low` to `high`.

    >>> number(low=0)(" 12.5e1 ")
    125.0
    """

    def parse(text: str) -> float:
        digits = text.strip(_BLANKS)
        if not digits:
            raise ValueError("is empty; write a number")
        if len(digits) > _LONGEST_NUMBER:
            raise ValueError(f"has {len(digits)} characters; write a number, if need be as 1.25e10")
        if not _NUMBER.fullmatch(digits):
            raise ValueError(f"is {_shown(text)}; write a finite number such as 12.5 or 1.25e1")
        value = float(digits)
        if not math.isfinite(value):
            raise ValueError(f"is {_shown(text)}, too large for a 64-bit float; write a finite number")
        if not low <= value <= high:
            raise ValueError(f"is {_shown(text)}; write a number from {low:g} to {high:g}")
        return value

    return parse


def choice(meanings: Mapping[str, T]) -> Callable[[str], T]:
    """A column that holds one of a few spellings, each with its meaning.

    >>> choice({"True": True, "False": False})("False")
    False
    """
    allowed = _listed(meanings)

    def parse(text: str) -> T:
        spelling = text.strip(_BLANKS)
        if spelling not in meanings:
            raise ValueError(f"is {_shown(text)}; write one of {allowed}")
        return meanings[spelling]

    return parse


def text(longest: int) -> Callable[[str], str]:
    """A column of strings of at most `longest` characters, for graders that parse them further.

    >>> text(longest=20)("1 3 10 5")
    '1 3 10 5'
    """

    def parse(content: str) -> str:
        if len(content) > longest:
            raise ValueError(f"has {len(content)} characters; {longest} are the most that are read")
        return content

    return parse


def read_submission(
    path: Path,
    id_column: str,
    columns: Mapping[str, Callable[[str], T]],
    expected_ids: Iterable[str],
    *,
    most_bytes: int = 16 * 2**20,
) -> dict[str, dict[str, T]]:
    """The values of a submitted CSV file by id and column, in the order of `expected_ids`.

    Rows are matched by id, so that their order in the file is irrelevant. `columns` gives each value column
    the function that parses it; that raises ValueError with the end of a sentence that begins with the place.
    Raises SubmissionRefusedError for everything that is not exactly one good row for every expected id.
    """
    wanted = dict.fromkeys(expected_ids)
    (_, header), *rows = _rows(_decoded(path, most_bytes), path.name)
    places = _places([cell.strip(_BLANKS) for cell in header], [id_column, *columns], path.name)
    found: dict[str, dict[str, T]] = {}
    lines: dict[str, int] = {}
    for line, cells in rows:
        if len(cells) != len(header):
            _refuse(
                path.name,
                f"line {line} has {len(cells)} fields where the header has {len(header)}; "
                "write one value for each column",
            )
        row_id = cells[places[id_column]].strip(_BLANKS)
        if row_id not in wanted:
            _refuse(
                path.name,
                f"line {line} has the {id_column} {_shown(row_id)}, which is not in the test set; "
                f"write one row for each of its {len(wanted)} ids and no other",
            )
        if row_id in lines:
            _refuse(
                path.name,
                f"the {id_column} {_shown(row_id)} is on line {lines[row_id]} and again on line {line}; "
                "write each id once",
            )
        lines[row_id] = line
        found[row_id] = {}
        for column, parse in columns.items():
            try:
                found[row_id][column] = parse(cells[places[column]])
            except ValueError as problem:
                _refuse(path.name, f"line {line}, {id_column} {_shown(row_id)}: {column} {problem}")
    if not found:
        _refuse(path.name, "there is a header and no row; write one row for each test id")
    missing = [row_id for row_id in wanted if row_id not in found]
    if missing:
        _refuse(
            path.name,
            f"{len(missing)} of {len(wanted)} ids are missing, among them {_listed(missing)}; "
            "write one row for every id of the test set",
        )
    return {row_id: found[row_id] for row_id in wanted}


def _decoded(path: Path, most_bytes: int) -> str:
    with path.open("rb") as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        _refuse(path.name, f"it is larger than {most_bytes} bytes, more than any good submission")
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        _refuse(path.name, f"line {line} holds a NUL byte; write plain text in UTF-8")
    try:
        decoded = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        _refuse(path.name, f"line {line} is not UTF-8; write the file with encoding='utf-8'")
    if not decoded.strip():
        _refuse(path.name, "it is empty; write a header and one row for every test id")
    return decoded


def _rows(content: str, name: str) -> list[tuple[int, list[str]]]:
    """The rows that are not blank, each with the line that it ends on."""
    rows = []
    before = csv.field_size_limit(len(content) + 1)
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    try:
        for cells in reader:
            if any("\n" in cell or "\r" in cell for cell in cells):
                _refuse(name, f"a value that ends on line {reader.line_num} holds a line break; leave it out")
            if cells:
                rows.append((reader.line_num, cells))
    except csv.Error as error:
        _refuse(
            name, f"line {reader.line_num} is not CSV ({error}); close quotes and put commas between values"
        )
    finally:
        csv.field_size_limit(before)
    return rows


def _places(header: Sequence[str], expected: Sequence[str], name: str) -> dict[str, int]:
    form = f"the header must be {','.join(expected)}"
    twice = [column for column, count in Counter(header).items() if count > 1]
    if twice:
        _refuse(name, f"there is more than one column {_listed(twice)}; {form}")
    missing = [column for column in expected if column not in header]
    if missing:
        _refuse(name, f"there is no column {_listed(missing)}, only {_listed(header)}; {form}")
    extra = [column for column in header if column not in expected]
    if extra:
        hint = " (pandas leaves its index out with to_csv(..., index=False))" if extra == [""] else ""
        _refuse(name, f"there is a column {_listed(extra)} too many{hint}; {form}")
    return {column: header.index(column) for column in expected}


def _refuse(name: str, problem: str) -> NoReturn:
    raise SubmissionRefusedError(f"{name}: {problem}.") from None


def _shown(content: str, longest: int = 40) -> str:
    return repr(content) if len(content) <= longest else f"{content[:longest]!r}… ({len(content)} characters)"


def _listed(items: Iterable[str], most: int = 5) -> str:
    items = list(items)
    shown = ", ".join(map(_shown, items[:most]))
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
