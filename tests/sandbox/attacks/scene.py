"""A small world around one attack: answers, data, listeners, secrets; and what has become of them afterwards."""

from __future__ import annotations

import ctypes
import fcntl
import os
import platform
import resource
import secrets
import signal
import socket
import stat
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.sandbox import ResourceLimits, Result

_HOST_SETTINGS = (
    "/sys/class/net/lo/mtu",
    "/proc/sys/vm/overcommit_ratio",
    "/proc/sys/kernel/domainname",
    "/proc/sys/kernel/hostname",
    "/sys/kernel/mm/ksm/sleep_millisecs",
)
ENVIRONMENT_SECRET = "ATTACKED_HARNESS_TOKEN"
signals_received: list[int] = []
_FS_IOC_GETFLAGS = 0x80086601
_MQ_UNLINK = 181 if platform.machine() == "aarch64" else 241


@dataclass(frozen=True)
class Evidence:
    """All that is known from outside when an attack is over."""

    scene: Scene
    result: Result
    output: bytes
    limits: ResourceLimits
    survivors: tuple[int, ...]
    next_program_ran: bool
    disk_used: int


@dataclass(frozen=True)
class Judge:
    """`how` in words, for the documentation."""

    how: str
    got_through: Callable[[Evidence], bool]


class Listeners:
    """Sockets of the host that must not be spoken to, and a caller that must not get in."""

    def __init__(self, folder: Path, mark: str) -> None:
        self._heard: set[str] = set()
        self._over = threading.Event()
        self.abstract = f"abstract-{mark}"
        self.path = str(folder / "socket")
        tcp = socket.create_server(("127.0.0.1", 0))
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 0))
        other = socket.create_server(("127.0.0.2", 0))
        self.datagram_path = str(folder / "datagrams")
        datagram = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        datagram.bind(self.datagram_path)
        abstract, path = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        abstract.bind("\0" + self.abstract)
        path.bind(self.path)
        self.tcp_port, self.udp_port = tcp.getsockname()[1], udp.getsockname()[1]
        self.other_port = other.getsockname()[1]
        self._sockets = {"tcp": tcp, "udp": udp, "abstract": abstract, "path": path}
        self._sockets |= {"other address": other, "datagram": datagram}
        for kind in ("abstract", "path"):
            self._sockets[kind].listen()
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.free_port = free.getsockname()[1]

    def heard(self, kind: str) -> bool:
        """Whether anything has arrived: what is in the queue is there as soon as the sender has sent it."""
        if kind in self._heard:
            return True
        found = self._sockets.get(kind)
        if found is None:
            return False
        found.setblocking(False)
        try:
            if kind in ("udp", "datagram"):
                found.recv(100)
            else:
                found.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def keep_calling(self) -> None:
        """Try to connect to the free port until told to end."""

        def call() -> None:
            while not self._over.wait(0.02):
                try:
                    socket.create_connection(("127.0.0.1", self.free_port), 0.2).close()
                except OSError:
                    continue
                self._heard.add("connected in")

        self._caller = threading.Thread(target=call)
        self._caller.start()

    def close(self) -> None:
        self._over.set()
        for each in self._sockets.values():
            each.close()


class Scene:
    def __init__(self, folder: Path, *, links: bool) -> None:
        self.folder = folder
        self.mark = secrets.token_hex(8)
        kinds = (
            *("answers", "recipe", "solution", "other run", "home", "memory", "open file", "sibling"),
            "shared memory",
        )
        self.secrets = {
            kind: f"SECRET-OF-{kind.upper().replace(' ', '-')}-{secrets.token_hex(8)}" for kind in kinds
        }
        self.secrets["environment"] = os.environ[ENVIRONMENT_SECRET]
        self.secrets["command line"] = sys.argv[-1]
        self.private = self._write("private/answers.csv", self.secrets["answers"])
        self.prepare = self._write("task/prepare.py", self.secrets["recipe"])
        self._write("visible/installed/__init__.py", "")
        self.solution = self._write("visible/installed/solution.py", f'ANSWER = "{self.secrets["solution"]}"')
        self.other_run = self._write("runs/other/workspace/notes.txt", self.secrets["other run"])
        self.home = self._write("home/secret.txt", self.secrets["home"]).parent
        self.visible = folder / "visible"
        self.data = self._write("public/train.csv", "id,label\n1,2\n").parent
        self.single = self._write("public-single.csv", "one\n")
        self.workspace = folder / "runs/this/workspace"
        self.workspace.mkdir(parents=True)
        self.outputs = folder / "outputs"
        self.outputs.mkdir()
        if links:
            (self.workspace / "data").symlink_to(self.data)
            (self.workspace / "single.csv").symlink_to(self.single)
        self._buffer = ctypes.create_string_buffer(self.secrets["memory"].encode())
        opened = self._write("opened", self.secrets["open file"])
        self._opened = opened.open("rb")
        opened.unlink()
        self._shared = Path("/dev/shm", f"scene-{self.mark}")
        self._shared.write_text(self.secrets["shared memory"])
        self.listeners = Listeners(folder, self.mark)
        self._before = (self._data_content(), self._data_metadata(), _host(), _harness())
        signals_received.clear()

    def environment(self) -> dict[str, str]:
        """What the attacker is told: everything."""
        return {
            "MARK": self.mark,
            "PRIVATE": str(self.private),
            "PREPARE": str(self.prepare),
            "SOLUTION": str(self.solution),
            "OTHER_RUN": str(self.other_run),
            "HOME_FOLDER": str(self.home),
            "VISIBLE": str(self.visible),
            "DATA": str(self.data),
            "OUTPUTS": str(self.outputs),
            "HARNESS": str(os.getpid()),
            "MEMORY_ADDRESS": str(ctypes.addressof(self._buffer)),
            "TCP_PORT": str(self.listeners.tcp_port),
            "UDP_PORT": str(self.listeners.udp_port),
            "FREE_PORT": str(self.listeners.free_port),
            "ABSTRACT": self.listeners.abstract,
            "SOCKET": self.listeners.path,
            "DATAGRAM_SOCKET": self.listeners.datagram_path,
            "OTHER_PORT": str(self.listeners.other_port),
        }

    def data_changed(self) -> bool:
        return self._data_content() != self._before[0]

    def metadata_changed(self) -> bool:
        return self._data_metadata() != self._before[1]

    def host_changed(self) -> bool:
        changed = {name: value for name, value in self._before[2].items() if Path(name).read_text() != value}
        for name, value in changed.items():
            Path(name).write_text(value)
        return bool(changed)

    def harness_changed(self) -> bool:
        changed = bool(signals_received) or _harness() != self._before[3]
        os.sched_setaffinity(0, self._before[3][2])
        return changed

    def has_set_id(self) -> bool:
        return any(path.lstat().st_mode & 0o6000 for path in self.workspace.rglob("*"))

    def has_devices(self) -> bool:
        modes = [path.lstat().st_mode for path in self.workspace.rglob("*")]
        return any(stat.S_ISCHR(mode) or stat.S_ISBLK(mode) for mode in modes)

    def left_outside(self) -> bool:
        places = ("/tmp", "/var/tmp", "/run", "/", "/home", "/dev/shm", self.visible, self.workspace.parent)
        left = [path for place in places if (path := Path(place, f"MARK-{self.mark}")).exists()]
        for path in left:
            path.unlink()
        return bool(left)

    def left_key(self) -> bool:
        return self.mark in Path("/proc/keys").read_text()

    def left_queue(self) -> bool:
        """Whether there is a queue or semaphore of the run's mark; it is removed."""
        libc = ctypes.CDLL(None)
        key = int(self.mark[:7], 16)
        queue, semaphore = libc.msgget(key, 0), libc.semget(key, 0, 0)
        named = libc.syscall(ctypes.c_long(_MQ_UNLINK), self.mark.encode())
        libc.msgctl(queue, 0, None)
        libc.semctl(semaphore, 0, 0)
        return queue >= 0 or semaphore >= 0 or named == 0

    def survivors(self) -> tuple[int, ...]:
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid() and self._is_marked(folder):
                found.append(int(folder.name))
                os.kill(int(folder.name), signal.SIGKILL)
        return tuple(found)

    def close(self) -> None:
        self.left_outside()
        self.left_queue()
        self._shared.unlink()
        self.listeners.close()
        self._opened.close()

    def _is_marked(self, folder: Path) -> bool:
        for name in ("environ", "cmdline"):
            try:
                if self.mark.encode() in (folder / name).read_bytes():
                    return True
            except OSError:
                continue
        return False

    def _write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def _data_content(self) -> list[tuple[str, bytes]]:
        return [(str(path), path.read_bytes()) for path in (*sorted(self.data.iterdir()), self.single)]

    def _data_metadata(self) -> list[tuple[object, ...]]:
        outside = (self.private, self.private.parent, self.home, self.data)
        return [_metadata(path) for path in (*sorted(self.data.iterdir()), self.single, *outside)]


def _metadata(path: Path) -> tuple[object, ...]:
    status = path.stat()
    flags = bytearray(8)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.ioctl(descriptor, _FS_IOC_GETFLAGS, flags)
    except OSError:
        pass  # not on every file system
    finally:
        os.close(descriptor)
    return status.st_mode, status.st_mtime_ns, status.st_gid, tuple(os.listxattr(path)), bytes(flags)


def _host() -> dict[str, str]:
    return {name: Path(name).read_text() for name in _HOST_SETTINGS if Path(name).exists()}


def _harness() -> tuple[tuple[int, int], int, frozenset[int]]:
    priority = os.getpriority(os.PRIO_PROCESS, os.getpid())
    return resource.getrlimit(resource.RLIMIT_NOFILE), priority, frozenset(os.sched_getaffinity(0))
