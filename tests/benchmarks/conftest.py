"""The measurements are scripts beside the package; here they are imported as such."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from places import Ready, make_ready
from tiny_task import Shape

from mlagentbench import Environment


@pytest.fixture
def ready(tmp_path: Path) -> Ready:
    """A prepared task with a workspace of many files in several folders."""
    return make_ready(tmp_path, Shape("counted", 300_000, 250))


@pytest.fixture
def started(ready: Ready) -> Iterator[Environment]:
    env = ready.start("runs")
    yield env
    env.suspend()


_listed: list[object] = []
_hooked: list[bool] = []


def _note_listings(event: str, arguments: tuple[object, ...]) -> None:
    if event == "os.scandir":
        _listed.append(arguments[0])


@pytest.fixture
def count_listings() -> Callable[[Callable[[], object]], int]:
    """How many folders something lists. The interpreter itself tells: a hook hears of every listing."""
    if not _hooked:
        sys.addaudithook(_note_listings)
        _hooked.append(True)

    def count(work: Callable[[], object]) -> int:
        _listed.clear()
        work()
        return len(_listed)

    return count
