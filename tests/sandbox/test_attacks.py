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

_HERE = Path(__file__).parent
_DOCUMENT = _HERE.parents[1] / "docs" / "sandbox.md"
_USERS = ("as-started", "unprivileged")


@cache
def outcomes(backend: str, user: str, *names: str) -> dict[str, dict[str, object]]:
    """All attacks, or these, in one harness that runs as that user and is there to be attacked."""
    try:
        choose(backend.partition("@")[0])
    except SandboxUnavailableError as error:
        pytest.skip(str(error))
    secret = f"SECRET-OF-COMMAND-LINE-{secrets.token_hex(8)}"
    command = [sys.executable, str(_HERE / "attacks" / "runner.py"), backend, *names, secret]
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
    outcome = outcomes(backend, user)[attack.name]
    expected = attack.landlock if backend == "landlock" else attack.bwrap
    assert outcome["got_through"] == (expected != STOPPED), outcome
    assert outcome["goes_on"], outcome
    assert outcome["survivors"] == 0, outcome


@pytest.mark.parametrize("version", [1, 2, 4])
def test_what_older_versions_of_landlock_have_no_rules_for_is_stopped_too(version: int):
    names = (
        *("cut read-only data short", "cut read-only data short by opening them"),
        *("connect to an abstract socket of the host", "connect to the host's loopback by TCP"),
        *("kill the harness", "stop everything that could end it", "leave a daemon behind (double fork)"),
    )
    for outcome in outcomes(f"landlock@{version}", "as-started", *names).values():
        assert not outcome["got_through"], outcome
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
