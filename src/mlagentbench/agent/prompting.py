"""The prompts, which are files beside this one, in our own words."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template

from mlagentbench.environment.actions.registry import all_actions

_FOLDER = Path(__file__).with_name("prompts")


def prompt(template: str, **values: str) -> str:
    """A template with its places filled in; every place must be."""
    return _template(template).substitute(values)


def action_list(actions: Sequence[str]) -> str:
    """Each action with what it does and what it takes, as text protocols tell of them."""
    known = all_actions()
    return "\n\n".join(
        prompt("action", name=name, description=known[name].description, usage=known[name].usage())
        for name in actions
    )


def entry_list(entries: Sequence[str], short: bool, names: Mapping[str, str] | None = None) -> str:
    """Each entry with what it is for, under the name that a protocol gives it."""
    words = _entries()["short" if short else "full"]
    return "\n".join(f"{(names or {}).get(entry, entry)}: {words[entry]}" for entry in entries)


@cache
def _template(name: str) -> Template:
    return Template((_FOLDER / f"{name}.txt").read_text(encoding="utf-8").strip())


@cache
def _entries() -> dict[str, dict[str, str]]:
    return tomllib.loads((_FOLDER / "entries.toml").read_text(encoding="utf-8"))
