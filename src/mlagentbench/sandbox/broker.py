"""Does for a program what it may do to its own files and processes only. Standard library only: the launcher loads it.

Landlock has no rules for modes and times of files, for sockets that have a path, nor (before its sixth version) for
signals. The system-call filter stops a program at these calls and asks the broker, which runs outside of the rules. It
looks at what the call is about, and does it itself if that is the program's own: what a program changes in its memory
after it has asked makes no difference.
"""

from __future__ import annotations

import _socket
import ctypes
import errno
import fcntl
import os
import re
import select
import struct
from typing import Any

METADATA = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utimensat")
CONNECTIONS = ("connect",)
ON_PROCESSES = ("sched_setaffinity",)
SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal")
LENGTHS = ("truncate",)

_RECEIVE, _SEND, _STILL_VALID = 0xC0502100, 0xC0182101, 0x40082102
_NOTIFICATION, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_CONTINUE = 1
_AT_FDCWD, _AT_SYMLINK_NOFOLLOW, _AT_EMPTY_PATH = -100, 0x100, 0x1000
_SET_ID = 0o6000
_LONGEST_PATH, _LONGEST_ADDRESS = 4096, 110
_OPENAT2, _PIDFD_GETFD = 437, 438
_RESOLVE_NO_MAGICLINKS = 0x02
_OWN_DESCRIPTOR = re.compile(rb"/(?:proc/self|dev)/fd/(\d{1,9})")

_libc = ctypes.CDLL(None, use_errno=True)


class Broker:
    """Answers one filter's questions until no process is left that could ask."""

    def __init__(self, listener: int, calls: dict[str, int], own: list[str]) -> None:
        """`calls` are the numbers of system calls by their names, `own` the folders that the program may change."""
        self._listener = listener
        self._names = {number: name for name, number in calls.items()}
        self._own = [folder.rstrip("/") + "/" for folder in own]
        self._me = os.getpid()

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        while True:
            events = poll.poll()
            if not any(event & select.POLLIN for _, event in events):
                return
            asked = bytearray(_NOTIFICATION.size)
            try:
                fcntl.ioctl(self._listener, _RECEIVE, asked, True)
            except OSError:  # it was killed meanwhile
                continue
            self._answer(asked)

    def _answer(self, asked: bytearray) -> None:
        number, pid, _, call, _, _, *arguments = _NOTIFICATION.unpack(asked)
        flags = failure = 0
        try:
            if self._decide(_Question(self._listener, number, pid, arguments), self._names[call]):
                flags = _CONTINUE
        except OSError as error:
            failure = error.errno or errno.EPERM
        except (ValueError, OverflowError):
            failure = errno.EINVAL
        try:
            fcntl.ioctl(self._listener, _SEND, _ANSWER.pack(number, 0, -failure, flags))
        except OSError:
            pass  # it was killed meanwhile

    def _decide(self, question: _Question, call: str) -> bool:
        """Do it, or raise an OSError. True: the program may do it itself, since it depends on registers alone."""
        if call in SIGNALS or call in ON_PROCESSES:
            self._check_process(question, call)
            return True
        getattr(self, f"_{call}")(question)
        return False

    # Files

    def _own_place(self, place: int) -> int:
        """The place itself, if it lies in one of the program's own folders."""
        path = os.readlink(f"/proc/self/fd/{place}")  # noqa: PTH115
        if not any(f"{path}/".startswith(folder) for folder in self._own):
            raise PermissionError(errno.EPERM, "not its own")
        return place

    def _change_mode(self, place: int, mode: int) -> None:
        if mode & _SET_ID:
            raise PermissionError(errno.EPERM, "a workspace holds no set-user-id programs")
        os.chmod(f"/proc/self/fd/{self._own_place(place)}", mode & 0o1777)  # noqa: PTH101

    def _chmod(self, question: _Question) -> None:
        path, mode, *_ = question.arguments
        with question.place(_AT_FDCWD, path) as place:
            self._change_mode(place, mode)

    def _fchmod(self, question: _Question) -> None:
        descriptor, mode, *_ = question.arguments
        with question.open_file(descriptor) as place:
            self._change_mode(place, mode)

    def _fchmodat(self, question: _Question) -> None:
        folder, path, mode, *_ = question.arguments
        with question.place(folder, path) as place:
            self._change_mode(place, mode)

    def _fchmodat2(self, question: _Question) -> None:
        folder, path, mode, flags, *_ = question.arguments
        with question.place(folder, path, flags) as place:
            self._change_mode(place, mode)

    def _utimensat(self, question: _Question) -> None:
        folder, path, times, flags, *_ = question.arguments
        moments = question.memory(times, 32, exact=True) if times else None
        with question.place(folder, path, flags) if path else question.open_file(folder) as place:
            _call(_libc.utimensat(self._own_place(place), b"", moments, _AT_EMPTY_PATH))

    def _truncate(self, question: _Question) -> None:
        path, length, *_ = question.arguments
        with question.place(_AT_FDCWD, path) as place:
            os.truncate(f"/proc/self/fd/{self._own_place(place)}", length)

    # Sockets

    def _connect(self, question: _Question) -> None:
        descriptor, address, length, *_ = question.arguments
        raw = question.memory(address, min(length, _LONGEST_ADDRESS))
        family, path = raw[:2], raw[2:].split(b"\0")[0]
        if family != struct.pack("=H", _socket.AF_UNIX) or not path:
            raise PermissionError(errno.EACCES, "only sockets of its own")
        with question.resolved(_AT_FDCWD, path) as place, question.shared_socket(descriptor) as shared:
            try:
                found = self._own_place(place)
            except PermissionError:
                raise PermissionError(errno.EACCES, "not its own") from None
            target = struct.pack("=H", _socket.AF_UNIX) + f"/proc/self/fd/{found}".encode() + b"\0"
            _call(_libc.connect(shared, target, len(target)))

    # Processes

    def _check_process(self, question: _Question, call: str) -> None:
        first = question.arguments[0] & 0xFFFFFFFF
        target = first - (1 << 32) if first >> 31 else first
        if call == "pidfd_send_signal":
            with question.file_of(f"fdinfo/{target}") as place:
                told = _fields(f"/proc/self/fd/{place}")
            target = int(told.get("Pid", "-1"))
        if target == 0 and call in ("kill", *ON_PROCESSES):
            return
        if call == "kill" and target < -1:
            if -target in self._groups():
                return
        elif target > 0 and self._is_below(target):
            return
        raise PermissionError(errno.EPERM, "not its own")

    def _is_below(self, pid: int) -> bool:
        """Whether a process or thread is the program's: everything that it starts stays below this process."""
        pid = int(_fields(f"/proc/{pid}/status")["Tgid"])
        while pid > 1:
            if pid == self._me:
                return False
            pid = int(_fields(f"/proc/{pid}/status")["PPid"])
            if pid == self._me:
                return True
        return False

    def _groups(self) -> set[int]:
        """Process groups of the program. A group is within one session, and the program's sessions are its own."""
        found = set()
        for name in os.listdir("/proc"):  # noqa: PTH208
            try:
                if name.isdigit() and self._is_below(int(name)):
                    found.add(os.getpgid(int(name)))
            except OSError:
                continue
        return found


class _Question:
    """One system call that waits for its answer, and what its arguments stand for."""

    def __init__(self, listener: int, number: int, pid: int, arguments: list[int]) -> None:
        self._listener, self._number, self._pid = listener, number, pid
        self.arguments = arguments

    def memory(self, address: int, size: int, exact: bool = False) -> bytes:
        with _Descriptor(os.open(f"/proc/{self._pid}/mem", os.O_RDONLY | os.O_CLOEXEC)) as memory:
            self._check_alive()
            try:
                found = os.pread(memory, size, address)
            except (OSError, OverflowError, ValueError):
                raise OSError(errno.EFAULT, "no such memory") from None
        if exact and len(found) < size:
            raise OSError(errno.EFAULT, "no such memory")
        return found

    def place(self, folder: int, path: int, flags: int = 0) -> _Descriptor:
        """What a folder's descriptor and the address of a path in memory stand for."""
        found, end, _ = self.memory(path, _LONGEST_PATH).partition(b"\0")
        if not end:
            raise OSError(errno.ENAMETOOLONG, "path")
        if not found and flags & _AT_EMPTY_PATH:
            return self.open_file(folder)
        return self.resolved(folder, found, 0 if not flags & _AT_SYMLINK_NOFOLLOW else os.O_NOFOLLOW)

    def resolved(self, folder: int, path: bytes, flags: int = 0) -> _Descriptor:
        if not path:
            raise FileNotFoundError(errno.ENOENT, "path")
        how = os.O_PATH | os.O_CLOEXEC | flags
        if own := _OWN_DESCRIPTOR.fullmatch(path):
            return self.open_file(int(own[1]))
        if path.startswith(b"/"):
            return _open(path, how, _AT_FDCWD)
        at_work = folder & 0xFFFFFFFF == _AT_FDCWD & 0xFFFFFFFF
        with self.file_of("cwd") if at_work else self.open_file(folder) as base:
            return _open(path, how, base)

    def open_file(self, descriptor: int) -> _Descriptor:
        try:
            return self.file_of(f"fd/{descriptor & 0xFFFFFFFF}")
        except FileNotFoundError:
            raise OSError(errno.EBADF, "descriptor") from None

    def file_of(self, name: str) -> _Descriptor:
        found = _Descriptor(os.open(f"/proc/{self._pid}/{name}", os.O_PATH | os.O_CLOEXEC))
        self._check_alive()
        return found

    def shared_socket(self, descriptor: int) -> _Descriptor:
        group = int(_fields(f"/proc/{self._pid}/status")["Tgid"])
        with _Descriptor(os.pidfd_open(group)) as process:
            self._check_alive()
            return _Descriptor(_call(_libc.syscall(_PIDFD_GETFD, process, descriptor & 0xFFFFFFFF, 0)))

    def _check_alive(self) -> None:
        """Process numbers are used again: what was opened is the caller's only if it still waits."""
        fcntl.ioctl(self._listener, _STILL_VALID, struct.pack("=Q", self._number))


class _Descriptor:
    """A descriptor that is closed at the end of a `with`."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> int:
        return self._number

    def __exit__(self, *_: object) -> None:
        os.close(self._number)


def _open(path: bytes, flags: int, folder: int) -> _Descriptor:
    """Links of /proc are not followed: they lead to what this process has open, and to roots of other containers."""
    how = struct.pack("=QQQ", flags, 0, _RESOLVE_NO_MAGICLINKS)
    return _Descriptor(_call(_libc.syscall(_OPENAT2, folder, path, how, ctypes.c_size_t(len(how)))))


def _call(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _fields(file: str) -> dict[str, str]:
    """The `Name: value` lines of a file of the kernel."""
    try:
        with open(file, encoding="utf-8", errors="replace") as lines:
            pairs = (line.partition(":") for line in lines)
            return {name: value.strip() for name, _, value in pairs}
    except FileNotFoundError:
        raise ProcessLookupError(errno.ESRCH, file) from None


def send_listener(channel: Any, listener: int) -> None:
    """Hand the descriptor at which questions arrive to the process at the other end."""
    told = struct.pack("=i", listener)
    channel.sendmsg([b"l"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, told)])


def receive_listener(channel: Any) -> int | None:
    """The descriptor, or None if the other end has none."""
    _, told, _, _ = channel.recvmsg(1, _socket.CMSG_SPACE(4))
    if not told:
        return None
    return int(struct.unpack("=i", told[0][2][:4])[0])
