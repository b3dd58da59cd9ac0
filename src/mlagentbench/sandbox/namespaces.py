"""The same walls as bubblewrap's without bubblewrap: a launcher of our own, for users who cannot install it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox import namespaces_launcher
from mlagentbench.sandbox.bwrap import BubblewrapSandbox, Program

_START = "import sys; sys.path.append(sys.argv.pop(1)); from namespaces_launcher import main; main()"
"""Imported rather than run as a file, so that it is compiled once and not at every start."""


@dataclass(frozen=True)
class NamespacesSandbox(BubblewrapSandbox):
    """Needs nothing but a kernel that lets this user make user namespaces."""

    name = "namespaces"
    title = "The launcher of namespaces"

    def _program(self) -> Program:
        if sys.platform != "linux":
            raise SandboxUnavailableError("Namespaces exist on Linux only.")
        folder = os.path.dirname(namespaces_launcher.__file__)  # noqa: PTH120
        command = (sys.executable, "-I", "-S", "-c", _START, folder, str(os.getpid()))
        return Program(command, version=(0, 8))
