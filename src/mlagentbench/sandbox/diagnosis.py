"""Why a backend does not work on this machine, and the one command that helps."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

_REFUSED = re.compile(r"not permitted|permission denied|no permissions|no space left|namespace failed", re.I)
"""What bubblewrap and the launcher of namespaces say when the kernel does not let them."""
_PROC_REFUSED = re.compile(r"(mount proc|list of processes).*(not permitted|permission denied)", re.I)
_DISTRIBUTED_PROFILE = "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
_PROFILE = "abi <abi/4.0>,\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\n  userns,\n}\n"
_CONTAINER = (
    "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined"
    " --security-opt systempaths=unconfined …"
)


@dataclass(frozen=True)
class Cause:
    """Why user namespaces are refused, as a clause, and the command that allows them."""

    reason: str
    command: str


@dataclass(frozen=True)
class Host:
    """What of a machine decides whether its users can make namespaces."""

    settings: Path = Path("/proc/sys")
    status: Path = Path("/proc/self/status")
    is_root: bool = False

    def setting(self, name: str) -> str:
        """The value of a setting of the kernel; empty where there is none of that name."""
        try:
            return Path(self.settings, *name.split(".")).read_text().strip()
        except OSError:
            return ""

    def restricted_by_apparmor(self) -> bool:
        return not self.is_root and self.setting("kernel.apparmor_restrict_unprivileged_userns") == "1"

    def filtered(self) -> bool:
        """Whether a system-call filter is on this process, as in a container."""
        try:
            return bool(re.search(r"^Seccomp:\s*2$", self.status.read_text(), re.M))
        except OSError:
            return False


def this_host() -> Host:
    return Host(is_root=os.geteuid() == 0)


def why_refused(said: str, host: Host) -> Cause | None:
    """The cause behind what bubblewrap or the launcher said; None where the machine shows none."""
    if not _REFUSED.search(said):
        return None
    for name, bad, good in (
        ("user.max_user_namespaces", "0", "10000"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
    ):
        if host.setting(name) == bad and not (host.is_root and name.startswith("kernel")):
            command = f"sudo sysctl -w {name}={good}"
            return Cause(f"user namespaces are switched off here ({name} is {bad})", command)
    if host.restricted_by_apparmor():
        reason = (
            "AppArmor keeps programs of ordinary users from using user namespaces"
            " (kernel.apparmor_restrict_unprivileged_userns is 1), except those that have a profile"
        )
        return Cause(reason, allow_by_profile())
    if _PROC_REFUSED.search(said):
        return Cause("this is a container in which parts of /proc are covered", _CONTAINER)
    if host.filtered():
        reason = "this is a container, or a service, whose system-call filter refuses namespaces"
        return Cause(reason, _CONTAINER)
    return None


def explain(title: str, said: str, host: Host) -> str:
    """The whole sentence: which program does not work, why, and its own words."""
    cause = why_refused(said, host)
    words = said.rstrip(".")
    if cause:
        return f"{title} does not work: {cause.reason}. It said: {words}."
    return f"{title} does not work on this machine. It said: {words}."


def allow_by_profile() -> str:
    """A profile for bubblewrap: the distribution's where there is one, which gives nothing to the programs inside."""
    folder = "/etc/apparmor.d"
    if shutil.which("apt-get") or Path(_DISTRIBUTED_PROFILE).exists():
        name = Path(_DISTRIBUTED_PROFILE).name
        packages = install("bubblewrap apparmor-profiles")
        return (
            f"{packages} && sudo ln -sf {_DISTRIBUTED_PROFILE} {folder}/"
            f" && sudo apparmor_parser -r {folder}/{name}"
        )
    written = f"printf {shlex.quote(_PROFILE.replace(chr(10), chr(92) + 'n'))}"
    return f"{written} | sudo tee {folder}/bwrap && sudo apparmor_parser -r {folder}/bwrap"


def install(package: str) -> str:
    """How this system installs it; empty where that is not known."""
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


def remedy(name: str, said: str, host: Host) -> str:
    """The one command that helps most."""
    if sys.platform != "linux":
        return "brew install --cask docker" if name == "docker" else ""
    if name in ("bwrap", "namespaces"):
        if name == "bwrap" and not shutil.which("bwrap"):
            return allow_by_profile() if host.restricted_by_apparmor() else install("bubblewrap")
        cause = why_refused(said, host)
        return cause.command if cause else ""
    if name in ("docker", "podman"):
        if not shutil.which(name):
            return install("docker.io" if name == "docker" and shutil.which("apt-get") else name)
        return "sudo systemctl start docker" if name == "docker" else ""
    if name == "apptainer":
        return install("apptainer") if not shutil.which(name) else ""
    return ""
