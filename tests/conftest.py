"""A cache that outlives a test run, small tasks that run in an instant, and environments on both sandboxes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

from support.tasks import shared_task
from support.trees import tree

from mlagentbench import Environment, make
from mlagentbench.errors import SandboxUnavailableError
from mlagentbench.sandbox import choose
from mlagentbench.workspace import remove_tree

settings.register_profile("calm", deadline=None)  # how long an example takes decides nothing
settings.load_profile("calm")

BACKENDS = ("bwrap", "landlock")
"""Those that tests of other parts run on. `namespaces` makes bubblewrap's walls: its tests are those of the sandbox."""
FULL = ("bwrap", "namespaces")
ISOLATING = ("bwrap", "namespaces", "landlock")

_IN_NAME = re.compile(rf"[\[-]({'|'.join(ISOLATING)})[\]-]")

# A shell that starts the tests in the background has them ignore Ctrl-C, and so would all that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure() -> None:
    """One key for all tests, also for what is made before the first of them."""
    os.environ["MLAGENTBENCH_SIGNING_KEY"] = str(_cache() / "signing.key")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The last lines name each sandbox that tests were made for, and why they were skipped on one."""
    counts: dict[str, Counter[str]] = {backend: Counter() for backend in ISOLATING}
    reasons: dict[str, set[str]] = {backend: set() for backend in ISOLATING}
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.stats.get(outcome, []):
            found = _IN_NAME.search(report.nodeid)
            if not found or (outcome == "passed" and report.when != "call"):
                continue
            counts[found[1]][outcome] += 1
            if outcome == "skipped":
                reasons[found[1]].add(str(report.longrepr[2]).removeprefix("Skipped: "))
    user = "root" if os.geteuid() == 0 else "an ordinary user"
    default = os.environ.get("MLAGENTBENCH_SANDBOX") or "the strongest that works"
    terminalreporter.section(f"sandboxes, as {user}; the default is {default}")
    for backend, count in counts.items():
        numbers = ", ".join(f"{count[outcome]} {outcome}" for outcome in ("passed", "failed", "skipped"))
        terminalreporter.line(f"{backend}: {numbers}")
        for reason in sorted(reasons[backend]):
            terminalreporter.line(f"  skipped: {reason}")


def _cache() -> Path:
    """In the project where it may be written, so that interpreters are made once; else the user's own place."""
    project = Path(__file__).parent.parent / ".cache"
    if project.is_dir() and not os.access(project, os.W_OK | os.X_OK):
        return Path(tempfile.gettempdir()) / f"mlagentbench-tests-{os.getuid()}"
    if not os.access(project.parent, os.W_OK):
        return Path(tempfile.gettempdir()) / f"mlagentbench-tests-{os.getuid()}"
    return project / f"tests-{os.getuid()}"


@pytest.fixture(scope="session")
def shared_cache() -> Path:
    """Prepared data and interpreters, shared by all workers and kept between test runs."""
    folder = _cache()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def _shared_cache(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(shared_cache))


@pytest.fixture(scope="session")
def tiny_task(shared_cache: Path) -> Path:
    """The task that `new-task` makes. Its starter runs in well under a second. Not to be changed."""
    return shared_task(shared_cache / "tasks")


@pytest.fixture
def own_task(tiny_task: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to be broken, with a cache of its own."""
    monkeypatch.setenv("MLAGENTBENCH_CACHE", str(tmp_path / "cache"))
    return Path(shutil.copytree(tiny_task, tmp_path / "tasks" / "ball"))


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "runs"
    folder.mkdir()
    yield folder
    remove_tree(folder)


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """The default and the fallback."""
    return _working(request.param)


@pytest.fixture(params=FULL)
def full_backend(request: pytest.FixtureRequest) -> str:
    """Each of those that keep every promise: they can offer services and measure time."""
    return _working(request.param)


def _working(backend: str) -> str:
    try:
        choose(backend)
    except SandboxUnavailableError as reason:
        pytest.skip(str(reason))
    return backend


@pytest.fixture
def open_env(tiny_task: Path, runs: Path) -> Iterator[Callable[..., Environment]]:
    """Environments on the tiny task that have been reset; let go of without being graded."""
    opened: list[Environment] = []

    def open_one(**options: Any) -> Environment:
        task = options.pop("task", tiny_task)
        env = make(task, **{"runs": runs, **options})
        opened.append(env)
        env.reset()
        return env

    yield open_one
    for env in opened:
        env.suspend()


@pytest.fixture
def env(open_env: Callable[..., Environment]) -> Environment:
    return open_env()


@pytest.fixture(name="picture")
def picture_of() -> Callable[[Path], dict[str, bytes]]:
    """Every file below a folder with its bytes, links with their target, folders with nothing."""
    return tree
