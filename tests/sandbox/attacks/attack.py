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

RACE = """
import ctypes, struct, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def race(harmless, wanted, attempt):
    place = ctypes.create_string_buffer(256)
    end = time.monotonic() + 1
    def change():
        while time.monotonic() < end:
            for content in (harmless, wanted):
                ctypes.memmove(place, content + bytes(1), len(content) + 1)
    thread = threading.Thread(target=change)
    thread.start()
    while time.monotonic() < end:
        attempt(place)
    thread.join()
"""
"""Put before code that changes an argument in its memory while the call is under way."""


@dataclass(frozen=True)
class Attack:
    """`code` is Python; `os` and `sys` are imported. `bwrap` and `landlock` are `stopped`, or `not stopped: ` and
    the reason."""

    name: str
    code: str
    judge: Judge
    bwrap: str = STOPPED
    landlock: str = STOPPED
    network: bool = False
    """With the host's network."""
    limits: Mapping[str, float] = field(default_factory=dict)
