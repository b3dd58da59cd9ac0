"""Runs as other tools read them: tables of runs and steps, and Inspect's logs. One run is in memory at a time."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

from mlagentbench.errors import UsageError
from mlagentbench.record.folder import RunFolder, find_runs
from mlagentbench.record.tables import Row, RunRow, StepRow, cells, column_types, run_row, step_rows

Format = Literal["inspect", "jsonl", "parquet"]
FORMATS: tuple[str, ...] = get_args(Format)
Progress = Callable[[str], None]

_ROWS = 2_000
_CHARACTERS = 32_000_000
"""Of texts: what is gathered of a table before it is written, if it is no more rows than that."""


def export(
    runs: Sequence[str | Path],
    folder: str | Path = "export",
    format: str = "inspect",
    *,
    progress: Progress = lambda line: None,
) -> list[Path]:
    """Write runs, or all runs in folders of runs, into `folder`, and give back the files.

    `inspect` writes one log for each task, agent and model, with the runs as its samples, for `inspect view`; `jsonl`
    and `parquet` write a table of runs and one of steps. A run that cannot be read is in them, with the reason.

    >>> import mlagentbench
    >>> mlagentbench.export(["runs/demo"], "tables", "jsonl")                                  # doctest: +SKIP
    [PosixPath('tables/runs.jsonl'), PosixPath('tables/steps.jsonl')]
    """
    found = find_runs([Path(run) for run in runs])
    if not found:
        raise UsageError(
            f"There are no runs in {', '.join(map(str, runs))}; name a run, or a folder that holds runs."
        )
    target = Path(folder)
    if format == "inspect":
        try:
            from mlagentbench.record.inspect_logs import write_logs
        except ImportError:
            raise UsageError(
                "Writing Inspect's logs needs its package: pip install 'mlagentbench[inspect]'."
            ) from None
        target.mkdir(parents=True, exist_ok=True)
        return write_logs(found, target, progress)
    if format not in _TABLES:
        raise UsageError(f"There is no format {format!r}; there are {', '.join(FORMATS)}.")
    open_table = _TABLES[format]()
    target.mkdir(parents=True, exist_ok=True)
    return _write_tables(found, target, format, open_table)


class Table(Protocol):
    def write(self, row: Row) -> None: ...
    def close(self) -> None: ...


OpenTable = Callable[[Path, type[Row]], Table]


def _write_tables(runs: Iterable[RunFolder], folder: Path, suffix: str, open_table: OpenTable) -> list[Path]:
    files = [folder / f"{name}.{suffix}" for name in ("runs", "steps")]
    with (
        _table(files[0], RunRow, open_table) as run_table,
        _table(files[1], StepRow, open_table) as step_table,
    ):
        for run in runs:
            run_table.write(run_row(run))
            for row in step_rows(run):
                step_table.write(row)
    return files


@contextmanager
def _table(file: Path, kind: type[Row], open_table: OpenTable) -> Iterator[Table]:
    """A table that is at its place once it is whole."""
    with written_aside(file) as aside:
        table = open_table(aside, kind)
        try:
            yield table
        finally:
            table.close()


@contextmanager
def written_aside(file: Path) -> Iterator[Path]:
    """Where to write `file`, which takes its place when that is done, and is as it was where that fails."""
    aside = file.with_name(f".{os.getpid()}-{file.name}")
    try:
        yield aside
        aside.replace(file)
    finally:
        aside.unlink(missing_ok=True)


class _Lines:
    def __init__(self, file: Path, kind: type[Row]) -> None:
        self._stream = file.open("w", encoding="utf-8", newline="\n")

    def write(self, row: Row) -> None:
        self._stream.write(json.dumps(cells(row), allow_nan=False) + "\n")

    def close(self) -> None:
        self._stream.close()


class _Columns:
    """Parquet. Rows are gathered until they are enough for a group of their own."""

    def __init__(self, file: Path, kind: type[Row]) -> None:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]

        types = {
            str: pyarrow.large_string(),
            int: pyarrow.int64(),
            float: pyarrow.float64(),
            bool: pyarrow.bool_(),
        }
        self._schema = pyarrow.schema([(name, types[held]) for name, held in column_types(kind).items()])
        self._from_rows = pyarrow.RecordBatch.from_pylist
        self._writer = pyarrow.parquet.ParquetWriter(file, self._schema, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def write(self, row: Row) -> None:
        values = cells(row)
        self._rows.append(values)
        self._characters += sum(len(value) for value in values.values() if isinstance(value, str))
        if len(self._rows) >= _ROWS or self._characters >= _CHARACTERS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(self._from_rows(self._rows, schema=self._schema))
        self._rows, self._characters = [], 0


def _lines() -> OpenTable:
    return _Lines


def _columns() -> OpenTable:
    try:
        import pyarrow.parquet  # noqa: F401 - told before anything is written
    except ImportError:
        raise UsageError(
            "Writing Parquet needs pyarrow: pip install 'mlagentbench[parquet]'. `--format jsonl` needs nothing."
        ) from None
    return _Columns


_TABLES: dict[str, Callable[[], OpenTable]] = {"jsonl": _lines, "parquet": _columns}
