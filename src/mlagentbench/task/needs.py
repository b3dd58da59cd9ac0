"""What a variant of a task needs and this machine lacks, each with the command that helps."""

from __future__ import annotations

import importlib.util
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.task.definition import Task, Variant
from mlagentbench.task.interpreter import find_interpreter
from mlagentbench.task.preparation import find_prepared

KAGGLE_TOKENS = "https://www.kaggle.com/settings/api"
_CLIENTS = {"kaggle-competition": ("kagglehub", "kaggle"), "huggingface": ("huggingface_hub", "hub")}
"""By kind of source: the module, and the extra of this package that brings it."""


@dataclass(frozen=True)
class Need:
    what: str
    command: str
    """What helps, as it is typed."""


def needs_in_words(variant: Variant) -> str:
    """What a person must have to prepare it; empty where nothing."""
    kinds = {source.kind for source in variant.sources}
    if "kaggle-competition" in kinds:
        return "a Kaggle account"
    return "a connection" if kinds or variant.live else ""


def missing(task: Task, variant: str) -> list[Need]:
    """In the order in which it is to be mended; empty where the variant can be run now.

    What only a download needs is not missed where the data are ready. Whoever has the files needs none of it.
    """
    if find_prepared(task, variant) is not None:
        return []
    chosen = task.definition.variant(variant)
    which = "" if variant == "mini" else f" --variant {variant}"
    command = f"mlagentbench prepare {task.name if task.trusted else task.folder}{which}"
    found: list[Need] = []
    kinds = {source.kind for source in chosen.sources}
    for kind in sorted(kinds & _CLIENTS.keys()):
        found += client_missing(kind)
    if "kaggle-competition" in kinds and not kaggle_credentials():
        found.append(Need(f"a token of your Kaggle account ({KAGGLE_TOKENS})", "export KAGGLE_API_TOKEN=…"))
    requirements = task.definition.requirements_of(variant)
    if find_interpreter(requirements) is None:
        libraries = ", ".join(each.partition("==")[0] for each in requirements) or "no libraries"
        found.append(Need(f"its interpreter (with {libraries})", command))
    return [*found, Need("its data", command)]


def client_missing(kind: str) -> list[Need]:
    """The extra of this package that a kind of source needs, where it is not installed."""
    module, extra = _CLIENTS[kind]
    if importlib.util.find_spec(module) is not None:
        return []
    return [Need(f"the client {module}", f"{sys.executable} -m pip install 'mlagentbench[{extra}]'")]


def kaggle_credentials() -> list[str]:
    """Where there are credentials for Kaggle; they are not read."""
    files = [Path.home() / ".kaggle" / name for name in ("access_token", "kaggle.json")]
    named = [name for name in ("KAGGLE_API_TOKEN", "KAGGLE_KEY") if os.environ.get(name)]
    return [*named, *(str(file) for file in files if file.is_file())]
