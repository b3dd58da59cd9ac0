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
from dataclasses import dataclass
from functools import cache

from mlagentbench.errors import SandboxUnavailableError

_LOAD_WORD, _AND, _RETURN = 0x20, 0x54, 0x06
_JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST = 0x15, 0x35
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR, _KILL = 0x7FFF0000, 0x00050000, 0x80000000

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
_SOCK_STREAM, _SOCK_TYPE_MASK = 1, 0xF
_NEW_NAMESPACES = 0x7E020000
"""Every CLONE_NEW* flag that clone() takes."""
_THREAD = 0x10000
"""CLONE_THREAD."""
_TERMINAL_INJECTION = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX."""
_SET_ID = 0o6000
_CREATES = 0o100 | 0o20000000
"""O_CREAT and the bit that makes O_TMPFILE."""
_MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "creat": 1, "mknod": 1, "mknodat": 2}
"""Calls that set a mode, and which argument is it. A set-user-id program left in a workspace would be a way
to become the harness's user for everybody on the machine."""
_OPENS = {"open": (1, 2), "openat": (2, 3)}
"""Calls that may make a file: the places of their flags and of the mode."""
_ON_OTHERS = {"prlimit64": 0, "setpriority": 1, "ioprio_set": 1, "sched_setscheduler": 0}
"""Calls that change another process, and which argument names it; 0 is the caller."""

_ABSENT = """
    io_uring_setup io_uring_enter io_uring_register memfd_create memfd_secret clone3 shmget openat2
"""
"""Answered as if the kernel did not have them, so that libraries take another way."""
_REFUSED = """
    bpf perf_event_open userfaultfd keyctl add_key request_key kexec_load kexec_file_load
    ptrace process_vm_readv process_vm_writev process_madvise kcmp pidfd_getfd
    open_by_handle_at name_to_handle_at unshare setns mount umount2 pivot_root chroot
    open_tree move_mount fsopen fsconfig fsmount fspick mount_setattr
    init_module finit_module delete_module reboot swapon swapoff acct syslog quotactl
    settimeofday clock_settime clock_adjtime adjtimex lookup_dcookie fanotify_init vhangup
"""


def _table(text: str) -> dict[str, int]:
    words = text.split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


_SAME_EVERYWHERE = _table("""
    io_uring_setup 425  io_uring_enter 426  io_uring_register 427  open_tree 428  move_mount 429  fsopen 430
    fsconfig 431  fsmount 432  fspick 433  clone3 435  openat2 437  pidfd_getfd 438  process_madvise 440
    mount_setattr 442  memfd_secret 447  fchmodat2 452
""")
_X86_64 = _table("""
    open 2  ioctl 16  shmget 29  socket 41  clone 56  fork 57  vfork 58  creat 85  chmod 90  fchmod 91
    ptrace 101  syslog 103  mknod 133  setpriority 141  sched_setscheduler 144  vhangup 153  pivot_root 155
    adjtimex 159  chroot 161
    acct 163  settimeofday 164  mount 165  umount2 166  swapon 167  swapoff 168  reboot 169  init_module 175
    delete_module 176  quotactl 179  lookup_dcookie 212  clock_settime 227  kexec_load 246  add_key 248
    request_key 249  keyctl 250  ioprio_set 251  openat 257  mknodat 259  fchmodat 268  unshare 272
    perf_event_open 298  fanotify_init 300  prlimit64 302  name_to_handle_at 303  open_by_handle_at 304
    clock_adjtime 305  setns 308  process_vm_readv 310  process_vm_writev 311  kcmp 312  finit_module 313
    memfd_create 319  kexec_file_load 320  bpf 321  userfaultfd 323
""")
_AARCH64 = _table("""
    lookup_dcookie 18  ioctl 29  ioprio_set 30  mknodat 33  umount2 39  mount 40  pivot_root 41  chroot 51
    fchmod 52  fchmodat 53  openat 56  vhangup 58  quotactl 60  acct 89  unshare 97  kexec_load 104
    init_module 105  delete_module 106  clock_settime 112  syslog 116  ptrace 117  sched_setscheduler 119
    setpriority 140  reboot 142  settimeofday 170  adjtimex 171  shmget 194  socket 198  add_key 217
    request_key 218  keyctl 219  clone 220  swapon 224  swapoff 225  perf_event_open 241  prlimit64 261
    fanotify_init 262  name_to_handle_at 264  open_by_handle_at 265  clock_adjtime 266  setns 268
    process_vm_readv 270  process_vm_writev 271  kcmp 272  finit_module 273  memfd_create 279  bpf 280
    userfaultfd 282  kexec_file_load 294
""")


@dataclass(frozen=True)
class _Machine:
    audit_number: int
    numbers: dict[str, int]
    foreign_from: int | None
    """Numbers from here on belong to another calling convention (x32)."""


_MACHINES = {
    "x86_64": _Machine(0xC000003E, _X86_64 | _SAME_EVERYWHERE, 0x40000000),
    "aarch64": _Machine(0xC00000B7, _AARCH64 | _SAME_EVERYWHERE, None),
}

EVERY_FAMILY = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)
"""For sandboxes with a network namespace of their own, which does the blocking."""


@cache
def filter_program(
    families: tuple[int, ...] = EVERY_FAMILY,
    streams_only: bool = False,
    others_visible: bool = False,
    one_process: bool = False,
    machine: str = "",
) -> bytes:
    """The filter as the kernel loads it: an array of `struct sock_filter`.

    `families` are the socket families that can be made; with `streams_only`, Internet sockets only as TCP.
    With `others_visible` (no PID namespace), limits can be set on oneself only.
    With `one_process`, threads can be made and processes cannot.
    """
    name = machine or platform.machine()
    if name not in _MACHINES:
        raise SandboxUnavailableError(
            f"No system-call filter is known for {name} machines."
            " Use --sandbox docker, or --sandbox none at your own risk."
        )
    chosen = _MACHINES[name]
    code = [
        _instruction(_LOAD_WORD, _ARCHITECTURE),
        _instruction(_JUMP_IF_EQUAL, chosen.audit_number, 1, 0),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD_WORD, _NUMBER),
    ]
    if chosen.foreign_from is not None:
        code += [
            _instruction(_JUMP_IF_AT_LEAST, chosen.foreign_from, 0, 1),
            _instruction(_RETURN, _ERROR | errno.ENOSYS),
        ]
    code += _answer(_numbers(chosen, _ABSENT), errno.ENOSYS)
    code += _answer(_numbers(chosen, _REFUSED), errno.EPERM)
    code += _on_call(chosen.numbers["socket"], _socket_rules(families, streams_only))
    if one_process:
        code += _answer(
            (chosen.numbers[call] for call in ("fork", "vfork") if call in chosen.numbers), errno.EPERM
        )
        code += _on_call(chosen.numbers["clone"], _demand_flag(0, _THREAD))
    code += _on_call(chosen.numbers["clone"], _refuse_flags(0, _NEW_NAMESPACES))
    code += _on_call(chosen.numbers["ioctl"], _refuse_values(1, _TERMINAL_INJECTION))
    for call, mode in _MODES.items():
        if call in chosen.numbers:
            code += _on_call(chosen.numbers[call], _refuse_flags(mode, _SET_ID))
    for call, (flags, mode) in _OPENS.items():
        if call in chosen.numbers:
            code += _on_call(chosen.numbers[call], _refuse_flags_if(flags, _CREATES, mode, _SET_ID))
    if others_visible:
        for call, other in _ON_OTHERS.items():
            code += _on_call(chosen.numbers[call], _refuse_flags(other, 0xFFFFFFFF))
    code.append(_instruction(_RETURN, _ALLOW))
    return b"".join(code)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _numbers(machine: _Machine, names: str) -> list[int]:
    return [machine.numbers[name] for name in names.split()]


def _answer(numbers: Iterable[int], error: int) -> list[bytes]:
    """Each call gets its own return, so that no jump is ever longer than its eight bits."""
    code = []
    for number in numbers:
        code += [_instruction(_JUMP_IF_EQUAL, number, 0, 1), _instruction(_RETURN, _ERROR | error)]
    return code


def _on_call(number: int, body: list[bytes]) -> list[bytes]:
    """`body` decides about this call; what it does not answer is allowed."""
    body = [*body, _instruction(_RETURN, _ALLOW)]
    return [_instruction(_JUMP_IF_EQUAL, number, 0, len(body)), *body]


def _argument(index: int) -> bytes:
    return _instruction(_LOAD_WORD, _ARGUMENTS + 8 * index)


def _socket_rules(families: tuple[int, ...], streams_only: bool) -> list[bytes]:
    refuse = _instruction(_RETURN, _ERROR | errno.EACCES)
    code = [_argument(0)]
    for family in families:
        if streams_only and family in (AF_INET, AF_INET6):
            check = [
                _argument(1),
                _instruction(_AND, _SOCK_TYPE_MASK),
                _instruction(_JUMP_IF_EQUAL, _SOCK_STREAM, 1, 0),
                refuse,
            ]
        else:
            check = []
        check = [*check, _instruction(_RETURN, _ALLOW)]
        code += [_instruction(_JUMP_IF_EQUAL, family, 0, len(check)), *check]
    return [*code, refuse]


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
    return [_argument(index), *_answer(values, errno.EPERM)]
