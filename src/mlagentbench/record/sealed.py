"""Files that are derived from a record. Each carries a signature over what it was derived from, so that one which was
changed, or which a stranger made, is not believed: it is made anew."""

from __future__ import annotations

import re
from pathlib import Path

from mlagentbench import bounds
from mlagentbench.errors import RecordError
from mlagentbench.record.files import read_part, write_atomically
from mlagentbench.signing import can_sign, is_signed, sign

_OPENING = re.compile(rb'\{"signature":"([0-9a-f]{64})",')


def write_sealed(file: Path, body: bytes, *basis: bytes) -> None:
    """Keep `body`, an object in JSON, in `file`. `basis` is what it was derived from, and is not kept.
    Without a key nothing is kept, since nobody could believe it."""
    if not can_sign():
        return
    signature = sign(file.name, body, *basis)
    write_atomically(file, b'{"signature":"%b",%b\n' % (signature.encode(), body[1:]))


def read_sealed(file: Path, *basis: bytes) -> bytes | None:
    """The body that was kept; None unless it was derived here, from exactly this `basis`, and never changed since."""
    try:
        data = read_part(file.parent, file.name, bounds.DERIVED)
    except (FileNotFoundError, RecordError):
        return None
    opening = _OPENING.match(data)
    if opening is None:
        return None
    body = b"{" + data[opening.end() :].removesuffix(b"\n")
    return body if is_signed(opening[1].decode(), file.name, body, *basis) else None
