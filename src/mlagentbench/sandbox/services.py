"""Endpoints of the harness inside a sandbox that has no network.

The harness listens on a socket in a folder that only it and the sandbox see; inside, a forwarder around the
program listens on the port of the sandbox's own loopback and passes connections to that socket. There is no
other way out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from mlagentbench.sandbox.launch import Channels, Confinement
from mlagentbench.sandbox.spec import Job, Service
from mlagentbench.sandbox.temporary import temporary_folder

_INSIDE = "/run/mlagentbench"
_SCRIPT = f"{_INSIDE}/relay.py"
_SOCKETS = f"{_INSIDE}/sockets"
_RELAY = Path(__file__).with_name("relay.py")


@dataclass(frozen=True)
class Wrapped:
    """A command line with the forwarder around it, and what must be shown for that."""

    argv: tuple[str, ...]
    shown: tuple[tuple[Path, str], ...] = ()


def wrap(job: Job, channels: Channels) -> Wrapped:
    """The job's own command line where it asks for no services, or has them anyway."""
    if not (needed := forwarded(job)):
        return Wrapped(job.argv)
    from mlagentbench.sandbox.relays import Relays, on_socket

    # Not below TMPDIR: the path of a socket may have a hundred characters and no more.
    folder = channels.later.enter_context(temporary_folder("services", "/tmp"))
    channels.later.enter_context(Relays([on_socket(folder, service) for service in needed]))
    places = [(service.port, f"{_SOCKETS}/{service.port}") for service in needed]
    python = str(job.interpreter.python) if job.interpreter else "/usr/bin/python3"
    argv = (python, "-I", "-S", _SCRIPT, json.dumps(places), *job.argv)
    return Wrapped(argv, ((_RELAY, _SCRIPT), (folder, _SOCKETS)))


def forwarded(job: Job) -> tuple[Service, ...]:
    """Those that a forwarder is needed for: on the host's own network, some are there already."""
    return tuple(service for service in job.services if not (job.network and _is_there_already(service)))


def with_forwarder(confinement: Confinement) -> Confinement:
    """The forwarder is one more process that is ours."""
    return replace(confinement, overhead=confinement.overhead + 1)


def _is_there_already(service: Service) -> bool:
    return service.port == service.host_port and service.host in ("127.0.0.1", "localhost")
