"""Refuses what a backend cannot promise, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable

from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox.choice import diagnose
from mlagentbench.sandbox.spec import Promise, Sandbox

_NEEDS: dict[Promise, str] = {
    "services": "needs services of the harness in the sandbox",
    "timing": "is graded by its speed",
}


def demand(sandbox: Sandbox, promises: Iterable[Promise], who: str) -> None:
    """Raise SandboxUnavailableError if `who` needs one of these promises and the backend cannot keep it."""
    for promise in promises:
        if promise in sandbox.cannot:
            raise SandboxUnavailableError(
                f"{who} {_NEEDS[promise]}, and the {sandbox.name} sandbox cannot run that: "
                f"{sandbox.cannot[promise]}. {_remedy(sandbox)}"
            )


def _remedy(refused: Sandbox) -> str:
    """What helps most on this machine: a backend that works, or else the command that makes one work."""
    findings = [finding for finding in diagnose() if finding.backend != refused.name]
    for finding in findings:
        if finding.works:
            return f"Use --sandbox {finding.backend}."
    for finding in findings:
        if finding.command:
            return f"To get a sandbox that can: {finding.command}"
    return "Run `mlagentbench doctor` to see which other sandboxes there are."
