"""Which of the things that forbid user namespaces it is, from what programs said on machines that have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlagentbench.sandbox.diagnosis import Host, allow_by_profile, explain, remedy, why_refused

APPARMOR = {"kernel/apparmor_restrict_unprivileged_userns": "1", "user/max_user_namespaces": "63000"}
NO_CLONE = {"kernel/unprivileged_userns_clone": "0", "user/max_user_namespaces": "63000"}
NONE_AT_ALL = {"user/max_user_namespaces": "0"}
OPEN = {"user/max_user_namespaces": "63000", "kernel/unprivileged_userns_clone": "1"}

SAID_UID_MAP = "bwrap: setting up uid map: Permission denied"
SAID_LOOPBACK = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"
SAID_NO_PERMISSIONS = (
    "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user"
    " namespaces. On e.g. debian this can be enabled with 'sysctl kernel.unprivileged_userns_clone=1'."
)
SAID_NO_SPACE = "bwrap: Creating new namespace failed: No space left on device"
SAID_PROC = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted"
OURS_UID_MAP = "/proc/self/uid_map cannot be written: Operation not permitted"
OURS_MOUNT = "mounts of its own: Permission denied"
OURS_NAMESPACES = "new namespaces: Operation not permitted"
OURS_PROC = "the list of processes at /proc: Operation not permitted"


def host(folder: Path, settings: dict[str, str], *, filtered: bool = False, root: bool = False) -> Host:
    for name, value in settings.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(value + "\n")
    status = folder / "status"
    status.write_text(f"Name:\tpython\nSeccomp:\t{2 if filtered else 0}\nSeccomp_filters:\t1\n")
    return Host(folder, status, root)


@pytest.mark.parametrize(
    ("said", "settings", "filtered", "reason", "command"),
    [
        (SAID_UID_MAP, APPARMOR, False, "AppArmor keeps", "apparmor_parser"),
        (SAID_LOOPBACK, APPARMOR, False, "AppArmor keeps", "apparmor_parser"),
        (OURS_UID_MAP, APPARMOR, False, "AppArmor keeps", "apparmor_parser"),
        (OURS_MOUNT, APPARMOR, False, "AppArmor keeps", "apparmor_parser"),
        (SAID_NO_PERMISSIONS, NO_CLONE, False, "unprivileged_userns_clone is 0", "userns_clone=1"),
        (OURS_NAMESPACES, NO_CLONE, False, "unprivileged_userns_clone is 0", "userns_clone=1"),
        (SAID_NO_SPACE, NONE_AT_ALL, False, "max_user_namespaces is 0", "namespaces=10000"),
        (SAID_NO_PERMISSIONS, OPEN, True, "system-call filter refuses", "seccomp=unconfined"),
        (OURS_NAMESPACES, OPEN, True, "system-call filter refuses", "seccomp=unconfined"),
        (SAID_PROC, OPEN, False, "parts of /proc are covered", "systempaths=unconfined"),
        (OURS_PROC, OPEN, False, "parts of /proc are covered", "systempaths=unconfined"),
    ],
)
def test_the_cause_is_named_with_the_command_that_helps(
    tmp_path: Path, said: str, settings: dict[str, str], filtered: bool, reason: str, command: str
):
    machine = host(tmp_path, settings, filtered=filtered)
    cause = why_refused(said, machine)
    assert cause is not None
    assert reason in cause.reason and command in cause.command
    assert reason in explain("bubblewrap", said, machine)
    assert said.rstrip(".") in explain("bubblewrap", said, machine)


def test_failures_of_other_kinds_are_not_blamed_on_the_machines_settings(tmp_path: Path):
    machine = host(tmp_path, APPARMOR)
    assert why_refused("bwrap: Can't find source path /opt/x: No such file or directory", machine) is None
    sentence = explain("bubblewrap", "it ended without a word", machine)
    assert sentence == "bubblewrap does not work on this machine. It said: it ended without a word."


def test_what_binds_ordinary_users_is_not_blamed_for_roots_failures(tmp_path: Path):
    machine = host(tmp_path, APPARMOR | NO_CLONE, filtered=True, root=True)
    cause = why_refused(OURS_NAMESPACES, machine)
    assert cause is not None and "system-call filter" in cause.reason


def test_apparmor_is_answered_with_a_profile_and_never_by_switching_it_off(tmp_path: Path):
    for name in ("bwrap", "namespaces"):
        command = remedy(name, OURS_UID_MAP, host(tmp_path, APPARMOR))
        assert command == allow_by_profile()
        assert "sysctl" not in command
