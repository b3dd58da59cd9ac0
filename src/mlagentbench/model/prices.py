"""What tokens cost: a dated table that the user can override. A price that is not known is not zero."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from mlagentbench.errors import UsageError
from mlagentbench.model.spec import Usage

_TABLE = Path(__file__).with_name("prices.toml")
DATED = re.compile(r"[-@](?:20\d{2}-\d{2}-\d{2}|20\d{6})$")
_MILLION = 1_000_000


class Price(BaseModel):
    """US dollars for a million tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached: float | None = Field(None, ge=0)
    """Input that was read from the provider's cache; None: as other input."""
    cache_written: float | None = Field(None, ge=0)
    """Input that was put into the provider's cache; None: as other input."""


Overrides = Mapping[str, "Price | tuple[float, ...]"]
"""Prices of the user's own, by `provider/name`; a tuple is input, output and, where known, cached."""


class PublishedPrice(Price):
    """A row of the table."""

    models: tuple[str, ...]
    """`provider/name`, or a pattern of it. A date at the end of a model's name is ignored."""
    above: int = 0
    """Only for calls with more input tokens than this."""
    up_to: int | None = None
    """Only for calls with at most this many input tokens."""
    date: str
    """When it was published or last read there, ISO."""
    source: str


def cost(usage: Usage, model: str, overrides: Overrides | None = None) -> float | None:
    """US dollars of a call of `model` (`provider/name`), or None where its price is not known."""
    price = price_of(model, usage.input, overrides)
    if price is None:
        return None
    plain = max(0, usage.input - usage.cached - usage.cache_written)
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.cache_written is None else price.cache_written
    dollars = (
        plain * price.input
        + usage.cached * cached
        + usage.cache_written * written
        + usage.output * price.output
    )
    return dollars / _MILLION


def price_of(model: str, input_tokens: int = 0, overrides: Overrides | None = None) -> Price | None:
    """The price of a call of `model` with this many input tokens; what the user said comes first."""
    names = (model, DATED.sub("", model))
    for name in names:
        if overrides and name in overrides:
            own = overrides[name]
            return own if isinstance(own, Price) else _from_numbers(own)
    for row in table():
        fits = input_tokens > row.above or row.above == 0
        fits = fits and (row.up_to is None or input_tokens <= row.up_to)
        if fits and any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in row.models):
            return row
    return None


@cache
def table() -> tuple[PublishedPrice, ...]:
    """The published prices that this package knows."""
    rows = tomllib.loads(_TABLE.read_text("utf-8"))["price"]
    return tuple(PublishedPrice.model_validate(row) for row in rows)


def parse_prices(texts: Iterable[str]) -> dict[str, Price]:
    """Overrides as they are given to `--price`: `MODEL=INPUT,OUTPUT[,CACHED]`, US dollars for a million tokens."""
    return dict(map(_parse_price, texts))


def _parse_price(text: str) -> tuple[str, Price]:
    model, _, numbers = text.rpartition("=")
    try:
        values = [float(number) for number in numbers.split(",")]
    except ValueError:
        values = []
    if not model or len(values) not in (2, 3) or any(not 0 <= value < float("inf") for value in values):
        raise UsageError(
            f"{text!r} is not a price; write it like openai/gpt-4.1=2,8,0.5: US dollars for a million input, output "
            "and cached input tokens."
        )
    return model, _from_numbers(values)


def _from_numbers(numbers: Sequence[float]) -> Price:
    return Price(input=numbers[0], output=numbers[1], cached=numbers[2] if len(numbers) > 2 else None)
