"""What is known of a program that has ended: how, and what it used."""

from __future__ import annotations

import json
import os
import resource
import signal
from dataclasses import dataclass

from mlagentbench.errors import SandboxError
from mlagentbench.sandbox import limits
from mlagentbench.sandbox.launch import Launch
from mlagentbench.sandbox.watcher import Watcher

_HIGHEST_SIGNAL = 64


class SetupFailedError(SandboxError):
    """The walls could not be made. `words` are the backend's own."""

    def __init__(self, words: str) -> None:
        super().__init__(f"The sandbox could not be set up: {words}. Run `mlagentbench doctor`.")
        self.words = words


@dataclass
class Told:
    """What came on the status descriptor: from bubblewrap, or in the same words from the fallback's
    launcher."""

    root: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    peak_memory: int | None = None
    cpu_seconds: float | None = None
    _rest: bytes = b""

    def feed(self, text: bytes) -> None:
        *lines, self._rest = (self._rest + text).split(b"\n")
        for line in lines:
            told = json.loads(line)
            self.root = told.get("child-pid", self.root)
            self.exit_code = told.get("exit-code", self.exit_code)
            self.signal = told.get("signal", self.signal)
            self.peak_memory = told.get("peak-memory", self.peak_memory)
            self.cpu_seconds = told.get("cpu-seconds", self.cpu_seconds)


@dataclass(frozen=True)
class Reaped:
    """What the kernel said of the outer process."""

    status: int
    usage: resource.struct_rusage


def ending(told: Told, reaped: Reaped, launch: Launch) -> tuple[int | None, int | None]:
    """Exit status or signal. bubblewrap and shells tell of a signal as 128 and its number."""
    if told.signal is not None:
        return None, told.signal
    code = told.exit_code
    if code is None:
        if launch.reports:
            return None, signal.SIGKILL
        code = os.waitstatus_to_exitcode(reaped.status)
    if code < 0:
        return None, -code
    if launch.tells_signals_as_status and 128 < code <= 128 + _HIGHEST_SIGNAL:
        return None, code - 128
    return code, None


def cpu_seconds(told: Told, reaped: Reaped, watcher: Watcher) -> float:
    """The kernel forgets the time of processes that die with their namespace; then what was last seen
    counts."""
    waited_for = reaped.usage.ru_utime + reaped.usage.ru_stime
    return max(waited_for if told.cpu_seconds is None else told.cpu_seconds, watcher.cpu_seconds)


def peak_memory(told: Told, reaped: Reaped, watcher: Watcher, own_peak: int) -> int:
    """What was seen of all processes together, or the kernel's figure for the largest if that is more. The
    latter says nothing up to the harness's own peak: for a moment, harness and child were one."""
    if told.peak_memory is not None:
        return max(told.peak_memory, watcher.peak_memory)
    largest = limits.maximum_resident(reaped.usage)
    return max(largest, watcher.peak_memory) if largest > own_peak else watcher.peak_memory
