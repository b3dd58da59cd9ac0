"""The book of recipes: which experiments there are, in their order. It is a file beside this one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

_FOLDER = Path(__file__).parent
SHARED = "recipe_data.py"
"""What the scripts of families import."""
LOOK = "recipe_look.py"


class _Entry(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Family(_Entry):
    """A form of data, and what is tried on it."""

    name: str
    files: tuple[str, ...]
    """Patterns; data are of this form where each finds a file."""
    experiments: tuple[dict[str, Any], ...]
    """Constants of the family's script, each upon the best so far."""

    @property
    def script(self) -> str:
        return script(f"{self.name}.py")

    def suits(self, files: Iterable[str]) -> bool:
        there = list(files)
        return all(any(fnmatchcase(file, pattern) for file in there) for pattern in self.files)


class Swap(_Entry):
    """An estimator in the place of others."""

    about: str
    of: tuple[str, ...]
    imports: str = Field(alias="import")
    code: str


class Network(_Entry):
    """A network in the place of a single layer."""

    about: str
    layer: str
    learning_rate: float
    """At most, since what suits a single layer is often too much for several."""
    code: str


class Turn(_Entry):
    """Numbers of these names, and what they are multiplied by."""

    names: str
    factors: tuple[float, ...]

    def means(self, name: str) -> bool:
        return re.fullmatch(self.names, name, re.IGNORECASE) is not None


class Book(_Entry):
    families: tuple[Family, ...] = Field(alias="family")
    swaps: tuple[Swap, ...] = Field(alias="swap")
    networks: tuple[Network, ...] = Field(alias="network")
    turns: tuple[Turn, ...] = Field(alias="knob")


@cache
def book() -> Book:
    return Book.model_validate(tomllib.loads((_FOLDER / "recipes.toml").read_text(encoding="utf-8")))


def script(name: str) -> str:
    """A script of the recipe, as it is written into the workspace."""
    return (_FOLDER / "scripts" / name).read_text(encoding="utf-8")
