"""Completions kept on disk, so that the same question is asked once. Off unless wanted."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from mlagentbench.model.spec import Completion, Message, Model, Sampling, Tool

_FORMAT = 1
FROM_CACHE = "Answered from the cache of completions: the provider was not asked again."


class Cached:
    """`model`, with what it answered before answered from `folder`.

    Two calls are the same if everything that may change the answer is: `identity` (provider, name, server, settings,
    version of the client library), messages, sampling with its seed, and tools.
    """

    def __init__(self, model: Model, folder: Path, identity: Mapping[str, Any]) -> None:
        self.name = model.name
        self.inner = model
        self._folder = folder
        self._identity = dict(identity)

    @property
    def speaks_tools(self) -> bool:
        return self.inner.speaks_tools

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        file = self._file(messages, sampling, tools)
        if (known := _read(file)) is not None:
            update = {"latency": 0.0, "waited": 0.0, "retries": (), "notes": (*known.notes, FROM_CACHE)}
            return known.model_copy(update=update)
        completion = self.inner.complete(messages, sampling, tools)
        _write(file, completion)
        return completion

    def _file(self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool]) -> Path:
        question = {
            "format": _FORMAT,
            "model": self._identity,
            "messages": [message.model_dump(mode="json") for message in messages],
            "sampling": sampling.model_dump(mode="json"),
            "tools": [tool.model_dump(mode="json") for tool in tools],
        }
        digest = hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()
        return self._folder / digest[:2] / f"{digest}.json"


def _read(file: Path) -> Completion | None:
    """The completion in `file`; one that is not there or not whole is asked for again."""
    try:
        return Completion.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None


def _write(file: Path, completion: Completion) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".new")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as new:
            new.write(completion.model_dump_json())
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
