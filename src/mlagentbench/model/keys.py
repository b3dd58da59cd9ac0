"""Keys: found in the environment or in `.env` of the current folder, and kept out of everything that is shown."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mlagentbench.model.errors import BadCredentialsError

_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*")
_IN_A_URL = re.compile(r"(?i)([?&](?:api_?)?key=)[^&\s'\"]+|(//)[^/@\s]+@")
MASK = "[key removed]"
NAMED_AS_KEYS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
SHORTEST = 6
"""Shorter texts are no keys; removing them would remove words."""

_seen: set[str] = set()


class Key:
    """A secret that shows itself only to who asks for `value`."""

    def __init__(self, value: str) -> None:
        self._value = value
        if len(value) >= SHORTEST:
            _seen.add(value)

    @property
    def value(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return "Key(…)"

    def __reduce__(self) -> str:
        raise TypeError("A key is not written anywhere.")


def find_key(*variables: str) -> Key | None:
    """The first of these variables that is set, in the environment before `.env`."""
    written = read_env_file(Path(".env"))
    for source in (os.environ, written):
        for variable in variables:
            if value := source.get(variable, "").strip():
                return Key(value)
    return None


def need_key(provider: str, *variables: str) -> Key:
    """As `find_key`; without one, an error that says what to set."""
    if key := find_key(*variables):
        return key
    raise BadCredentialsError(
        f"There is no key for {provider}: set {' or '.join(variables)} in the environment or in a file .env in this "
        "folder."
    )


def remember_keys() -> None:
    """For a library that finds its keys by itself: whatever is called a key here is one."""
    for source in (os.environ, read_env_file(Path(".env"))):
        for variable, value in source.items():
            if variable.upper().endswith(NAMED_AS_KEYS):
                Key(value.strip())


def read_env_file(path: Path) -> dict[str, str]:
    """The assignments in a `.env` file: `NAME=value`, with or without `export` and quotes; no file, none."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    found = {}
    for line in lines:
        if not line.lstrip().startswith("#") and (match := _ASSIGNMENT.fullmatch(line)):
            found[match[1]] = _unquoted(match[2])
    return found


def without_keys(text: str) -> str:
    """`text` without any key that this process has used."""
    for secret in sorted(_seen, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def redact(text: str) -> str:
    """`text` without any key that this process has used, nor what stands where a URL carries one."""
    return _IN_A_URL.sub(
        lambda match: f"{match[1] or match[2]}{MASK}" + ("@" if match[2] else ""), without_keys(text)
    )


def _unquoted(value: str) -> str:
    if len(value) >= 2 and value[0] in "'\"":
        end = value.find(value[0], 1)
        if end > 0:
            return value[1:end]
    return re.split(r"\s+#", value, maxsplit=1)[0]
