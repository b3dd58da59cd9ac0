"""Makes namespaces and runs a program in them, as bubblewrap does, where that is missing. Standard library only.

    python -I -S namespaces_launcher.py PARENT FLAG... -- PROGRAM ARGUMENT...

PARENT is the number of the process that starts it. The flags are those of bubblewrap that the plan uses, with the same
meaning, and the same words come on the status descriptor. One process stays outside and waits; its child becomes the
first process of the new namespaces, lays the file system out, and becomes the program. What it imports is chosen for
a quick start.
"""

from __future__ import annotations

import ctypes
import os
import select
import struct
import sys
import time

_NEWNS, _NEWCGROUP, _NEWUTS, _NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
_NEWUSER, _NEWPID, _NEWNET = 0x10000000, 0x20000000, 0x40000000
_UNSHARE = {
    "--unshare-user": _NEWUSER,
    "--unshare-pid": _NEWPID,
    "--unshare-ipc": _NEWIPC,
    "--unshare-uts": _NEWUTS,
    "--unshare-net": _NEWNET,
}
_RDONLY, _NOSUID, _NODEV, _NOEXEC = 1, 2, 4, 8
"""The same numbers for mount, for statvfs and for mount_setattr."""
_REMOUNT, _BIND, _REC, _PRIVATE, _DETACH = 32, 4096, 16384, 1 << 18, 2
_MOUNT_SETATTR = 442
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_ENOENT, _EPERM, _EACCES, _EINVAL, _ENOSYS = 2, 1, 13, 22, 38
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 22, 24
_PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT, _CAP_AMBIENT_CLEAR_ALL = 38, 47, 4
_SECCOMP_MODE_FILTER = 2
_CAPABILITY_VERSION, _HIGHEST_CAPABILITY = 0x20080522, 63
_SIGKILL, _SIGPIPE, _SIGXFSZ = 9, 13, 25
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")

_ALONE = ("--unshare-cgroup-try", "--disable-userns", "--die-with-parent", "--new-session", "--as-pid-1")
_SINGLE = ("--uid", "--gid", "--hostname", "--cap-drop", "--chdir", "--seccomp", "--json-status-fd")
_PLACING = ("--proc", "--dev", "--tmpfs", "--dir", "--remount-ro", "--size")
_PAIRS = ("--symlink", "--ro-bind-data")
_BINDING = {
    "--ro-bind": _RDONLY | _NOSUID | _NODEV,
    "--ro-bind-try": _RDONLY | _NOSUID | _NODEV,
    "--bind": _NOSUID | _NODEV,
    "--dev-bind-try": _NOSUID,
}
_ARGUMENTS = (
    dict.fromkeys((*_UNSHARE, *_ALONE), 0)
    | dict.fromkeys((*_SINGLE, *_PLACING), 1)
    | dict.fromkeys((*_PAIRS, *_BINDING), 2)
)
"""Every flag that is known, with how many words follow it."""

_libc = ctypes.CDLL(None, use_errno=True)


class Failure(Exception):  # noqa: N818 - its words are for people
    """What could not be done, and why."""


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise Failure(f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, argument: int, pointer: object = 0) -> None:
    _check(_libc.prctl(option, ctypes.c_ulong(argument), pointer, 0, 0), f"prctl {option}")


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str = "") -> int:
    """0, or the number of the error."""
    given = [os.fsencode(text) if text else None for text in (source, target, kind)]
    failed = _libc.mount(*given, ctypes.c_ulong(flags), options.encode() or None)
    return ctypes.get_errno() if failed else 0


def _mounted(error: int, what: str) -> None:
    if error:
        raise Failure(f"{what}: {os.strerror(error)}")


class Flags:
    """The command line, read."""

    def __init__(self, words: list[str]) -> None:
        self.kinds = 0
        self.single: dict[str, str] = {}
        self.steps: list[tuple[str, str, str]] = []
        """What to lay where, in order: the flag and its words."""
        at = 0
        while words[at] != "--":
            flag = words[at]
            if flag not in _ARGUMENTS:
                raise Failure(f"the flag {flag} is not known")
            given = words[at + 1 : at + 1 + _ARGUMENTS[flag]]
            at += 1 + len(given)
            if flag in _UNSHARE:
                self.kinds |= _UNSHARE[flag]
            elif flag not in _ALONE and flag not in _SINGLE:
                first, second = [*given, ""][:2]
                self.steps.append((flag, first, second))
            else:
                self.single[flag] = given[0] if given else ""
        self.program = words[at + 1 :]


def _read(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}") from error


def _map_user(inside: tuple[str, str], outside: tuple[int, int]) -> None:
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{inside[0]} {outside[0]} 1")
    _write("/proc/self/gid_map", f"{inside[1]} {outside[1]} 1")


def _raise_loopback() -> None:
    descriptor = _check(_libc.socket(2, 1, 0), "a socket")
    request = struct.pack("16sH22x", b"lo", _IFF_UP)
    _check(_libc.ioctl(descriptor, _SIOCSIFFLAGS, request), "the loopback cannot be used")
    os.close(descriptor)


class Root:
    """The new file system, laid out from nothing beside the old one, which is then let go of.

    The old one hangs below a name that nobody can guess, so that no link in a folder of the agent's leads there.
    """

    def __init__(self) -> None:
        self._old = "/.old-" + os.urandom(16).hex()
        self._submounts = _mount_points()
        base = "/tmp"
        _mounted(_mount("tmpfs", base, "tmpfs", _NOSUID | _NODEV, "mode=0755"), "a new root")
        os.mkdir(base + self._old, 0o700)  # noqa: PTH102
        moved = _libc.syscall(_PIVOT_ROOT[os.uname().machine], base.encode(), (base + self._old).encode())
        _check(moved, "changing to a new root")
        os.chdir("/")

    def close(self, read_only: bool) -> None:
        """Let go of the old one. The root is read-only from then on if that is asked for."""
        _check(_libc.umount2(self._old.encode(), _DETACH), "letting go of the old root")
        os.rmdir(self._old)  # noqa: PTH106
        if read_only:
            self.add_flags("/", _RDONLY)

    def bind(self, source: str, target: str, added: int, *, missing_ok: bool) -> None:
        """`source` as it is resolved in the old root. What is mounted below it comes along, with the same flags."""
        seen = self._old + source
        if not os.path.lexists(seen):
            if missing_ok:
                return
            raise Failure(f"{source} is not there")
        self._make_target(seen, target)
        _mounted(_mount(seen, target, None, _BIND | _REC), f"showing {source} at {target}")
        self._restrict(source, target, added)

    def _restrict(self, source: str, target: str, added: int) -> None:
        attributes = struct.pack("=QQQQ", added, 0, 0, 0)
        given = os.fsencode(target), _AT_RECURSIVE, attributes, ctypes.c_size_t(len(attributes))
        if _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, *given) == 0:
            return
        if ctypes.get_errno() not in (_ENOSYS, _EPERM):
            _check(-1, f"restricting {target}")
        self.add_flags(target, added)
        inside = source.rstrip("/") + "/"
        for below, kind in self._submounts.items():
            if below.startswith(inside) and kind != "autofs":
                self.add_flags(f"{target.rstrip('/')}/{below[len(inside) :]}", added, reachable=False)

    def add_flags(self, target: str, added: int, *, reachable: bool = True) -> None:
        """Flags that the host has put on a mount cannot be taken off here: all of them are named again. What lies
        below another mount cannot be reached, here and by the program."""
        try:
            kept = os.statvfs(target).f_flag & (_RDONLY | _NOSUID | _NODEV | _NOEXEC)
        except OSError as error:
            if reachable or error.errno not in (_EACCES, _ENOENT):
                raise
            return
        failed = _mount(None, target, None, _REMOUNT | _BIND | kept | added)
        if failed and (reachable or failed not in (_EACCES, _ENOENT, _EINVAL)):
            _mounted(failed, f"restricting {target}")

    def make_folder(self, path: str) -> None:
        current = ""
        for part in path.strip("/").split("/"):
            current += "/" + part
            if not os.path.isdir(current):  # noqa: PTH112
                os.mkdir(current, 0o755)  # noqa: PTH102

    def _make_target(self, source: str, target: str) -> None:
        if os.path.isdir(source):  # noqa: PTH112
            self.make_folder(target)
        else:
            self._make_file(target, b"")

    def _make_file(self, target: str, content: bytes) -> None:
        self.make_folder(os.path.dirname(target))  # noqa: PTH120
        if content or not os.path.exists(target):  # noqa: PTH110
            descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o444)
            os.write(descriptor, content)
            os.close(descriptor)

    def data(self, content: bytes, target: str) -> None:
        """A file that has this content and cannot be replaced either."""
        self._make_file(target, content)
        _mounted(_mount(target, target, None, _BIND), f"showing data at {target}")
        self.add_flags(target, _RDONLY)

    def tmpfs(self, target: str, size: str) -> None:
        self.make_folder(target)
        options = "mode=0755" + (f",size={size}" if size else "")
        _mounted(_mount("tmpfs", target, "tmpfs", _NOSUID | _NODEV, options), f"memory at {target}")

    def proc(self, target: str, *, last_namespace: bool) -> None:
        self.make_folder(target)
        flags = _NOSUID | _NODEV | _NOEXEC
        _mounted(_mount("proc", target, "proc", flags), f"the list of processes at {target}")
        if last_namespace:
            _write(f"{target}/sys/user/max_user_namespaces", "1")

    def dev(self, target: str) -> None:
        self.tmpfs(target, "")
        for name in _DEVICES:
            self.bind(f"/dev/{name}", f"{target}/{name}", _NOSUID, missing_ok=name == "tty")
        for number, name in enumerate(("stdin", "stdout", "stderr")):
            os.symlink(f"/proc/self/fd/{number}", f"{target}/{name}")  # noqa: PTH211
        for place, name in (("/proc/self/fd", "fd"), ("/proc/kcore", "core"), ("pts/ptmx", "ptmx")):
            os.symlink(place, f"{target}/{name}")  # noqa: PTH211
        for name in ("shm", "pts"):
            os.mkdir(f"{target}/{name}", 0o755)  # noqa: PTH102
        options = "newinstance,ptmxmode=0666,mode=620"
        failed = _mount("devpts", f"{target}/pts", "devpts", _NOSUID | _NOEXEC, options)
        _mounted(failed, "terminals of its own")


def _mount_points() -> dict[str, str]:
    """Where something is mounted, with the kind of file system."""
    found = {}
    with open("/proc/self/mountinfo", "rb") as file:
        for line in file:
            before, _, after = line.partition(b" - ")
            place = before.split()[4]
            for code, letter in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
                place = place.replace(code, letter)
            found[os.fsdecode(place)] = after.split()[0].decode()
    return found


def _lay_out(flags: Flags, data: dict[str, bytes]) -> None:
    real = {source: os.path.realpath(source) for flag, source, _ in flags.steps if flag in _BINDING}
    root = Root()
    size = ""
    closed = False
    for flag, first, second in flags.steps:
        if flag in _BINDING:
            root.bind(real[first], second, _BINDING[flag], missing_ok=flag.endswith("-try"))
        elif flag == "--tmpfs":
            root.tmpfs(first, size)
        elif flag == "--proc":
            root.proc(first, last_namespace="--disable-userns" in flags.single)
        elif flag == "--dev":
            root.dev(first)
        elif flag == "--dir":
            root.make_folder(first)
        elif flag == "--symlink":
            root.make_folder(os.path.dirname(second))  # noqa: PTH120
            os.symlink(first, second)  # noqa: PTH211
        elif flag == "--ro-bind-data":
            root.data(data[first], second)
        elif flag == "--remount-ro" and first == "/":
            closed = True
        elif flag == "--remount-ro":
            root.add_flags(first, _RDONLY)
        size = first if flag == "--size" else ""
    root.close(closed)


def _drop_capabilities() -> None:
    for capability in range(_HIGHEST_CAPABILITY + 1):
        _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)
    _libc.prctl(_PR_CAP_AMBIENT, ctypes.c_ulong(_CAP_AMBIENT_CLEAR_ALL), 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, bytes(24)), "dropping capabilities")


def _filter_calls(program: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))

    loaded = Program(len(program) // 8, program)
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(loaded))


def _become(flags: Flags, data: dict[str, bytes], lifeline: int, tell: int) -> None:
    """The first process inside: make the walls, then become the program."""
    mask = os.umask(0)
    _check(_libc.unshare(_NEWNS), "new mounts")
    _mounted(_mount(None, "/", None, _REC | _PRIVATE), "mounts of its own")
    if flags.kinds & _NEWNET:
        _raise_loopback()
    if name := flags.single.get("--hostname", "").encode():
        _check(_libc.sethostname(name, ctypes.c_size_t(len(name))), "naming the host")
    _lay_out(flags, data)
    os.chdir(flags.single["--chdir"])
    # Mounts belong to the namespace around this one: whatever it may become in here, it cannot change them.
    _check(_libc.unshare(_NEWUSER), "a second user namespace")
    _map_user((flags.single["--uid"], flags.single["--gid"]), (0, 0))
    os.setsid()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _drop_capabilities()
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    os.umask(mask)
    for number in (_SIGPIPE, _SIGXFSZ):  # Python ignores them, and what is ignored stays so in a new program
        _libc.signal(number, None)
    os.read(lifeline, 1)
    if _is_hung_up(lifeline):
        return
    os.write(tell, str(time.process_time()).encode())
    _filter_calls(data[flags.single["--seccomp"]])
    os.execv(flags.program[0], flags.program)


def _is_hung_up(reader: int) -> bool:
    """Whether the process at the other end is gone."""
    (poll := select.poll()).register(reader, 0)
    return bool(poll.poll(0))


def _run(parent: int, flags: Flags) -> int:
    status = int(flags.single["--json-status-fd"])
    os.set_inheritable(status, False)
    given = [first for flag, first, _ in flags.steps if flag == "--ro-bind-data"]
    data = {number: _read(int(number)) for number in (*given, flags.single["--seccomp"])}
    user = os.geteuid(), os.getegid()
    _check(_libc.unshare(flags.kinds), "new namespaces")
    if "--unshare-cgroup-try" in flags.single:
        _libc.unshare(_NEWCGROUP)
    _map_user(("0", "0"), user)
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        return 1
    lifeline, holds_alive = os.pipe()
    hears, tell = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(holds_alive)
        os.close(hears)
        try:
            _become(flags, data, lifeline, tell)
        except (Failure, OSError) as error:
            os.write(2, f"{error}\n".encode())
        os._exit(1)
    os.close(lifeline)
    os.close(tell)
    _drop_capabilities()
    os.write(status, b'{ "child-pid": %d }\n' % first)
    os.write(holds_alive, b"g")
    own_time = float(_read(hears) or 0)
    _, ended, usage = os.wait4(first, 0)
    code = os.waitstatus_to_exitcode(ended)
    spent = max(0.0, usage.ru_utime + usage.ru_stime - own_time)
    report = f'{{ "exit-code": {code if code >= 0 else 128 - code}, "cpu-seconds": {spent} }}\n'
    os.write(status, report.encode())
    return code if code >= 0 else 128 - code


def main() -> None:
    try:
        code = _run(int(sys.argv[1]), Flags(sys.argv[2:]))
    except (Failure, OSError) as error:
        os.write(2, f"{error}\n".encode())
        code = 1
    os._exit(code)


if __name__ == "__main__":
    main()
