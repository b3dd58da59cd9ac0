"""A limit on requests and tokens a minute that all processes of one machine keep together."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mlagentbench.model.errors import ModelError
from mlagentbench.model.spec import Completion, Message, Model, Sampling, Tool
from mlagentbench.model.tokens import estimate_prompt
from mlagentbench.model.waiting import still_wanted, waiting_for


@dataclass(frozen=True)
class Rates:
    """What may be asked in a minute; None is no limit."""

    requests: float | None = None
    tokens: float | None = None


class Bucket:
    """A file with what may still be asked for. It fills with time; taking more than is there means to wait.

    Whoever takes is served in the order of taking: the level goes below zero, and the wait is until it is back.
    """

    def __init__(self, file: Path, rates: Rates, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._rates = {
            name: rate
            for name, rate in (("requests", rates.requests), ("tokens", rates.tokens))
            if rate is not None
        }
        self._clock = clock

    def take(self, requests: float, tokens: float) -> float:
        """Take this much, and say how many seconds to wait before using it. Giving back is taking less than zero."""
        wanted = {"requests": requests, "tokens": tokens}
        self._file.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        with os.fdopen(descriptor, "r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            levels = _levels(file.read())
            now, wait = self._clock(), 0.0
            for name, rate in self._rates.items():
                level, since = levels.get(name, (rate, now))
                level = min(rate, level + max(0.0, now - since) * rate / 60)
                level = min(rate, level - min(wanted[name], rate))
                levels[name] = (level, now)
                wait = max(wait, -level * 60 / rate)
            file.seek(0)
            file.truncate()
            json.dump(levels, file)
            return wait


class Limited:
    """`model`, asked no faster than `bucket` allows. What a call will use is estimated, then corrected."""

    def __init__(self, model: Model, bucket: Bucket, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.name = model.name
        self.inner = model
        self._bucket = bucket
        self._sleep = sleep

    @property
    def speaks_tools(self) -> bool:
        return self.inner.speaks_tools

    def complete(
        self, messages: Sequence[Message], sampling: Sampling, tools: Sequence[Tool] = ()
    ) -> Completion:
        expected = estimate_prompt(messages, tools) + sampling.max_tokens
        wait = self._bucket.take(1, expected)
        if wait > 0:
            with waiting_for(f"The limit on requests or tokens a minute of {self.name} is reached", wait):
                self._sleep(wait)
        still_wanted()
        try:
            completion = self.inner.complete(messages, sampling, tools)
        except ModelError:
            self._bucket.take(0, -expected)
            raise
        used = completion.usage.input + completion.usage.output
        self._bucket.take(0, (used or expected) - expected)
        return completion.model_copy(update={"waited": completion.waited + wait}) if wait > 0 else completion


def bucket_for(folder: Path, model: str, base_url: str | None, rates: Rates) -> Bucket:
    """The bucket of this model at this server, in a folder that all processes of the user share."""
    digest = hashlib.sha256(f"{model}@{base_url or ''}".encode()).hexdigest()[:12]
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", model)[-60:]
    return Bucket(folder / "limits" / f"{readable}-{digest}.json", rates)


def _levels(text: str) -> dict[str, tuple[float, float]]:
    """What the file says; one that was torn by a crash counts as a full bucket."""
    try:
        return {name: (float(level), float(since)) for name, (level, since) in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError):
        return {}
