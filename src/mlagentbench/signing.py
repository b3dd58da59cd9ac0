"""The key of this installation: 32 random bytes that never leave it. What carries its signature was written here."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from functools import lru_cache
from pathlib import Path

from mlagentbench.errors import UsageError
from mlagentbench.folders import signing_key_file

_SIZE = 32


def sign(purpose: str, *parts: bytes) -> str:
    """A signature over `parts`, good for `purpose` alone. Raises UsageError where no key can be kept."""
    file = signing_key_file()
    key = _key(file)
    if not key:
        raise UsageError(
            f"{file} cannot be read or created, and without this key nobody could tell which runs were made here. "
            "Set MLAGENTBENCH_SIGNING_KEY to a file that you can write."
        )
    return _signature(key, purpose, parts)


def is_signed(signature: str, purpose: str, *parts: bytes) -> bool:
    """Whether this installation signed exactly these `parts` for this `purpose`."""
    key = _key(signing_key_file())
    return bool(key) and hmac.compare_digest(_signature(key, purpose, parts).encode(), signature.encode())


def can_sign() -> bool:
    """Whether this installation has a key, or can have one."""
    return bool(_key(signing_key_file()))


def _signature(key: bytes, purpose: str, parts: tuple[bytes, ...]) -> str:
    message = b"".join((purpose.encode(), b"\0", *(hashlib.sha256(part).digest() for part in parts)))
    return hmac.new(key, message, hashlib.sha256).hexdigest()


@lru_cache(maxsize=8)
def _known(file: Path) -> list[bytes]:
    """Holds the key once it was read."""
    return []


def _key(file: Path) -> bytes:
    known = _known(file)
    if not known and (key := _read(file) or _create(file)):
        known.append(key)
    return known[0] if known else b""


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            key = stream.read(_SIZE + 1)
    except OSError:
        return b""
    if len(key) != _SIZE:
        raise UsageError(
            f"{file} is no signing key: it must hold {_SIZE} bytes. Remove it, and another one is created. "
            "Runs that were signed with the old one then count as foreign."
        )
    return key


def _create(file: Path) -> bytes:
    """Of several processes that do this at once, one wins, and all use its key."""
    aside = file.with_name(f".{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, secrets.token_bytes(_SIZE))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(aside, file)
        except FileExistsError:
            pass
        finally:
            aside.unlink()
    except OSError:
        return b""
    return _read(file)
