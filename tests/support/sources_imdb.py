"""Made-up reviews and a model's files as the Hugging Face hub has them: Parquet beside JSON and text.

The harness has nothing that writes Parquet, so an interpreter with pyarrow does, which is made once and kept.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from mlagentbench.task.interpreter import interpreter_for

ROWS = 40
SIZES = {"FULL_ROWS": ROWS}
"""What prepare.py must take for the size of each published part."""
PARQUET = "pyarrow==21.0.0"
MODEL = "distilbert-base-uncased"

_WRITER = """
import json, sys
import pyarrow as pa
import pyarrow.parquet as pq
for file, names, columns in json.load(sys.stdin):
    pq.write_table(pa.table(columns, names=names), file, compression="snappy")
"""


def python_with_parquet() -> str:
    return str(interpreter_for([PARQUET]).python)


def write_parquet(tables: dict[Path, dict[str, list[object]]]) -> None:
    """Columns by name, in order, into Parquet files."""
    for file in tables:
        file.parent.mkdir(parents=True, exist_ok=True)
    request = [[str(file), list(table), list(table.values())] for file, table in tables.items()]
    subprocess.run(
        [python_with_parquet(), "-c", _WRITER], input=json.dumps(request), text=True, check=True, timeout=600
    )


def reviews(part: str, rows: int = ROWS) -> dict[str, list[object]]:
    """In the published order, all blame first; one text is there twice."""
    texts = [
        f'The {part} film {number // 2 * 2 if number < 2 else number}, "they say".<br />Fine.'
        for number in range(rows)
    ]
    return {"text": [*texts], "label": [int(number >= rows // 2) for number in range(rows)]}


def parts(folder: Path) -> dict[str, Path]:
    return {part: folder / "plain_text" / f"{part}-00000-of-00001.parquet" for part in ("train", "test")}


def publish_model(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "distilbert", "dim": 768}))
    (folder / "model.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).write_text("{}")
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n")


def publish(folder: Path, rows: int = ROWS) -> Path:
    """`folder`, which afterwards holds what both repositories hold."""
    write_parquet({file: reviews(part, rows) for part, file in parts(folder).items()})
    publish_model(folder / MODEL)
    return folder
