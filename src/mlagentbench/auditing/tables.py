"""Submissions made from a good one: the same in another order, worthless ones, and malformed ones."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A submitted table whose first column is the id."""

    header: list[str]
    rows: list[list[str]]

    @classmethod
    def parse(cls, data: bytes) -> Table:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
        return cls(lines[0], [line for line in lines[1:] if line])

    def bytes(self) -> bytes:
        stream = io.StringIO(newline="")
        csv.writer(stream, lineterminator="\n").writerows([self.header, *self.rows])
        return stream.getvalue().encode()


def permuted(table: Table) -> bytes:
    """The same rows in another order: the score must not move."""
    rows = table.rows.copy()
    random.Random(0).shuffle(rows)
    return Table(table.header, rows).bytes()


def worthless(table: Table) -> dict[str, bytes]:
    """Well-formed submissions that know nothing: none may succeed."""
    values = [row[1:] for row in table.rows]
    middle = sorted(values, key=lambda row: [_number(cell) for cell in row])[len(values) // 2]
    shuffled = values.copy()
    random.Random(1).shuffle(shuffled)
    return {
        "constant (the first row's values)": _with_values(table, [values[0]] * len(values)),
        "constant (the middle row's values)": _with_values(table, [middle] * len(values)),
        "random (values dealt to other ids)": _with_values(table, shuffled),
    }


def malformed(table: Table) -> dict[str, bytes]:
    """Each broken in one way: each must be refused, with a message of its own."""
    return {name: breaking(table) for name, breaking in _BREAKINGS.items()}


def _with_values(table: Table, values: list[list[str]]) -> bytes:
    rows = [[row[0], *value] for row, value in zip(table.rows, values, strict=True)]
    return Table(table.header, rows).bytes()


def _first_value(table: Table, text: str) -> bytes:
    first = [table.rows[0][0], text, *table.rows[0][2:]]
    return Table(table.header, [first, *table.rows[1:]]).bytes()


_BREAKINGS: dict[str, Callable[[Table], bytes]] = {
    "an empty file": lambda table: b"",
    "a header and no rows": lambda table: Table(table.header, []).bytes(),
    "bytes that are not text": lambda table: b"\xff\xfe\x00" * 50,
    "a missing column": lambda table: Table(table.header[:-1], [row[:-1] for row in table.rows]).bytes(),
    "a renamed column": lambda table: Table(
        [table.header[0], "other", *table.header[2:]], table.rows
    ).bytes(),
    "a missing row": lambda table: Table(table.header, table.rows[:-1]).bytes(),
    "a row twice": lambda table: Table(table.header, [*table.rows, table.rows[0]]).bytes(),
    "a row with an unknown id": lambda table: Table(
        table.header, [*table.rows, ["no-such-id", *table.rows[0][1:]]]
    ).bytes(),
    "an empty value": lambda table: _first_value(table, ""),
    "a value that cannot be parsed": lambda table: _first_value(table, "rather good"),
    "a value that is not finite": lambda table: _first_value(table, "nan"),
    "a row that is too short": lambda table: Table(
        table.header, [table.rows[0][:1], *table.rows[1:]]
    ).bytes(),
}


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
