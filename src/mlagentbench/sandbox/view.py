"""What every sandbox shows of the system, and the environment that it starts a program with."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mlagentbench.sandbox.spec import Interpreter, Job

WORKSPACE = "/workspace"
"""Where backends that mount show the workspace: the same for every run, so that outputs are too."""

TOP_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Links into /usr on most systems, folders on some."""
SYSTEM_FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime"),
    *(
        "/etc/nsswitch.conf",
        "/etc/ssl/certs",
        "/etc/ssl/openssl.cnf",
        "/etc/pki/tls/certs",
        "/etc/pki/tls/cert.pem",
        "/etc/pki/tls/openssl.cnf",
        "/etc/pki/ca-trust",
        "/etc/crypto-policies",
        "/etc/ca-certificates",
        "/etc/fonts",
    ),
    *("/etc/mime.types", "/etc/protocols", "/etc/services"),
)
"""Certificates that one trusts are named one by one: private keys lie in folders beside them."""
NETWORK_FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/gai.conf")
GPU_CONTROL = (
    *(
        "/dev/nvidiactl",
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
        "/dev/nvidia-modeset",
        "/dev/nvidia-caps",
    ),
    *("/dev/kfd", "/dev/dri", "/dev/dxg"),
)
GPU_FILES = (
    "/etc/OpenCL",
    "/etc/vulkan",
    "/sys/bus/pci",
    "/sys/devices",
    "/sys/module/nvidia",
    "/sys/class/kfd",
)

KERNEL_SETTINGS = (
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
)
"""Parts of /proc that belong to the whole machine. The kernel lets root change them by being their owner, without
any capability, so they must be read-only for a program that the real root starts."""

PASSWD = b"agent:x:1000:1000:agent:/tmp/home:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
GROUP = b"agent:x:1000:\nnogroup:x:65534:\n"
HOSTS = b"127.0.0.1 localhost sandbox\n::1 localhost\n"


def environment(job: Job, *, home: str, temporary: str) -> dict[str, str]:
    """Built from nothing: what a program needs to run, and what the job adds."""
    folders = ["/usr/local/bin", "/usr/bin", "/bin"]
    if job.interpreter:
        folders.insert(0, str(job.interpreter.python.parent))
    return {
        "PATH": ":".join(folders),
        "HOME": home,
        "TMPDIR": temporary,
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        **job.environment,
    }


def interpreter_roots(interpreter: Interpreter | None) -> tuple[Path, ...]:
    """Folders to show, without those inside another of them or inside /usr, which is shown anyway."""
    roots = sorted(set(interpreter.roots), key=lambda root: len(root.parts)) if interpreter else []
    kept: list[Path] = []
    for root in roots:
        if not any(root.is_relative_to(other) for other in (Path("/usr"), *kept)):
            kept.append(root)
    return tuple(kept)


def gpu_nodes(devices: Iterable[str]) -> list[str]:
    """Device nodes of the GPUs asked for: `all`, or indices."""
    devices = tuple(devices)
    if not devices:
        return []
    numbered = {node.name.removeprefix("nvidia") for node in Path("/dev").glob("nvidia*")}
    wanted = sorted(n for n in numbered if n.isdigit()) if "all" in devices else list(devices)
    return [f"/dev/nvidia{number}" for number in wanted] + list(GPU_CONTROL)


def masked(hidden: Iterable[Path], shown: Iterable[tuple[Path, str]]) -> list[tuple[Path, str]]:
    """Where hidden places would be seen: each with its place inside, for every shown folder that contains
    it."""
    shown = [(source.resolve(), target) for source, target in shown]
    found: list[tuple[Path, str]] = []
    for place in hidden:
        real = place.resolve()
        if not real.exists():
            continue
        for source, target in shown:
            if real.is_relative_to(source):
                inside = real.relative_to(source)
                found.append((real, str(Path(target) / inside)))
    return found
