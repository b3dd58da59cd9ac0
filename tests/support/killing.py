"""Runs that are killed: in a process group of their own, which says what it acknowledged and dies when told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

_CHILD = Path(__file__).with_name("victim.py")
MARK = "MLAGENTBENCH_TEST_MARK"


@dataclass
class Victim:
    """One process that makes or resumes a run, in its own session."""

    process: subprocess.Popen[bytes]
    acknowledged: list[str] = field(default_factory=list)

    def kill_after(self, seconds: float) -> bool:
        """SIGKILL to the whole group at that instant; False if it had ended by itself before."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        ended_itself = self.process.poll() == 0
        self._end()
        return not ended_itself

    def finish(self, seconds: float = 120.0) -> int:
        """Let it come to its end, by its own hand or naturally."""
        try:
            self.process.wait(seconds)
        finally:
            self._end()
        return self.process.returncode

    def _end(self) -> None:
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        assert self.process.stdout is not None
        self.acknowledged += self.process.stdout.read().decode().splitlines()
        self.process.stdout.close()
        self.process.wait()

    def said(self, word: str) -> list[str]:
        return [line.partition(" ")[2] for line in self.acknowledged if line.startswith(f"{word} ")]


def start(mark: str, *arguments: str | Path, die: str = "", errors: Path) -> Victim:
    """Start the victim; `die` names the point at which it kills its own group, `errors` gets what it complains of."""
    environment = {**os.environ, MARK: mark, "VICTIM_DIES": die}
    with errors.open("ab") as stream:
        process = subprocess.Popen(
            [sys.executable, str(_CHILD), *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stream,
            env=environment,
            start_new_session=True,
        )
    return Victim(process)


def processes_marked(mark: str) -> list[str]:
    """Command lines of all processes that come from a victim: the mark is in their arguments or environment, or, in a
    sandbox, where these are bare, in what is mounted for them or in their folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            traces = [_read(entry / name) for name in ("cmdline", "environ", "mountinfo", "cwd")]
            if any(mark.encode() in trace for trace in traces):
                found.append(traces[0].replace(b"\0", b" ").decode(errors="replace"))
    return found


def _read(trace: Path) -> bytes:
    """What can be read of it: a process may be gone meanwhile, or hide a part of itself."""
    try:
        return os.fsencode(trace.readlink()) if trace.name == "cwd" else trace.read_bytes()
    except OSError:
        return b""


def wait_until_gone(mark: str, seconds: float = 10.0) -> list[str]:
    """What is still there after a while: the kernel needs a moment to take a killed tree down."""
    deadline = time.monotonic() + seconds
    while (left := processes_marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left
