"""The process that starts runs, and the channel to it. Nothing here takes time to load, so that it can be started first
and be ready when the plan is."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from types import TracebackType
from typing import Self

LARGEST = 2**18
"""Bytes of one message."""


class Forker:
    """In a session of its own, so that Ctrl-C in a terminal reaches the experiment alone, which then tells it."""

    def __init__(self) -> None:
        self.used = False
        self._start()

    def _start(self) -> None:
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (self.channel, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
            "PYDANTIC_DISABLE_PLUGINS": os.environ.get("PYDANTIC_DISABLE_PLUGINS", "__all__"),
        }
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "mlagentbench.launch.forking", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                env=environment,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )

    def send(self, message: bytes) -> bool:
        """False where it would have to be waited for. Where nobody is left to read it, it is as good as sent."""
        self.used = True
        try:
            self.channel.send(message, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except (BrokenPipeError, ConnectionResetError):
            return True
        return True

    def start_again(self) -> None:
        """After it died."""
        self.close()
        self._start()

    def close(self) -> None:
        """End it, and all that it started and that still lives."""
        self.channel.close()
        if not self.used:
            self._process.kill()
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
