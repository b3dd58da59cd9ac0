"""The installed command, given in a folder of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

COMMAND = str(Path(sys.executable).with_name("mlagentbench"))


@dataclass(frozen=True)
class Place:
    """A working folder in which commands are given."""

    folder: Path
    task: Path
    environment: dict[str, str]

    def __call__(
        self, *arguments: object, status: int = 0, said: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Give a command, and see to it that it ends with this status."""
        done = subprocess.run(
            [COMMAND, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment,
            input=said,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    def json(self, *arguments: object, status: int = 0) -> Any:
        return json.loads(self(*arguments, "--json", status=status).stdout)


@pytest.fixture
def place(shared_cache: Path, tiny_task: Path, tmp_path: Path) -> Place:
    """An empty folder to work in, beside the task that `new-task` makes."""
    kept = "MLAGENTBENCH_SANDBOX"  # the second pass names the fallback
    environment = {
        name: value
        for name, value in os.environ.items()
        if name == kept or not name.startswith("MLAGENTBENCH_")
    }
    return Place(
        tmp_path, tiny_task, environment | {"MLAGENTBENCH_CACHE": str(shared_cache), "COLUMNS": "100"}
    )


@pytest.fixture
def scripted(place: Place) -> Callable[..., Path]:
    """Makes a run out of actions, and gives its folder."""

    def make(*actions: tuple[str, dict[str, Any]], status: int = 0, options: tuple[object, ...] = ()) -> Path:
        file = place.folder / "actions.jsonl"
        file.write_text("\n".join(json.dumps({"name": name, "args": args}) for name, args in actions))
        told = place.json("run", place.task, "-a", "scripted", "-c", f"file={file}", *options, status=status)
        return Path(told["runs"][0]["folder"])

    return make
