"""Experiments in a folder of their own, given as commands."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.acting import actions_file, executing, submitting, writing
from support.killing import MARK
from support.providers import cache_with_shared_data

from mlagentbench.record.folder import RunFolder, find_runs
from mlagentbench.record.summary import Summary, read_summary
from mlagentbench.workspace import remove_tree

COMMAND = str(Path(sys.executable).with_name("mlagentbench"))


@dataclass
class Bench:
    """A folder with tasks and files of experiments in it."""

    folder: Path
    tasks: list[Path]
    environment: dict[str, str]
    mark: str
    """In the environment of all processes that are started here."""
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def file(self, name: str = "mine", **said: Any) -> Path:
        """The file of an experiment; on both tasks, unless something else is said."""
        file = self.folder / f"{name}.yaml"
        content = {"tasks": [str(task) for task in self.tasks], "references": ["starter"]} | said
        file.write_text(yaml.safe_dump(content))
        return file

    def __call__(self, *arguments: object, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [COMMAND, "experiment", *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def json(self, *arguments: object, status: int = 0) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self(*arguments, "--json", status=status).stdout)
        return told

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        """In a session of its own; its output and errors on one pipe."""
        process = subprocess.Popen(
            [COMMAND, "experiment", *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.started.append(process)
        return process

    def processes(self) -> list[int]:
        """All that live and come from an experiment of this bench, but for those in a sandbox, whose end is theirs."""
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if (
                    entry.name.isdigit()
                    and f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes()
                ):
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def runs(self, name: str = "mine") -> list[RunFolder]:
        place = self.folder / "runs" / name
        return find_runs([place]) if place.is_dir() else []

    def summaries(self, name: str = "mine") -> list[Summary]:
        return [read_summary(run) for run in self.runs(name)]


@pytest.fixture
def bench(tiny_task: Path, shared_cache: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    """Two tasks: the tiny one, and another by the same code. Limits of models are this bench's own."""
    other = shared_cache / "tasks" / f"{tiny_task.parent.name}-other"
    if not other.is_dir():
        _copy_task(tiny_task, other)
    own = cache_with_shared_data(shared_cache, tmp_path / "bench-cache")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MLAGENTBENCH_")}
    for name in [name for name in environment if name.endswith("_API_KEY")]:
        del environment[name]
    mark = f"bench-{os.getpid()}-{abs(hash(request.node.nodeid))}"
    environment |= {"MLAGENTBENCH_CACHE": str(own), "COLUMNS": "100", MARK: mark}
    bench = Bench(tmp_path, [tiny_task, other / "other"], environment, mark)
    yield bench
    for pid in bench.processes():
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    for process in bench.started:
        process.communicate()
    if (tmp_path / "runs").exists():
        remove_tree(tmp_path / "runs")


def _copy_task(task: Path, place: Path) -> None:
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(dir=place.parent) as aside:
        copy = Path(shutil.copytree(task, Path(aside) / "made" / "other"))
        definition = copy / "task.toml"
        definition.write_text(definition.read_text().replace('name = "ball"', 'name = "other"'))
        try:
            (Path(aside) / "made").rename(place)
        except OSError:
            assert place.is_dir()


@pytest.fixture
def quick(tmp_path: Path) -> dict[str, Any]:
    """An agent that writes a file, runs the starter and submits."""
    file = actions_file(
        tmp_path / "quick.jsonl", [writing("notes.txt", "x"), executing("train.py"), submitting()]
    )
    return {"agent": "scripted", "label": "quick", "settings": {"file": str(file)}}
