"""One folder on disk, and what is found missing or damaged in it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mlagentbench.errors import PathRefusedError
from mlagentbench.workspace.reading import LISTING_FLAGS, open_beneath, read_file, status_of

MOST_NAMES = 100_000
"""Entries of one folder that are looked at."""
MOST_BYTES = 512 * 2**20
"""Of all logs and traces of one run; files of workspaces are not counted."""
_DEEPEST = 20
_LARGEST_NUMBER = 2**63


@dataclass
class Findings:
    """What a reader of the folder should know, a sentence each."""

    missing: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)


class OldFolder:
    """A folder, open for reading. Its own path is trusted, what lies below is not."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.findings = Findings()
        self._left = MOST_BYTES
        self.descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    @property
    def changed(self) -> float:
        """When something was last put into it or taken out."""
        return os.fstat(self.descriptor).st_mtime

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.descriptor)

    def read(self, path: str, limit: int) -> bytes | None:
        """The bytes of a file; None where there is none, or where it cannot be read, which is told."""
        try:
            if status_of(self.descriptor, path) is None:
                return None
            data = read_file(self.descriptor, path, min(limit, self._left))
            self._left -= len(data)
            return data
        except PathRefusedError as refusal:
            self.findings.damaged.append(str(refusal))
        except OSError as error:
            self.findings.damaged.append(f"{path} cannot be read: {error.strerror}.")
        return None

    def text(self, path: str, limit: int) -> str | None:
        """The same as text, to be cleaned before it is kept: bytes that are no UTF-8 are surrogates in it, and told."""
        data = self.read(path, limit)
        if data is None:
            return None
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            self.findings.damaged.append(
                f"{path} is not UTF-8 from byte {error.start} on; such bytes are escaped."
            )
            return data.decode("utf-8", "surrogateescape")

    def modified(self, path: str) -> float | None:
        """When a file was last written."""
        try:
            status = status_of(self.descriptor, path)
        except (PathRefusedError, OSError):
            return None
        return status.st_mtime if status and stat.S_ISREG(status.st_mode) else None

    def names(self, path: str) -> list[str]:
        """What lies in a folder, sorted; nothing where it is missing or no folder."""
        try:
            if status_of(self.descriptor, path) is None:
                return []
            descriptor = open_beneath(self.descriptor, tuple(path.split("/")), LISTING_FLAGS)
        except PathRefusedError as refusal:
            self.findings.damaged.append(str(refusal))
            return []
        try:
            with os.scandir(descriptor) as listing:
                found = [entry.name for entry, _ in zip(listing, range(MOST_NAMES + 1), strict=False)]
        finally:
            os.close(descriptor)
        if len(found) > MOST_NAMES:
            self.findings.damaged.append(
                f"{path} has more than {MOST_NAMES:,} entries; the rest is not looked at."
            )
        return sorted(found[:MOST_NAMES])


def clean(text: str) -> str:
    """Text that can be written as UTF-8, with the rest escaped."""
    return text.encode("utf-8", "backslashreplace").decode()


def plain(value: Any, depth: int = 0) -> Any:
    """A value out of somebody's JSON as a record can keep it."""
    if isinstance(value, str):
        return clean(value)
    if depth == _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {clean(str(name)): plain(each, depth + 1) for name, each in value.items()}
    if isinstance(value, list):
        return [plain(each, depth + 1) for each in value]
    if type(value) is int and abs(value) >= _LARGEST_NUMBER:
        return f"a number of {len(hex(value)) - 2} hexadecimal digits"
    return value
