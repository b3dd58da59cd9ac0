"""Descriptors that tell of the end of a process."""

from __future__ import annotations

import os
import select
from contextlib import ExitStack


def open_pidfd(pid: int, stack: ExitStack) -> int | None:
    """A descriptor that becomes readable when the process ends; None on systems without."""
    if not hasattr(os, "pidfd_open"):
        return None
    descriptor = os.pidfd_open(pid)
    stack.callback(os.close, descriptor)
    return descriptor


def wait_readable(descriptor: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(int(seconds * 1000)))
