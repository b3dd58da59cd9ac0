"""What works on this machine, and the one command that fixes what does not."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mlagentbench.folders import cache_folder
from mlagentbench.sandbox import Finding, diagnose
from mlagentbench.sandbox.choice import AUTOMATIC
from mlagentbench.task.needs import KAGGLE_TOKENS, client_missing, kaggle_credentials, missing
from mlagentbench.task.preparation import choose_variant
from mlagentbench.task.registry import list_tasks
from mlagentbench.units import format_size

_ENOUGH_SPACE = 5 * 10**9

State = Literal["works", "optional", "broken"]


@dataclass(frozen=True)
class Check:
    """One thing that a run may need. `broken` is what must be fixed before a run can be trusted; `optional` is
    something that only some tasks need."""

    name: str
    state: State
    detail: str
    command: str = ""
    """What fixes it; empty where nothing is wrong, or no one command would."""


def doctor() -> list[Check]:
    """Look at everything that runs depend on.

    >>> import mlagentbench
    >>> [check.name for check in mlagentbench.doctor()][0]
    'python'
    """
    return [_python(), *_sandboxes(diagnose()), _cache(), *_tasks(), _gpus(), _kaggle(), _hub()]


def _python() -> Check:
    version = platform.python_version()
    if importlib.util.find_spec("ensurepip") is None:
        detail = f"{version}, which cannot make virtual environments: it has no ensurepip"
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        sudo = "" if os.geteuid() == 0 else "sudo "
        return Check(
            "python",
            "broken",
            detail,
            f"{sudo}apt-get install -y {package}" if shutil.which("apt-get") else "",
        )
    return Check("python", "works", f"{version} at {sys.executable}")


def _sandboxes(findings: list[Finding]) -> Iterator[Check]:
    """One that isolates is enough; the others are there for those who want them."""
    default = next((each for each in findings if each.works and each.backend in AUTOMATIC), None)
    for finding in findings:
        name = f"sandbox {finding.backend}"
        if finding.works:
            mark = ", the default here" if finding is default else ""
            yield Check(name, "works", finding.detail.rstrip(".") + mark)
        elif finding.backend == "bwrap" and default is None:
            yield Check(name, "broken", finding.detail, finding.command)
        else:
            yield Check(name, "optional", finding.detail, finding.command)


def _cache() -> Check:
    folder = cache_folder()
    there = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(there).free
    detail = f"{folder}, {format_size(free)} free"
    if not os.access(there, os.W_OK):
        command = f"export MLAGENTBENCH_CACHE={Path.home() / 'mlagentbench-cache'}"
        return Check("cache", "broken", f"{there} cannot be written", command)
    if free < _ENOUGH_SPACE:
        command = "export MLAGENTBENCH_CACHE=/a/folder/with/space"
        return Check("cache", "optional", f"{detail}; large tasks need more", command)
    return Check("cache", "works", detail)


def _tasks() -> Iterator[Check]:
    for task in list_tasks():
        variant = choose_variant(
            task, None if "mini" in task.definition.variants else next(iter(task.definition.variants))
        )
        lacking = missing(task, variant)
        if not lacking:
            yield Check(f"task {task.name}", "works", f"{variant} is prepared")
        else:
            detail = f"{variant} is not prepared; it lacks {' and '.join(need.what for need in lacking)}"
            yield Check(f"task {task.name}", "optional", detail, lacking[0].command)


def _gpus() -> Check:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return Check(
            "GPUs",
            "optional",
            "nvidia-smi is not installed; no task of the suite's mini variants needs a GPU",
        )
    try:
        said = subprocess.run([tool, "-L"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("GPUs", "optional", f"nvidia-smi does not answer: {error}")
    found = said.stdout.strip().splitlines()
    if said.returncode != 0 or not found:
        return Check("GPUs", "optional", "nvidia-smi finds none")
    return Check("GPUs", "works", "; ".join(line.split(" (UUID")[0] for line in found))


def _kaggle() -> Check:
    """Whether full variants with data from Kaggle can be fetched."""
    who = _tasks_from("kaggle-competition")
    if lacking := client_missing("kaggle-competition"):
        return Check("kaggle", "optional", f"its client is not installed; {who}", lacking[0].command)
    if not (where := kaggle_credentials()):
        return Check(
            "kaggle", "optional", f"no credentials (see {KAGGLE_TOKENS}); {who}", "export KAGGLE_API_TOKEN=…"
        )
    return Check("kaggle", "works", f"credentials in {where[0]}")


def _hub() -> Check:
    """Whether full variants with data from the Hugging Face hub can be fetched."""
    if lacking := client_missing("huggingface"):
        detail = f"its client is not installed; {_tasks_from('huggingface')}"
        return Check("hugging face hub", "optional", detail, lacking[0].command)
    return Check("hugging face hub", "works", "its client is installed; no account is needed")


def _tasks_from(kind: str) -> str:
    """Which tasks need it."""
    names = [
        task.name
        for task in list_tasks()
        if any(source.kind == kind for each in task.definition.variants.values() for source in each.sources)
    ]
    return f"only full variants of {', '.join(names)} need it" if names else "no task needs it"
