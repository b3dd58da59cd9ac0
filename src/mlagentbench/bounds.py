"""How much is read of what strangers may have made: packs, records, snapshots. Real runs stay far below."""

from __future__ import annotations

import os
from dataclasses import dataclass

from mlagentbench.errors import RecordError, UsageError
from mlagentbench.units import format_size

VARIABLE = "MLAGENTBENCH_BOUNDS"
"""Multiplies every bound, where somebody has a larger run that they trust."""


@dataclass(frozen=True)
class Bound:
    """The most of one thing. `least` holds whatever the environment says, so that small things can always be read."""

    what: str
    most: int
    least: int = 1
    counts_bytes: bool = True

    def value(self) -> int:
        return max(self.least, int(self.most * _factor()))

    def check(self, amount: int, where: object) -> None:
        """Raises RecordError if `amount` is beyond the bound."""
        if amount > (most := self.value()):
            raise RecordError(f"{where} is refused: {self.sentence(most)}")

    def sentence(self, most: int | None = None) -> str:
        most = self.value() if most is None else most
        shown = format_size(most) if self.counts_bytes else f"{most:,}"
        return f"{self.what} exceeds {shown}. If you trust it, raise all bounds with {VARIABLE}=10 and try again."


REQUEST = Bound("run.json", 16 * 2**20, least=2**20)
DERIVED = Bound("a file beside the record", 256 * 2**20, least=2**20)
"""grades.json, annotations.json, summary.json, evaluation.json, signature.json."""
RECORD = Bound("events.jsonl", 2**30, least=2**16)
LINE = Bound("a line of events.jsonl", 64 * 2**20, least=2**14)
OUTPUT = Bound("an output", 256 * 2**20, least=2**16)
QUESTION = Bound("what a model was asked", 256 * 2**20, least=2**16)
TREE = Bound("the list of a folder in a snapshot", 256 * 2**20, least=2**16)
ENTRIES = Bound("the number of files and folders in a snapshot", 2_000_000, least=100, counts_bytes=False)
EXPANDED = Bound("the size of a snapshot", 256 * 2**30, least=2**20)
PACK = Bound("the size of the unpacked run", 64 * 2**30, least=2**20)
PACK_ENTRIES = Bound("the number of files in the pack", 2_000_000, least=100, counts_bytes=False)
PACK_HEADER = Bound("a header in the pack", 2**20, least=2**20)


def _factor() -> float:
    text = os.environ.get(VARIABLE, "1")
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 0 < factor < 1e6:
        raise UsageError(f"{VARIABLE} is {text!r}. Set it to a positive number, such as 10, or leave it out.")
    return factor
