"""Copying file contents between descriptors: by sharing blocks where the file system can, and hashing on the
way."""

from __future__ import annotations

import fcntl
import hashlib
import os

from mlagentbench.workspace.durable import write_all

CHUNK = 2**20

_FICLONE = 0x40049409
_ZEROS = bytes(CHUNK)


def hash_of(source: int) -> tuple[str, int]:
    """The sha256 and the number of the remaining bytes of `source`."""
    digest, size = hashlib.sha256(), 0
    buffer = memoryview(bytearray(CHUNK))
    while count := os.readv(source, [buffer]):
        digest.update(buffer[:count])
        size += count
    return digest.hexdigest(), size


def copy_and_hash(source: int, destination: int) -> tuple[str, int]:
    """Copy the rest of `source` to the empty file `destination`; the sha256 and the number of the bytes.

    Runs of zeros become holes, so that a sparse file stays one.
    """
    digest, size = hashlib.sha256(), 0
    buffer = memoryview(bytearray(CHUNK))
    while count := os.readv(source, [buffer]):
        piece = buffer[:count]
        digest.update(piece)
        size += count
        if piece[0] == 0 and bytes(piece) == _ZEROS[:count]:
            os.lseek(destination, count, os.SEEK_CUR)
        else:
            write_all(destination, piece)
    os.ftruncate(destination, size)
    return digest.hexdigest(), size


def try_reflink(source: int, destination: int) -> bool:
    """Let `destination` share the blocks of `source`, where the file system can do that."""
    try:
        fcntl.ioctl(destination, _FICLONE, source)
    except OSError:
        return False
    return True
