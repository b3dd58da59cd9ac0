"""What a task offers to programs, before anything of it is loaded: tasks that offer nothing pay nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from mlagentbench.errors import TaskError, UsageError
from mlagentbench.sandbox import Service

if TYPE_CHECKING:
    from mlagentbench.service.chat import Answerer, ToolAnswerer
    from mlagentbench.service.web import Site

Index = Literal["services", "grading"]
"""The folder of a task's private data that holds `papers.json`: for work, and for grading."""


@dataclass(frozen=True)
class Offered:
    """For a sandbox's job: the endpoints, and the variables that name them."""

    services: tuple[Service, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Offer:
    """What to put up, and for whom."""

    names: tuple[Literal["papers", "chat"], ...]
    private: Path
    index: Index
    own_network: bool
    """Whether programs have a loopback of their own."""
    network: bool
    """Whether the user consents to services that use the network."""
    cache: Path
    """For answers of services on the network."""
    tools: bool = False
    """Whether chats may use tools, if it is not the stand-in that answers."""

    @property
    def live(self) -> Path | None:
        """The addresses of the real services, where the data name them instead of an index."""
        file = self.private / "services" / "live.json"
        return file if not self.papers.exists() and file.exists() else None

    @property
    def papers(self) -> Path:
        return self.private / self.index / "papers.json"

    def check(self) -> None:
        """Before a run begins: is all there, and is it allowed?"""
        if "papers" not in self.names:
            return
        if self.live and not self.network:
            raise UsageError(
                "This variant searches papers on the network, so it needs your consent: give --network on, or take "
                "the variant mini, which needs no network."
            )
        if not self.live and not self.papers.exists():
            raise TaskError(
                f"The task offers papers, but its prepare.py wrote no {self.index}/papers.json into private."
            )

    @contextmanager
    def open(
        self, answerer: ToolAnswerer | None = None, stand_in: Answerer | None = None
    ) -> Iterator[Offered]:
        """Put up all of it until the end. Without an `answerer`, `stand_in` answers chats."""
        if not self.names:
            yield Offered()
            return
        self.check()
        from mlagentbench.service.host import offered

        with offered(self._sites(answerer, stand_in), own_network=self.own_network) as found:
            yield found

    def _sites(self, answerer: ToolAnswerer | None, stand_in: Answerer | None) -> dict[str, Site]:
        sites: dict[str, Site] = {}
        if "papers" in self.names:
            sites["papers"] = self._papers()
        if "chat" in self.names:
            from mlagentbench.service.chat import chat_site
            from mlagentbench.service.standin import StandIn

            sites["chat"] = chat_site(answerer or stand_in or StandIn(), answerer if self.tools else None)
        return sites

    def _papers(self) -> Site:
        if self.live:
            from mlagentbench.service.live import Addresses, live_site

            return live_site(Addresses.read(self.live), self.cache)
        from mlagentbench.service.catalogue import Catalogue
        from mlagentbench.service.papers import papers_site

        return papers_site(Catalogue.read(self.papers))
