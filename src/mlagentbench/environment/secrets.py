"""Secrets: a program that is the agent gets them by the names of variables, and what is written down holds none."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

from mlagentbench.errors import UsageError
from mlagentbench.model.keys import NAMED_AS_KEYS, find_key

NAME = re.compile(r"[A-Za-z_]\w*")
_NAMED_SO = r"(?:api[-_]?key|access[-_]?key|secret(?:[-_]?key)?|token|password|passwd|credentials?)"
_VALUE = r"""["']?(?![$\d.]+(?:["'\s]|$))(?![$<{*/.~-])[^\s"';|&]{6,}"""
"""Of a secret: no variable of the shell, no number, no path, and not the next option."""
_SHAPES = re.compile(
    r"\bsk-[\w-]{16,}|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}"
    r"|\bhf_[A-Za-z0-9]{20,}|\bxox[abprs]-[\w-]{10,}|\bAIza[\w-]{30,}|\bgsk_\w{20,}|\br8_\w{20,}"
    r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_IN_A_LINE = re.compile(
    rf"(?i)(?P<option>--?[\w-]*{_NAMED_SO})(?:=|\s+){_VALUE}"
    rf"|(?P<variable>\b(?:\w*_)?(?:(?:api)?key|token|secret|password|passwd))={_VALUE}"
    rf"|(?P<header>\b(?:bearer|x-api-key:|api-key:)\s+){_VALUE}"
)
_IN_AN_ADDRESS = re.compile(r"//[^/@\s:]+:[^/@\s]+@|[?&](?:api_?)?key=[^&\s]+", re.IGNORECASE)
_ENTRY = re.compile(rf"(?i)(?:.*[_-])?{_NAMED_SO}")


def values_of(names: Iterable[str]) -> dict[str, str]:
    """The variables that a program is to get, with their values, which are from now on kept out of all that is written.

    They are looked up in the environment, then in `.env`; one that is not set is refused.
    """
    found = {name: find_key(name) for name in names}
    if missing := [name for name, key in found.items() if key is None]:
        several = len(missing) > 1
        raise UsageError(
            f"The agent's program is to get the variable{'s' * several} {', '.join(missing)}, and "
            f"{'they are' if several else 'it is'} not set. A value is never kept, so set it in the environment or in "
            "a file .env in this folder each time that the run is started or resumed."
        )
    return {name: key.value for name, key in found.items() if key is not None}


def refuse_secrets(settings: Mapping[str, Any], options: Mapping[str, Any], base_url: str) -> None:
    """Raises UsageError where something that goes into the record seems to hold a secret."""
    for name, value in settings.items():
        if found := _secret_in(name, value):
            what = f"--{name}" if name == "command" else f"The setting {name!r}"
            last = found.rpartition(" ")[2]
            variable = last if NAME.fullmatch(last) and last.isupper() else "NAME"
            advice = (
                f"Put it into an environment variable, pass that with --env {variable}, and write ${variable} in the "
                "command."
                if name == "command"
                else "Let the agent read it from the environment."
            )
            raise UsageError(
                f"{what} seems to hold a secret ({_where(found)}), and would be kept in the run's record. {advice}"
            )
    for name, value in options.items():
        if found := _secret_in(name, value):
            raise UsageError(
                f"The model option {name!r} seems to hold a secret ({_where(found)}), and would be kept in the run's "
                "record. Set the provider's variable in the environment or in .env instead; docs/models.md names it."
            )
    if _IN_AN_ADDRESS.search(base_url):
        raise UsageError(
            "The base URL holds a user's password or a key, and would be kept in the run's record. Give the address "
            "alone, and set the provider's variable in the environment or in .env; docs/models.md names it."
        )


def _where(found: str) -> str:
    return found if " " in found else f"after {found}"


def _secret_in(name: str, value: Any) -> str:
    """What gives a secret away in a value of this name; empty where nothing does."""
    if isinstance(value, Mapping):
        return next((found for key, each in value.items() if (found := _secret_in(str(key), each))), "")
    if isinstance(value, list | tuple):
        return next((found for each in value if (found := _secret_in("", each))), "")
    if not isinstance(value, str):
        return ""
    for variable, known in os.environ.items():
        is_key = variable.upper().endswith(NAMED_AS_KEYS) and len(known) >= 8 and not known.islower()
        if is_key and known in value:
            return f"the value of {variable}"
    if match := _IN_A_LINE.search(value):
        return next(word for word in match.groups() if word).strip()
    if _SHAPES.search(value):
        return "what looks like a key"
    if _IN_AN_ADDRESS.search(value):
        return "what stands in an address"
    return name if _ENTRY.fullmatch(name) and re.fullmatch(_VALUE, value) else ""
