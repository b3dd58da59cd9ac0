"""Lets the tests of agents share how a model is scripted."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from telling import Told

from mlagentbench.environment.models import ModelChoice


@pytest.fixture
def speak_with(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give runs these models, whatever name they ask for."""

    def use(act: Told, edit: Told | None = None, fast: Told | None = None) -> None:
        roles = {"act": act, "edit": edit or act, "fast": fast or act}
        monkeypatch.setattr(ModelChoice, "open", lambda self, watch: (roles, lambda name, usage: 0.001))

    return use
