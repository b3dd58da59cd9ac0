"""Tells a fault of the machine (no disk, no memory, no processes) from a fault of the program that met it.

Standard library only: graders report such faults from the interpreter of their task.
"""

from __future__ import annotations

import errno
import os
import signal

_ERRNOS = frozenset(
    (
        errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE,
        errno.ENOMEM, errno.EAGAIN, errno.EMFILE, errno.ENFILE,
    )
)  # fmt: skip
OUTSIDE_SIGNALS = frozenset((signal.SIGKILL, signal.SIGTERM))
"""What the system and its memory watchers send."""


def describe(error: BaseException) -> str:
    """The machine's fault behind `error`, as the end of a sentence; empty if there is none.

    >>> describe(OSError(errno.ENOSPC, "No space left on device", "/tmp/x"))
    "'/tmp/x' could not be used: No space left on device"
    >>> describe(ValueError("not a number"))
    ''
    """
    if isinstance(error, MemoryError):
        return "there was not enough memory"
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        if isinstance(link, OSError) and link.errno in _ERRNOS:
            reason = os.strerror(link.errno or 0)
            return f"{link.filename!r} could not be used: {reason}" if link.filename else reason
        link = link.__cause__ or link.__context__
    return ""
