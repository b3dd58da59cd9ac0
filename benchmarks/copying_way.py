"""A stand-in for the original benchmark's way of keeping a run: after each step, all of the workspace is copied into
a new folder, and all of the trace is copied and written anew. Nothing is synced to the disk.

Actions are done directly, without sandbox or checks, so that it costs as little as it can.
"""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from mlagentbench import Action

KEPT = 2
"""Copies that stay on disk at once; what all of them would take is counted instead."""


class CopyingWay:
    def __init__(self, workspace: Path, log: Path, python: Path) -> None:
        self._workspace = workspace
        self._log = log
        self._python = python
        self._steps: list[dict[str, Any]] = []
        self._copies: list[Path] = []
        self.seconds = 0.0
        self.copied = 0
        log.mkdir()

    def step(self, action: Action) -> str:
        started = time.perf_counter()
        observation = self._perform(action)
        self._steps.append(
            {"action": action.model_dump(), "observation": observation, "timestamp": time.time()}
        )
        self._save()
        self.seconds += time.perf_counter() - started
        self.copied += sum(file.stat().st_size for file in self._copies[-1].rglob("*") if file.is_file())
        if len(self._copies) > KEPT:
            shutil.rmtree(self._copies.pop(0))
        return observation

    def _perform(self, action: Action) -> str:
        args = action.args
        match action.name:
            case "List Files":
                return "\n".join(sorted(os.listdir(self._workspace / args["dir_path"])))  # noqa: PTH208
            case "Read File":
                return (self._workspace / args["file_name"]).read_text()
            case "Write File" | "Append File":
                mode = "w" if action.name == "Write File" else "a"
                with (self._workspace / args["file_name"]).open(mode) as stream:
                    stream.write(args["content"])
                return "Done."
            case "Inspect Script Lines":
                lines = (self._workspace / args["script_name"]).read_text().splitlines()
                return "\n".join(lines[args["start_line_number"] - 1 : args["end_line_number"]])
            case "Execute Script":
                argv = [str(self._python), args["script_name"]]
                return subprocess.run(
                    argv, cwd=self._workspace, capture_output=True, text=True, check=True
                ).stdout
        raise ValueError(action.name)

    def _save(self) -> None:
        trace = copy.deepcopy(self._steps)
        with (self._log / "trace.json").open("w") as stream:
            json.dump({"steps": trace}, stream, indent=4)
        target = self._log / f"step_{len(self._steps)}_files"
        for place, _, names in os.walk(self._workspace):
            folder = target / Path(place).relative_to(self._workspace)
            folder.mkdir(parents=True, exist_ok=True)
            for name in names:
                shutil.copyfile(f"{place}/{name}", f"{folder}/{name}")
        self._copies.append(target)
