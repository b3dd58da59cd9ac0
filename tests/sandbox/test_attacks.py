"""Every attack of the table, on the default backend and on the fallback, as root and as an ordinary user."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from attacks import ATTACKS, STOPPED, Attack, table
from attacks.scene import ENVIRONMENT_SECRET
from support.users import as_unprivileged, why_not

from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox import choose
from mlagentbench.sandbox.launcher import landlock_version

_HERE = Path(__file__).parent
_DOCUMENT = _HERE.parents[1] / "docs" / "sandbox.md"
_USERS = ("as-started", "unprivileged")


@cache
def outcomes(backend: str, user: str) -> dict[str, dict[str, object]]:
    """All attacks, in one harness that runs as that user and is there to be attacked."""
    try:
        choose(backend)
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    secret = f"SECRET-OF-COMMAND-LINE-{secrets.token_hex(8)}"
    command = [sys.executable, str(_HERE / "attacks" / "runner.py"), backend, secret]
    if user == "unprivileged":
        if why_not():
            pytest.skip(why_not())
        command = as_unprivileged(command)
    environment = {**os.environ, ENVIRONMENT_SECRET: f"SECRET-OF-ENVIRONMENT-{secrets.token_hex(8)}"}
    ran = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    return {outcome["name"]: outcome for outcome in found}


def cases() -> list[object]:
    found = []
    for backend in ("bwrap", "namespaces", "landlock"):
        for user in _USERS:
            group = pytest.mark.xdist_group(f"attacks-{backend}-{user}")
            names = [
                pytest.param(backend, user, a, id=f"{backend}-{user}-{a.name}", marks=group)
                for a in ATTACKS.values()
            ]
            found += names
    return found


@pytest.mark.parametrize(("backend", "user", "attack"), cases())
def test_attack_ends_as_the_table_says(backend: str, user: str, attack: Attack):
    if backend == "landlock" and landlock_version() < attack.since:
        pytest.skip(f"needs Landlock {attack.since}, and this kernel has {landlock_version()}")
    outcome = outcomes(backend, user)[attack.name]
    expected = attack.landlock if backend == "landlock" else attack.bwrap
    if backend == "landlock" and attack.landlock_as_root and user == "as-started" and os.geteuid() == 0:
        expected = attack.landlock_as_root
    assert outcome["got_through"] == (expected != STOPPED), outcome
    assert outcome["goes_on"], outcome
    assert outcome["survivors"] == 0, outcome


def test_default_backend_stops_every_attack_of_the_table():
    assert {attack.bwrap for attack in ATTACKS.values()} == {STOPPED}
    assert len(ATTACKS) >= 45


def test_what_the_fallback_does_not_stop_has_a_reason():
    open_ones = [attack.landlock for attack in ATTACKS.values() if attack.landlock != STOPPED]
    assert all(reason.startswith("not stopped") and len(reason) > 30 for reason in open_ones)


def test_documentation_prints_the_table():
    assert table().strip() in _DOCUMENT.read_text()
