"""Files of a run folder: written whole or not at all, read up to a bound, and never through a link."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel

from mlagentbench.bounds import Bound
from mlagentbench.errors import RecordError
from mlagentbench.workspace.reading import FILE_FLAGS


def open_part(folder: Path, name: str) -> BinaryIO:
    """The plain file called `name` in `folder`. A record may come from anybody: a name that is a path, a link, a FIFO
    or a device is refused. Raises FileNotFoundError if nothing is there."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise RecordError(f"{name!r} is not the name of a file in {folder}. The record was not written here.")
    try:
        descriptor = os.open(folder / name, FILE_FLAGS)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise RecordError(f"{folder / name} is a link or a socket, not a plain file.") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise RecordError(f"{folder / name} is not a plain file.")
    return os.fdopen(descriptor, "rb")


def read_part(folder: Path, name: str, bound: Bound) -> bytes:
    """All of `name` in `folder`, if that is not beyond `bound`."""
    with open_part(folder, name) as stream:
        bound.check(os.fstat(stream.fileno()).st_size, folder / name)
        data = stream.read(bound.value() + 1)
    bound.check(len(data), folder / name)
    return data


def write_atomically(file: Path, data: bytes) -> None:
    """`file` holds either what it held or all of `data`, whenever it is looked at."""
    aside = file.with_name(f".{file.name}.{os.getpid()}")
    with aside.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())
    aside.rename(file)


def write_model(file: Path, model: BaseModel) -> None:
    write_atomically(file, model.model_dump_json(indent=1).encode() + b"\n")
