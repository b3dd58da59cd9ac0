"""Lets the tests here import what lies beside them and beside the sandbox's, and serves sites."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(1, str(Path(__file__).parents[1] / "sandbox"))

from asking import Asker

from mlagentbench.service.web import Server, Site


@pytest.fixture(scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def own_cache(_own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """For tasks that are made for one test: their data are gone afterwards, their interpreter is made once."""
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(_own_cache))
    return _own_cache


@pytest.fixture
def serve() -> Iterator[Callable[[Site], Asker]]:
    """Puts a site on a port of loopback, until the test ends."""
    with ExitStack() as stack:
        server = stack.enter_context(Server())
        yield lambda site: Asker(server.on_port(site))
