"""Servers of each provider, models that speak to them, and waiting that takes no time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model.servers import WIRES, Server, Wire, serving

from mlagentbench.model import Model, Patience, load_model

CANARY = "sk-canary-7f3a9b2c5d8e1f"


class Naps:
    """A sleep that only notes how long it would have been."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


@pytest.fixture
def naps() -> Naps:
    return Naps()


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Each provider has the canary as its key; nothing of the user's environment leads elsewhere."""
    for wire in WIRES:
        monkeypatch.setenv(wire.key_variable, CANARY)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture(params=WIRES, ids=lambda wire: wire.provider)
def wire(request: pytest.FixtureRequest) -> Wire:
    chosen: Wire = request.param
    return chosen


@pytest.fixture
def server(wire: Wire) -> Iterator[Server]:
    with serving(wire) as running:
        yield running


@pytest.fixture
def connect(naps: Naps, tmp_path: Path) -> Callable[..., Model]:
    """A model at a server; by default it asks once."""

    def connected(server: Server, name: str = "", **options: Any) -> Model:
        settings: dict[str, Any] = {"patience": Patience(attempts=1), "timeout": 5.0, "sleep": naps}
        settings |= {"base_url": server.url, "folder": tmp_path / "models"}
        return load_model(name or server.wire.model, **settings | options)

    return connected
