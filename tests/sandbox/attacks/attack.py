"""What an attack is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from attacks.scene import Judge

STOPPED = "stopped"

SYSCALL = """
import ctypes, os, platform, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
def call(x86, arm_number, *arguments):
    whole = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return libc.syscall(ctypes.c_long(arm_number if arm else x86), *whole)
"""
"""Put before code that makes system calls by their number."""


@dataclass(frozen=True)
class Attack:
    """`code` is Python; `os` and `sys` are imported. `bwrap` and `landlock` are `stopped`, or `not stopped: ` and
    the reason; `since` is the first version of Landlock for which the latter holds, and `landlock_as_root` what
    happens where the harness is root, if that differs."""

    name: str
    code: str
    judge: Judge
    bwrap: str = STOPPED
    landlock: str = STOPPED
    landlock_as_root: str | None = None
    since: int = 1
    limits: Mapping[str, float] = field(default_factory=dict)
