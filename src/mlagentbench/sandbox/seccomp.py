"""A system-call filter, assembled by hand: no library is needed to build it and no process to load it.

It stops what agent code never needs and what has been a way out before: other architectures' calls,
io_uring, bpf, tracing of other processes, keyrings, mounts, new namespaces. Memory that no process is seen
to hold (memfd, System V shared memory) is refused as well, since it would escape the count of memory in use.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable
from functools import cache

from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox.syscalls import MACHINES, Machine

_LOAD_WORD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST = 0x15, 0x35
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ASK, _ERROR, _KILL = 0x7FFF0000, 0x7FC00000, 0x00050000, 0x80000000

_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16
_FAMILIES = (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)
_SOCK_STREAM, _SOCK_SEQPACKET, _SOCK_TYPE_MASK = 1, 5, 0xF
_NEW_NAMESPACES = 0x7E020000
"""Every CLONE_NEW* flag that clone() takes."""
_THREAD = 0x10000
"""CLONE_THREAD."""
_TERMINAL_INJECTION = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX."""
_ON_FILES_KIND, _ON_FILES = 0xFF00, (0x6600, 0x5800, 0x7600, 0x9400)
"""Kinds of ioctls by which file systems change a file, or make a snapshot, through a descriptor for reading only."""
_HARMLESS_ON_FILES = (
    *(0x80086601, 0x80046601, 0x801C581F, 0xC020660B, 0x80087601),
    *(0x40049409, 0x4020940D, 0xC0189436),
)
"""Those that read (FS_IOC_GETFLAGS, FSGETXATTR, FIEMAP, GETVERSION), and clones, for which a file must be writable."""
_LEASES = (1024, 1026)
"""F_SETLEASE and F_NOTIFY, by which others' use of a file is held up or seen."""
_SET_ID = 0o6000
_ACCESS_MODE, _TRUNCATES = 0o3, 0o1000
_CREATES = 0o100 | 0o20000000
"""O_CREAT and the bit that makes O_TMPFILE."""
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""Calls that set a mode, and which argument is it. A set-user-id program left in a workspace would be a way
to become the harness's user for everybody on the machine."""
_OPENS = {"open": (1, 2), "openat": (2, 3)}
"""Calls that may make a file: the places of their flags and of the mode."""
_ON_OTHERS = {
    **{"prlimit64": 0, "setpriority": 1, "ioprio_set": 1},
    **{"sched_setscheduler": 0, "sched_setparam": 0, "sched_setattr": 0},
}
"""Calls that change another process, and which argument names it; 0 is the caller."""

_ABSENT = """
    io_uring_setup io_uring_enter io_uring_register memfd_create memfd_secret clone3 shmget openat2
"""
"""Answered as if the kernel did not have them, so that libraries take another way."""
_REFUSED = """
    bpf perf_event_open userfaultfd keyctl add_key request_key kexec_load kexec_file_load
    ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd
    open_by_handle_at name_to_handle_at unshare setns mount umount2 pivot_root chroot
    open_tree open_tree_attr move_mount fsopen fsconfig fsmount fspick mount_setattr
    init_module finit_module delete_module reboot swapon swapoff acct syslog quotactl
    settimeofday clock_settime clock_adjtime adjtimex lookup_dcookie fanotify_init vhangup
"""
_ABSENT_ON_THE_HOST = """
    msgget msgsnd msgrcv msgctl semget semop semtimedop semctl shmat shmctl mq_open mq_unlink
    inotify_init inotify_init1 utime utimes futimesat file_setattr
"""
"""Without namespaces: queues and semaphores that outlive a run, watches on folders that may not be read, and older
calls for times, which libraries do without."""
_UNSUPPORTED_ON_THE_HOST = """
    setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat
"""
_IGNORED_ON_THE_HOST = "chown fchown lchown fchownat"
"""Answered as done: archives and copies try to keep owners, and nothing depends on it."""
_IGNORED_WITHOUT_BROKER = ("chmod", "fchmod", "fchmodat", "fchmodat2", "utimensat")


@cache
def filter_program(
    *,
    shares_host: bool = False,
    network: bool = True,
    asks: tuple[str, ...] = (),
    broker: bool = True,
    one_process: bool = False,
    machine: str = "",
) -> bytes:
    """The filter as the kernel loads it: an array of `struct sock_filter`.

    With `shares_host` (no namespaces), nothing of the host can be changed that Landlock has no rules for. Without
    `network`, sockets are local ones that must connect before they send. `asks` are calls about which the broker
    decides; without a `broker`, those about modes and times are answered as done, and the others refused.
    With `one_process`, threads can be made and processes cannot.
    """
    rules = _Rules(_machine(machine))
    rules.answer(_ABSENT, errno.ENOSYS)
    rules.answer(_REFUSED, errno.EPERM)
    if shares_host:
        rules.answer(_ABSENT_ON_THE_HOST, errno.ENOSYS)
        rules.answer(_UNSUPPORTED_ON_THE_HOST, errno.ENOTSUP)
        rules.answer(_IGNORED_ON_THE_HOST, 0)
        for call, other in _ON_OTHERS.items():
            rules.add(call, _refuse_flags(other, 0xFFFFFFFF))
    for call in asks:
        if broker:
            decision = [_instruction(_RETURN, _ASK)]
        else:
            error = 0 if call in _IGNORED_WITHOUT_BROKER else errno.EPERM
            decision = [_instruction(_RETURN, _ERROR | error)]
        rules.add(call, [*(_allow_zero(0) if call == "sched_setaffinity" else ()), *decision])
    rules.add("socket", _family_rules() if network else _local_socket_rules())
    if not network:
        rules.add("socketpair", _local_socket_rules())
    if one_process:
        rules.answer("fork vfork", errno.EPERM)
    clone = _refuse_flags(0, _NEW_NAMESPACES)
    rules.add("clone", [*(_demand_flag(0, _THREAD) if one_process else ()), *clone])
    rules.add("fcntl", _refuse_values(1, _LEASES))
    on_files = _refuse_ioctls_on_files() if shares_host else []
    rules.add("ioctl", [*_refuse_values(1, _TERMINAL_INJECTION), *on_files])
    for call, mode in _MODES.items():
        if call not in asks:
            rules.add(call, _refuse_flags(mode, _SET_ID))
    for call, (flags, mode) in _OPENS.items():
        cuts = _refuse_cutting(flags) if shares_host else ()
        rules.add(call, [*cuts, *_refuse_flags_if(flags, _CREATES, mode, _SET_ID)])
    return rules.program()


def numbers_of(calls: Iterable[str]) -> dict[str, int]:
    """The numbers of these calls on this machine, as far as it has them."""
    known = _machine("").numbers
    return {call: known[call] for call in calls if call in known}


def _machine(name: str) -> Machine:
    name = name or platform.machine()
    if name not in MACHINES:
        raise SandboxUnavailableError(
            f"No system-call filter is known for {name} machines."
            " Use --sandbox docker, or --sandbox none at your own risk."
        )
    return MACHINES[name]


class _Rules:
    """At most one rule a call: of two, the second would never be reached."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._rules: dict[int, list[bytes]] = {}

    def add(self, call: str, body: list[bytes]) -> None:
        """`body` decides about this call, where the machine has it; what it does not answer is allowed."""
        number = self._machine.numbers.get(call)
        if number is None:
            return
        assert number not in self._rules, f"two rules for {call}"
        self._rules[number] = [*body, _instruction(_RETURN, _ALLOW)]

    def answer(self, calls: str, error: int) -> None:
        for call in calls.split():
            self.add(call, [_instruction(_RETURN, _ERROR | error)])

    def program(self) -> bytes:
        code = [
            _instruction(_LOAD_WORD, _ARCHITECTURE),
            _instruction(_JUMP_IF_EQUAL, self._machine.audit_number, 1, 0),
            _instruction(_RETURN, _KILL),
            _instruction(_LOAD_WORD, _NUMBER),
        ]
        if self._machine.foreign_from is not None:
            code += [
                _instruction(_JUMP_IF_AT_LEAST, self._machine.foreign_from, 0, 1),
                _instruction(_RETURN, _ERROR | errno.ENOSYS),
            ]
        for number, body in self._rules.items():
            code += [_instruction(_JUMP_IF_EQUAL, number, 0, len(body)), *body]
        code.append(_instruction(_RETURN, _ALLOW))
        return b"".join(code)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _argument(index: int) -> bytes:
    return _instruction(_LOAD_WORD, _ARGUMENTS + 8 * index)


def _allow_zero(index: int) -> list[bytes]:
    return [_argument(index), _instruction(_JUMP_IF_EQUAL, 0, 0, 1), _instruction(_RETURN, _ALLOW)]


def _allow_values(values: Iterable[int]) -> list[bytes]:
    code = []
    for value in values:
        code += [_instruction(_JUMP_IF_EQUAL, value, 0, 1), _instruction(_RETURN, _ALLOW)]
    return code


def _family_rules() -> list[bytes]:
    return [_argument(0), *_allow_values(_FAMILIES), _instruction(_RETURN, _ERROR | errno.EACCES)]


def _local_socket_rules() -> list[bytes]:
    """Datagrams are sent to addresses that no filter and no broker sees, so there are none."""
    refuse = _instruction(_RETURN, _ERROR | errno.EACCES)
    kinds = _allow_values((_SOCK_STREAM, _SOCK_SEQPACKET))
    return [
        _argument(0),
        _instruction(_JUMP_IF_EQUAL, _AF_UNIX, 1, 0),
        refuse,
        _argument(1),
        _instruction(_AND, _SOCK_TYPE_MASK),
        *kinds,
        refuse,
    ]


def _refuse_flags(index: int, mask: int) -> list[bytes]:
    return [
        _argument(index),
        _instruction(_AND, mask),
        _instruction(_JUMP_IF_EQUAL, 0, 1, 0),
        _instruction(_RETURN, _ERROR | errno.EPERM),
    ]


def _demand_flag(index: int, flag: int) -> list[bytes]:
    return [
        _argument(index),
        _instruction(_AND, flag),
        _instruction(_JUMP_IF_EQUAL, flag, 1, 0),
        _instruction(_RETURN, _ERROR | errno.EPERM),
    ]


def _refuse_flags_if(condition: int, condition_mask: int, index: int, mask: int) -> list[bytes]:
    body = _refuse_flags(index, mask)
    return [
        _argument(condition),
        _instruction(_AND, condition_mask),
        _instruction(_JUMP_IF_EQUAL, 0, len(body), 0),
        *body,
    ]


def _refuse_values(index: int, values: Iterable[int]) -> list[bytes]:
    code = [_argument(index)]
    for value in values:
        code += [
            _instruction(_JUMP_IF_EQUAL, value, 0, 1),
            _instruction(_RETURN, _ERROR | errno.EPERM),
        ]
    return code


def _refuse_ioctls_on_files() -> list[bytes]:
    code = [_argument(1), *_allow_values(_HARMLESS_ON_FILES), _instruction(_AND, _ON_FILES_KIND)]
    for kind in _ON_FILES:
        code += [
            _instruction(_JUMP_IF_EQUAL, kind, 0, 1),
            _instruction(_RETURN, _ERROR | errno.ENOTTY),
        ]
    return code


def _refuse_cutting(flags: int) -> list[bytes]:
    """A file that is opened for reading only may not be cut short by it."""
    return [
        _argument(flags),
        _instruction(_AND, _ACCESS_MODE | _TRUNCATES),
        _instruction(_JUMP_IF_EQUAL, _TRUNCATES, 0, 1),
        _instruction(_RETURN, _ERROR | errno.EACCES),
    ]
