"""Taking the secrets of one run out of what it writes and shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel

from mlagentbench.model.keys import MASK, SHORTEST

_Said = TypeVar("_Said", bound=BaseModel)


class Redaction:
    """Knows the secrets of a run. Without any, everything stays as it is."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        kept = {secret for secret in secrets if len(secret) >= SHORTEST}
        self._secrets = sorted(kept, key=len, reverse=True)

    def __bool__(self) -> bool:
        return bool(self._secrets)

    def text(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text

    def value(self, value: Any, but: frozenset[str] = frozenset()) -> Any:
        """Lists, objects and texts as JSON has them. Entries that are called as one of `but` stay as they are."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {name: each if name in but else self.value(each, but) for name, each in value.items()}
            case list() | tuple():
                return [self.value(each, but) for each in value]
            case _:
                return value

    def said(self, said: _Said, but: frozenset[str] = frozenset()) -> _Said:
        """A message, an event: anything that has a form."""
        if not self:
            return said
        before = said.model_dump(mode="json")
        after = self.value(before, but)
        return said if after == before else type(said).model_validate(after)

    def stream(self) -> Stream:
        return Stream(self)


class Stream:
    """Bytes as they come. What may be the beginning of a secret is held back until that is certain."""

    def __init__(self, redaction: Redaction) -> None:
        self._secrets = [secret.encode() for secret in redaction._secrets]
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        data, self._held = self._held + chunk, b""
        for secret in self._secrets:
            data = data.replace(secret, MASK.encode())
        held = max((_begun(data, secret) for secret in self._secrets), default=0)
        if held:
            data, self._held = data[:-held], data[-held:]
        return data

    def rest(self) -> bytes:
        """What was held back, when nothing follows it."""
        rest, self._held = self._held, b""
        return rest


def _begun(data: bytes, secret: bytes) -> int:
    """How many bytes at the end of `data` are the beginning of `secret`."""
    lengths = range(min(len(data), len(secret) - 1), 0, -1)
    return next((length for length in lengths if data.endswith(secret[:length])), 0)
