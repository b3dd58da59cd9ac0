"""Measure what docs/process.md says of the rules, and write it there: how often claims are judged rightly, and which
planted failures are found as what they are.

    python tools/process_tables.py
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.labelled import measured_table  # noqa: E402 - after the path
from support.planted import PLANTED, confusion, found  # noqa: E402
from support.tasks import shared_task  # noqa: E402

DOCS = ROOT / "docs" / "process.md"


def put(text: str, name: str, table: str) -> str:
    """The page with a table between its marks."""
    marks = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    assert marks.search(text), f"{DOCS} has no place for {name}"
    return marks.sub(lambda found: f"{found[1]}{table}\n{found[2]}", text)


def planted_table() -> str:
    cache = Path(os.environ.setdefault("MLAGENTBENCH_CACHE", str(ROOT / ".cache" / f"tests-{os.getuid()}")))
    task = shared_task(cache / "tasks")
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        for number, each in enumerate(PLANTED):
            failure = found(each, task, Path(folder) / str(number) / "runs")
            pairs.append((each.mode, failure.mode))
            if failure.mode != each.mode:
                print(f"{each.name}: planted {each.mode}, found {failure.mode}. {failure.evidence}")
    return confusion(pairs)


def main() -> None:
    text = DOCS.read_text(encoding="utf-8")
    text = put(text, "claims", measured_table())
    text = put(text, "failures", planted_table())
    DOCS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
