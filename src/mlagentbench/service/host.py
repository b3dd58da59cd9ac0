"""Puts up what a task offers to programs, and says how a sandbox passes it on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from mlagentbench.sandbox import Service
from mlagentbench.sandbox.temporary import temporary_folder
from mlagentbench.service.offering import Offered
from mlagentbench.service.web import LOOPBACK, Server, Site

PORTS = {"papers": 8031, "chat": 8032}
"""Inside of a sandbox that has a network of its own."""
KEY = "none-needed"
"""What programs find as `OPENAI_API_KEY`: clients insist on one."""


@contextmanager
def offered(sites: dict[str, Site], *, own_network: bool) -> Iterator[Offered]:
    """Serve the sites, by the names that tasks have for them, until the end.

    Where programs have a network of their own, they find them at fixed ports of it, and the harness listens on
    sockets in a folder that nobody else may enter. Where they share the host's, its loopback is where they are found,
    at ports that are free.
    """
    with ExitStack() as stack:
        server = stack.enter_context(Server())
        services: list[Service] = []
        # Not below TMPDIR: the path of a socket may have a hundred characters and no more.
        folder = stack.enter_context(temporary_folder("endpoints", "/tmp")) if own_network else None
        for name, site in sites.items():
            if folder is not None:
                server.on_socket(site, folder / name)
                services.append(Service(PORTS[name], socket=folder / name))
            else:
                port = server.on_port(site)
                services.append(Service(port, LOOPBACK, port))
        ports = dict(zip(sites, (service.port for service in services), strict=True))
        yield Offered(tuple(services), environment(ports))


def environment(ports: dict[str, int]) -> dict[str, str]:
    """What programs find in their environment."""
    found: dict[str, str] = {}
    if "papers" in ports:
        found["PAPERS_URL"] = f"http://{LOOPBACK}:{ports['papers']}"
    if "chat" in ports:
        found["OPENAI_BASE_URL"] = f"http://{LOOPBACK}:{ports['chat']}/v1"
        found["OPENAI_API_KEY"] = KEY
    return found
