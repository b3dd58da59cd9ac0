"""Commands at real terminals: a pseudo-terminal, and tmux."""

from __future__ import annotations

import os
import pty
import secrets
import select
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Protocol

COMMAND = str(Path(sys.executable).with_name("mlagentbench"))
_PATIENCE = 300.0


class Terminal(Protocol):
    """What a person at a terminal does."""

    def wait_for(self, text: str) -> str:
        """Look until `text` stands there, beyond what was waited for before; all that came up to it."""

    def type(self, line: str) -> None:
        """A line and Enter."""

    def interrupt(self) -> None:
        """Ctrl-C."""

    def ended(self) -> int:
        """Wait for the end; the exit status."""

    def kill(self) -> None:
        """SIGKILL to the command and to all that it started in its session."""


class PseudoTerminal:
    def __init__(self, *arguments: object, folder: Path, environment: dict[str, str]) -> None:
        self.said = ""
        self._read_to = 0
        self._main, child = pty.openpty()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WITH_A_TERMINAL, COMMAND, *map(str, arguments)],
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=folder,
            env={**environment, "TERM": "xterm", "COLUMNS": "200"},
            start_new_session=True,
        )
        os.close(child)

    def wait_for(self, text: str) -> str:
        until = time.monotonic() + _PATIENCE
        while (place := self.said.find(text, self._read_to)) < 0:
            assert select.select([self._main], [], [], until - time.monotonic())[0], self.said
            try:
                self.said += os.read(self._main, 65536).decode(errors="replace")
            except OSError:
                raise AssertionError(f"{text!r} was not said:\n{self.said}") from None
        came, self._read_to = self.said[self._read_to : place], place + len(text)
        return came

    def type(self, line: str) -> None:
        os.write(self._main, f"{line}\r".encode())

    def interrupt(self) -> None:
        os.write(self._main, b"\x03")

    def ended(self) -> int:
        until = time.monotonic() + _PATIENCE
        while select.select([self._main], [], [], max(until - time.monotonic(), 0))[0]:
            try:
                self.said += os.read(self._main, 65536).decode(errors="replace")
            except OSError:
                break
        status = self._process.wait(timeout=_PATIENCE)
        os.close(self._main)
        return status

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._main)


_WITH_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Ctrl-C reaches those whose terminal it is."""


class Tmux:
    """A session on a server of its own."""

    def __init__(self, *arguments: object, folder: Path, environment: dict[str, str]) -> None:
        self._socket = f"mlagentbench-{secrets.token_hex(6)}"
        self._folder = folder
        self._status = folder / f".{self._socket}"
        self._read_to = 0
        command = shlex.join([COMMAND, *map(str, arguments)])
        self._run(
            *("-f", "/dev/null", "new-session", "-d", "-x", "220", "-y", "50", "-c", str(folder)),
            # Some shells die of the Ctrl-C that their child took.
            f"trap : INT; {command}; echo $? > {shlex.quote(str(self._status))}; sleep 600",
            environment={**environment, "TERM": "xterm"},
        )
        self._run("set-option", "-g", "history-limit", "10000")

    @staticmethod
    def is_there() -> bool:
        return shutil.which("tmux") is not None

    def _run(self, *words: str, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, *words], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout

    @property
    def said(self) -> str:
        return self._run("capture-pane", "-p", "-J", "-S", "-")

    def wait_for(self, text: str) -> str:
        until = time.monotonic() + _PATIENCE
        while (place := (said := self.said).find(text, self._read_to)) < 0:
            assert time.monotonic() < until, f"{text!r} was not said:\n{said}"
            time.sleep(0.05)
        came, self._read_to = said[self._read_to : place], place + len(text)
        return came

    def type(self, line: str) -> None:
        self._run("send-keys", "-l", line)
        self._run("send-keys", "Enter")

    def interrupt(self) -> None:
        self._run("send-keys", "C-c")

    def ended(self) -> int:
        until = time.monotonic() + _PATIENCE
        while not (self._status.is_file() and self._status.read_text().strip()):
            assert time.monotonic() < until, self.said
            time.sleep(0.05)
        self.close()
        return int(self._status.read_text())

    def kill(self) -> None:
        pane = int(self._run("list-panes", "-F", "#{pane_pid}"))
        children = Path(f"/proc/{pane}/task/{pane}/children").read_text().split()
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        self.close()

    def close(self) -> None:
        subprocess.run(["tmux", "-L", self._socket, "kill-server"], capture_output=True, check=False)
