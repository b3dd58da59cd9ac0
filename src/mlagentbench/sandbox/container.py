"""Container engines, on request: docker, podman and apptainer.

The image is only a root to hang mounts on: as with bubblewrap, the host's /usr and the interpreter are shown
read-only, so that a program runs on the same libraries everywhere. `MLAGENTBENCH_IMAGE` names another image.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import uuid
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Literal

from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox import services, view
from mlagentbench.sandbox.launch import (
    CONTROL_THROUGH_FIFO,
    CONTROL_VARIABLE,
    SHELL_GATE,
    SHELL_GATE_FIFO,
    Channels,
    Confinement,
    Handle,
    Launch,
)
from mlagentbench.sandbox.process import Supervisor
from mlagentbench.sandbox.spec import KEEPS_ALL, Job, OutputSink, Process, Result
from mlagentbench.sandbox.started import Started
from mlagentbench.sandbox.temporary import temporary_folder
from mlagentbench.sandbox.tree import Descendants

Engine = Literal["docker", "podman", "apptainer"]
_IMAGE = "debian:12-slim"
_CONTROL_FOLDER = "/run/mlagentbench-control"
_ENGINE_VARIABLES = ("PATH", "HOME", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST", "XDG_RUNTIME_DIR")
"""What an engine's own command needs to find its daemon; nothing of it is passed on inside."""


class ContainerSandbox:
    """Programs run in a container of their own, removed afterwards."""

    isolating = True
    own_network = True
    cannot = KEEPS_ALL

    def __init__(self, engine: Engine) -> None:
        self.name = engine

    def gaps(self) -> tuple[str, ...]:
        if self.name == "apptainer":
            return ("Memory and processes are held by watching only.",)
        return ()

    def workspace_path(self, workspace: Path) -> str:
        return view.WORKSPACE

    def links_read_only(self) -> bool:
        return False

    def run(self, job: Job, on_output: OutputSink, stdin: bytes = b"") -> Result:
        return Supervisor(self.plan, job, on_output, stdin).run()

    def start(self, job: Job, on_output: OutputSink, *, talks: bool = True) -> Process:
        return Started(self.plan, job, on_output, talks)

    def check(self) -> None:
        """Raise SandboxUnavailableError unless the engine answers."""
        found = shutil.which(self.name)
        reason = _failure(self.name, found) if found else "it is not installed."
        if reason:
            raise SandboxUnavailableError(f"{self.name} does not work on this machine: {reason}")

    def plan(self, job: Job, channels: Channels) -> Launch:
        """The command line for one job."""
        name = f"mlagentbench-{uuid.uuid4().hex[:12]}"
        wrapped = services.wrap(job, channels)
        gate = _gate(job, channels, wrapped)
        own = {key: os.environ[key] for key in _ENGINE_VARIABLES if key in os.environ}
        if self.name == "apptainer":
            own |= {f"APPTAINERENV_{key}": value for key, value in gate.environment.items()}
            return Launch(apptainer(job, gate), own, _BELOW, reports=False)
        own |= {key: gate.environment[key] for key in job.secret}
        command = partial(_command, self.name, name)
        confinement = replace(
            _BELOW,
            end=lambda handle: command("kill"),
            pause=partial(command, "pause"),
            resume=partial(command, "unpause"),
            holds_limits=True,
            finish=partial(_finish, self.name, name),
        )
        return Launch(engine(self.name, name, job, gate), own, confinement, reports=False)


@dataclass(frozen=True)
class Gate:
    """What runs inside: the gate, the forwarder where there are services, the program; and what they need."""

    argv: tuple[str, ...]
    environment: dict[str, str]
    shown: tuple[tuple[Path, str, bool], ...]


def _gate(job: Job, channels: Channels, wrapped: services.Wrapped) -> Gate:
    shown = [(source, target, False) for source, target in wrapped.shown]
    environment = view.environment(job, home="/tmp", temporary="/tmp")
    if channels.control is None:
        return Gate(("-c", SHELL_GATE, "sh", *wrapped.argv), environment, tuple(shown))
    folder = channels.later.enter_context(temporary_folder("control"))
    os.mkfifo(folder / "fifo")
    _pass_on(folder / "fifo", os.dup(channels.control))
    # Opened both ways, a named pipe waits for nobody: whoever still waits to read from it goes on and ends.
    channels.later.callback(lambda: os.close(os.open(folder / "fifo", os.O_RDWR | os.O_NONBLOCK)))
    shown.append((folder, _CONTROL_FOLDER, True))
    environment[CONTROL_VARIABLE] = str(CONTROL_THROUGH_FIFO)
    argv = ("-c", SHELL_GATE_FIFO, "sh", f"{_CONTROL_FOLDER}/fifo", *wrapped.argv)
    return Gate(argv, environment, tuple(shown))


def _pass_on(fifo: Path, control: int) -> None:
    """From the named pipe to the supervisor's channel, until the last who writes to it is gone."""

    def copy() -> None:
        with open(fifo, "rb", buffering=0) as reader, open(control, "wb", buffering=0) as writer:
            while chunk := reader.read(1 << 16):
                try:
                    writer.write(chunk)
                except BrokenPipeError:
                    return

    threading.Thread(target=copy, name="control", daemon=True).start()


def engine(program: str, name: str, job: Job, gate: Gate) -> tuple[str, ...]:
    """docker and podman take the same words."""
    limits = job.limits
    argv = [program, "run", "--interactive", "--name", name, "--hostname", "sandbox", "--pull", "missing"]
    argv += ["--network", "host" if job.network else "none", "--read-only", "--cap-drop", "ALL"]
    argv += ["--security-opt", "no-new-privileges", "--pids-limit", str(limits.processes + 2)]
    argv += ["--memory", str(limits.memory), "--memory-swap", str(limits.memory), "--ipc", "private"]
    argv += [
        "--shm-size",
        str(limits.memory // 2),
        "--tmpfs",
        f"/tmp:rw,exec,mode=1777,size={limits.memory // 2}",
    ]
    argv += ["--ulimit", "core=0", "--ulimit", "nofile=4096:4096", "--ulimit", f"fsize={limits.disk}"]
    argv += [
        "--user",
        f"{os.getuid()}:{os.getgid()}",
        *(["--userns", "keep-id"] if program == "podman" else []),
    ]
    if job.cores:
        argv += ["--cpuset-cpus", ",".join(map(str, job.cores))]
    if job.devices:
        argv += ["--gpus", "all" if "all" in job.devices else f'"device={",".join(job.devices)}"']
    for source, target, writable in _mounts(job, gate):
        argv += ["--mount", f"type=bind,src={source},dst={target}{'' if writable else ',readonly'}"]
    for target in _masks(job, gate):
        argv += ["--tmpfs", f"{target}:ro,size=4k"]
    for key, value in gate.environment.items():
        argv += ["--env", key if key in job.secret else f"{key}={value}"]
    argv += ["--workdir", view.WORKSPACE, "--entrypoint", "/bin/sh", _image()]
    return (*argv, *gate.argv)


def apptainer(job: Job, gate: Gate) -> tuple[str, ...]:
    argv = ["apptainer", "exec", "--containall", "--no-home", "--cleanenv", "--writable-tmpfs", "--no-privs"]
    argv += ["--hostname", "sandbox", *([] if job.network else ["--net", "--network", "none"])]
    if job.devices:
        argv += ["--nv"]
    for source, target, writable in _mounts(job, gate):
        argv += ["--bind", f"{source}:{target}:{'rw' if writable else 'ro'}"]
    for target in _masks(job, gate):
        argv += ["--mount", f"type=tmpfs,dst={target}"]
    argv += ["--pwd", view.WORKSPACE, f"docker://{_image()}", "/bin/sh"]
    return (*argv, *gate.argv)


def _image() -> str:
    return os.environ.get("MLAGENTBENCH_IMAGE", _IMAGE)


def _mounts(job: Job, gate: Gate) -> list[tuple[Path, str, bool]]:
    system = [Path("/usr"), *(Path(folder) for folder in view.TOP_FOLDERS), Path("/etc/ld.so.cache")]
    shown = [(path, str(path), False) for path in system if path.exists() and not path.is_symlink()]
    shown += [(root, str(root), False) for root in view.interpreter_roots(job.interpreter)]
    shown += gate.shown
    shown.append((job.workspace, view.WORKSPACE, True))
    shown += [(source, f"{view.WORKSPACE}/{place}", False) for place, source in sorted(job.read_only.items())]
    return shown + [(mount.source, mount.target, mount.writable) for mount in job.mounts]


def _masks(job: Job, gate: Gate) -> list[str]:
    shown = [(source, target) for source, target, _ in _mounts(job, gate)]
    return [target for _, target in view.masked(job.hidden, shown)]


def _end_group(handle: Handle) -> None:
    try:
        os.killpg(handle.outer, signal.SIGKILL)
    except ProcessLookupError:
        pass


_BELOW = Confinement(end=_end_group, tree=lambda handle: Descendants(handle.outer, inclusive=True))
"""The engine's own command, and whatever it starts as its children."""


def _command(program: str, name: str, verb: str) -> None:
    subprocess.run([program, verb, name], capture_output=True, check=False)


def _finish(program: str, name: str) -> str | None:
    told = subprocess.run(
        [program, "inspect", "--format", "{{.State.OOMKilled}}", name],
        capture_output=True,
        text=True,
        check=False,
    )
    subprocess.run([program, "rm", "--force", name], capture_output=True, check=False)
    return "memory" if told.stdout.strip() == "true" else None


@cache
def _failure(program: str, place: str) -> str:
    """Why the engine at `place` does not answer; empty if it does."""
    question = ["--version"] if program == "apptainer" else ["info"]
    told = subprocess.run([place, *question], capture_output=True, text=True, check=False)
    return "" if told.returncode == 0 else (told.stderr.strip().splitlines() or ["it does not answer."])[-1]
