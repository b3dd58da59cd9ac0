"""Until when a model was trained, as its maker states it: a dated table that the user can override. What nobody states
is unknown."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from mlagentbench.errors import UsageError
from mlagentbench.model.prices import DATED

_TABLE = Path(__file__).with_name("cutoffs.toml")
_MONTH = re.compile(r"20\d{2}-(0[1-9]|1[0-2])")


class StatedCutoff(BaseModel):
    """A row of the table."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    models: tuple[str, ...]
    """`provider/name`, or a pattern of it. A date at the end of a model's name is ignored."""
    cutoff: str = Field(pattern=_MONTH.pattern)
    """The last month, as YYYY-MM."""
    date: str
    """When it was published or last read there, ISO."""
    source: str


def cutoff_of(model: str, overrides: Mapping[str, str] | None = None) -> str | None:
    """The month up to which `model` (`provider/name`) was trained; what the user said comes first. None: unknown."""
    names = (model, DATED.sub("", model))
    for name in names:
        if overrides and name in overrides:
            return overrides[name]
    for row in cutoffs():
        if any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in row.models):
            return row.cutoff
    return None


@cache
def cutoffs() -> tuple[StatedCutoff, ...]:
    """The stated cut-offs that this package knows."""
    rows = tomllib.loads(_TABLE.read_text("utf-8"))["cutoff"]
    return tuple(StatedCutoff.model_validate(row) for row in rows)


def parse_cutoffs(texts: Iterable[str]) -> dict[str, str]:
    """Overrides as they are given to `--cutoff`: `MODEL=YYYY-MM`; a day after it is ignored."""
    told = {}
    for text in texts:
        model, _, date = text.rpartition("=")
        if not model or not re.fullmatch(rf"{_MONTH.pattern}(-\d\d)?", date):
            raise UsageError(f"{text!r} is not a cut-off; write it like openai/gpt-4.1=2024-06.")
        told[model] = date[:7]
    return told
