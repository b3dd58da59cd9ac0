"""Which backend to use here, and what works on this machine. Backends are loaded when they are asked for."""

from __future__ import annotations

import difflib
import importlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol, cast

from mlagentbench.errors import SandboxUnavailableError, UsageError
from mlagentbench.sandbox.spec import Sandbox

_MODULE = "mlagentbench.sandbox."


class _Checked(Sandbox, Protocol):
    def check(self) -> None: ...


def _make(module: str, name: str, *arguments: str) -> _Checked:
    made = getattr(importlib.import_module(_MODULE + module), name)(*arguments)
    return cast(_Checked, made)


_BACKENDS: dict[str, Callable[[], _Checked]] = {
    "bwrap": partial(_make, "bwrap", "BubblewrapSandbox"),
    "landlock": partial(_make, "landlock", "LandlockSandbox"),
    "docker": partial(_make, "container", "ContainerSandbox", "docker"),
    "podman": partial(_make, "container", "ContainerSandbox", "podman"),
    "apptainer": partial(_make, "container", "ContainerSandbox", "apptainer"),
    "none": partial(_make, "none", "NoSandbox"),
}
_AUTOMATIC = ("bwrap", "landlock")


@dataclass(frozen=True)
class Finding:
    """One backend on this machine: whether it works, why not or what it leaves open, and the one command that
    mends it (empty where there is none, or nothing to mend)."""

    backend: str
    works: bool
    detail: str
    command: str = ""


def choose(name: str = "auto") -> Sandbox:
    """The backend of that name, proved to work. `auto` is the one that MLAGENTBENCH_SANDBOX names, or else the
    strongest that works."""
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
    for candidate in _AUTOMATIC:
        backend = _BACKENDS[candidate]()
        try:
            backend.check()
        except SandboxUnavailableError as error:
            reasons.append(str(error))
        else:
            return backend
    raise SandboxUnavailableError(
        " ".join(reasons)
        + " `mlagentbench doctor` says what mends it. With a container engine, use --sandbox docker;"
        " to run agent code without any protection, say --sandbox none."
    )


def diagnose() -> list[Finding]:
    """Every isolating backend, in the order of preference."""
    findings = []
    for name, make in _BACKENDS.items():
        if name == "none":
            continue
        try:
            backend = make()
            backend.check()
        except SandboxUnavailableError as error:
            findings.append(Finding(name, False, str(error), _remedy(name)))
        else:
            findings.append(Finding(name, True, " ".join(backend.gaps()) or "Works; nothing known gets out."))
    return findings


def _remedy(name: str) -> str:
    """The one command that helps most."""
    if sys.platform != "linux":
        return "brew install --cask docker" if name == "docker" else ""
    if name == "bwrap":
        if not shutil.which("bwrap"):
            return _install("bubblewrap")
        return _allow_namespaces()
    if name in ("docker", "podman"):
        if not shutil.which(name):
            return _install("docker.io" if name == "docker" and shutil.which("apt-get") else name)
        return "sudo systemctl start docker" if name == "docker" else ""
    if name == "apptainer":
        return _install("apptainer") if not shutil.which(name) else ""
    return ""


def _install(package: str) -> str:
    sudo = "" if os.geteuid() == 0 else "sudo "
    for manager, words in (
        ("apt-get", "install -y"),
        ("dnf", "install -y"),
        ("pacman", "-S"),
        ("zypper", "install"),
    ):
        if shutil.which(manager):
            return f"{sudo}{manager} {words} {package}"
    return ""


def _allow_namespaces() -> str:
    """Systems that forbid user namespaces to ordinary users each have their own switch."""
    for switch, bad, good in (
        ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
        ("kernel/unprivileged_userns_clone", "0", "1"),
        ("user/max_user_namespaces", "0", "10000"),
    ):
        try:
            value = Path("/proc/sys", switch).read_text().strip()
        except OSError:
            continue
        if value == bad:
            return f"sudo sysctl -w {switch.replace('/', '.')}={good}"
    return ""
