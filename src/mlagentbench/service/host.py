"""Puts up what a task offers to programs, and says how a sandbox passes it on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mlagentbench.sandbox import Service
from mlagentbench.sandbox.temporary import temporary_folder
from mlagentbench.service.web import LOOPBACK, Server, Site

PORTS = {"papers": 8031, "chat": 8032}
"""Inside of a sandbox that has a network of its own."""
KEY = "none-needed"
"""What programs find as `OPENAI_API_KEY`: clients insist on one."""


@dataclass(frozen=True)
class Offered:
    """For a sandbox's job: the endpoints, and the variables that name them."""

    services: tuple[Service, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


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


def sites_for(names: Sequence[str], papers: Path) -> dict[str, Site]:
    """What a task asks for by name: the index in the folder `papers`, and the stand-in as its chat."""
    sites: dict[str, Site] = {}
    for name in names:
        if name == "papers":
            from mlagentbench.service.catalogue import Catalogue
            from mlagentbench.service.papers import papers_site

            sites[name] = papers_site(Catalogue.read(papers / "papers.json"))
        elif name == "chat":
            from mlagentbench.service.chat import chat_site
            from mlagentbench.service.standin import StandIn

            sites[name] = chat_site(StandIn())
    return sites
