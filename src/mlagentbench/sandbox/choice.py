"""Which backend to use here, and what works on this machine. Backends are loaded when they are asked for."""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast

from mlagentbench.errors import SandboxUnavailableError, UsageError
from mlagentbench.sandbox import diagnosis, leftovers
from mlagentbench.sandbox.spec import Sandbox

_MODULE = "mlagentbench.sandbox."


class _Checked(Sandbox, Protocol):
    def check(self) -> None: ...


def _make(module: str, name: str, *arguments: str) -> _Checked:
    made = getattr(importlib.import_module(_MODULE + module), name)(*arguments)
    return cast(_Checked, made)


_BACKENDS: dict[str, Callable[[], _Checked]] = {
    "bwrap": partial(_make, "bwrap", "BubblewrapSandbox"),
    "namespaces": partial(_make, "namespaces", "NamespacesSandbox"),
    "landlock": partial(_make, "landlock", "LandlockSandbox"),
    "docker": partial(_make, "container", "ContainerSandbox", "docker"),
    "podman": partial(_make, "container", "ContainerSandbox", "podman"),
    "apptainer": partial(_make, "container", "ContainerSandbox", "apptainer"),
    "none": partial(_make, "none", "NoSandbox"),
}
AUTOMATIC = ("bwrap", "namespaces", "landlock")
"""In the order of preference."""


@dataclass(frozen=True)
class Finding:
    """One backend on this machine: whether it works, why not or what it leaves open, and the one command that
    fixes it (empty where there is none, or nothing to fix)."""

    backend: str
    works: bool
    detail: str
    command: str = ""


def choose(name: str = "auto") -> Sandbox:
    """The backend of that name, proved to work. `auto` is the one that MLAGENTBENCH_SANDBOX names, or else the
    strongest that works."""
    leftovers.end_stale()
    if name == "auto":
        name = os.environ.get("MLAGENTBENCH_SANDBOX") or "auto"
    if name != "auto":
        if name not in _BACKENDS:
            near = difflib.get_close_matches(name, _BACKENDS, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"There is no sandbox {name!r}; there are auto, {', '.join(_BACKENDS)}.{hint}")
        backend = _BACKENDS[name]()
        backend.check()
        return backend
    reasons = []
    for candidate in AUTOMATIC:
        backend = _BACKENDS[candidate]()
        try:
            backend.check()
        except SandboxUnavailableError as error:
            reasons.append(str(error))
        else:
            return backend
    raise SandboxUnavailableError(
        " ".join(reasons)
        + " `mlagentbench doctor` says what fixes it. With a container engine, use --sandbox docker;"
        " to run agent code without any protection, say --sandbox none."
    )


def diagnose() -> list[Finding]:
    """Every isolating backend, in the order of preference."""
    leftovers.end_stale()
    findings = []
    for name, make in _BACKENDS.items():
        if name == "none":
            continue
        try:
            backend = make()
            backend.check()
        except SandboxUnavailableError as error:
            command = diagnosis.remedy(name, str(error), diagnosis.this_host())
            findings.append(Finding(name, False, str(error), command))
        else:
            findings.append(Finding(name, True, " ".join(backend.gaps()) or "Works; nothing known gets out."))
    return findings
