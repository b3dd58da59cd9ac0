"""Confines itself and runs a program; stays behind as the reaper of every orphan. Standard library only.

    python -I -S launcher.py DESCRIPTOR PROGRAM ARGUMENT...

reads what to do from DESCRIPTOR, as JSON. It speaks the same words as bubblewrap does on its status
descriptor, and keeps the same gate: it says that it is ready, and runs the program when a line comes.
"""

from __future__ import annotations

import _socket
import _thread
import ctypes
import json
import os
import resource
import signal
import struct
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __name__ != "__main__":
    from mlagentbench.sandbox import broker
else:
    sys.path.insert(0, os.path.dirname(__file__))  # noqa: PTH120 - pathlib takes longer to load than all of this
    import broker

_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 22, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_SECCOMP_SET_MODE_FILTER, _SECCOMP_NEW_LISTENER = 1, 8
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_RULE_PATH = 1
_CAPABILITY_VERSION = 0x20080522
_HIGHEST_CAPABILITY = 63

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _prctl(option: int, argument: int, pointer: Any = 0) -> None:
    _call("prctl", _libc.prctl(option, ctypes.c_ulong(argument), pointer, 0, 0))


def landlock_version() -> int:
    """The kernel's Landlock interface, from 1 up; 0 where there is none."""
    return max(0, int(_libc.syscall(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)))


def _restrict_files(told: dict[str, Any]) -> None:
    """Landlock: what no rule allows is refused from now on, here and in everything started from here."""
    attributes = struct.pack("=QQQ", told["files"], told["network"], told["scopes"])[: told["size"]]
    ruleset = _call(
        "landlock", _libc.syscall(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    )
    for path, access in told["paths"]:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        rule = struct.pack("=Qi", access, place)
        _call(f"landlock {path}", _libc.syscall(_LANDLOCK_ADD, ruleset, _RULE_PATH, rule, 0))
        os.close(place)
    _call("landlock", _libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0))
    os.close(ruleset)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def _filter_calls(told: dict[str, Any], channel: Any) -> None:
    """Load the filter, and hand the descriptor at which it asks to the launcher. Within another filter that asks, as
    some containers have one, there can be none; then the filter decides alone."""
    asking, alone = (bytes.fromhex(told[name]) for name in ("filter", "filter-alone"))
    loaded = _Program(len(asking) // 8, asking)
    listener = _libc.syscall(
        told["seccomp"], _SECCOMP_SET_MODE_FILTER, _SECCOMP_NEW_LISTENER, ctypes.byref(loaded)
    )
    if listener < 0:
        loaded = _Program(len(alone) // 8, alone)
        _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(loaded))
    else:
        broker.send_listener(channel, listener)
        os.close(listener)
    channel.close()


def _drop_capabilities() -> None:
    """Root without capabilities owns its files and nothing else; no program gives them back."""
    for capability in range(_HIGHEST_CAPABILITY + 1):
        _libc.prctl(_PR_CAPBSET_DROP, ctypes.c_ulong(capability), 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _call("capset", _libc.capset(header, bytes(24)))


def _become(told: dict[str, Any], argv: list[str], channel: Any) -> None:
    os.setsid()
    os.write(told["status"], json.dumps({"child-pid": os.getpid()}).encode() + b"\n")
    os.close(told["status"])
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if os.geteuid() == 0:
        _drop_capabilities()
    _restrict_files(told)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _filter_calls(told, channel)
    os.write(1, b"\x06")
    while (letter := os.read(0, 1)) != b"\n":
        if not letter:
            os._exit(125)
    try:
        os.execvp(argv[0], argv)
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127)


def _descendants() -> list[int]:
    found = [os.getpid()]
    for pid in found:
        try:
            threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
        except OSError:
            continue
        for thread in threads:
            try:
                with open(f"/proc/{pid}/task/{thread}/children", "rb") as file:
                    found += map(int, file.read().split())
            except OSError:
                continue
    return found[1:]


def _reap() -> tuple[dict[int, int], bool]:
    """Statuses of children that have ended; whether any are left."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended, False
        if pid == 0:
            return ended, True
        ended[pid] = status


def _end_all(statuses: dict[int, int]) -> None:
    """Kill until there is nothing to kill: each round catches what the one before let slip."""
    left = True
    while left:
        for pid in _descendants():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        ended, left = _reap()
        statuses.update(ended)


def main() -> None:
    with os.fdopen(int(sys.argv[1]), "rb") as file:
        told = json.load(file)
    argv = sys.argv[2:]
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    waited = {signal.SIGCHLD, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != told["parent"]:
        return
    channel, channel_inside = _socket.socketpair()
    program = os.fork()
    if program == 0:
        channel.close()
        _become(told, argv, channel_inside)
    channel_inside.close()
    listener = broker.receive_listener(channel)
    channel.close()
    if listener is not None:
        _thread.start_new_thread(broker.Broker(listener, told["asks"], told["own"]).serve, ())
    if told["control"] is not None:
        os.close(told["control"])
    statuses: dict[int, int] = {}
    while program not in statuses:
        if signal.sigwait(waited) == signal.SIGTERM:
            break
        statuses.update(_reap()[0])
    _end_all(statuses)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = os.waitstatus_to_exitcode(statuses[program])
    report: dict[str, float] = {"exit-code": code} if code >= 0 else {"signal": -code}
    report |= {"peak-memory": usage.ru_maxrss * 1024, "cpu-seconds": usage.ru_utime + usage.ru_stime}
    os.write(told["status"], json.dumps(report).encode() + b"\n")


if __name__ == "__main__":
    main()
