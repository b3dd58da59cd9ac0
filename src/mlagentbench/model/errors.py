"""What can go wrong between us and a model, told apart so that each is handled as what it is."""

from __future__ import annotations

import math
from typing import Literal

from mlagentbench.errors import MLAgentBenchError

LONGEST_WAIT = 365 * 86_400.0
"""Seconds. What a provider asks for beyond this counts as this."""


class ModelError(MLAgentBenchError):
    """A request to a model failed. `retry_after` is what the provider asked us to wait, in seconds."""

    transient = False
    """Whether the same request may succeed later."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = _bounded(retry_after)


class TooLongError(ModelError):
    """The prompt, or prompt and output budget together, do not fit the model's context."""


class RateLimitedError(ModelError):
    """Too many requests or tokens for now."""

    transient = True


class RefusedError(ModelError):
    """The provider would not answer this prompt, or refused the request as it stands."""


class UnavailableError(ModelError):
    """The server cannot be reached, fails, stalls, or sends what cannot be read."""

    transient = True


class BadCredentialsError(ModelError):
    """The key is missing, wrong, or may not use this model."""


class UnusableReplyError(ModelError):
    """What came back is not used: it is too large, packed in a way that was not asked for, or sends us to another
    server."""


class OverLimitError(ModelError):
    """A limit of the run leaves no room for this call, so that it was not made, or not waited for to its end."""

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        name: Literal["time", "tokens", "cost"] = "time",
        limit: float = 0.0,
    ) -> None:
        super().__init__(message, retry_after=retry_after)
        self.name: Literal["time", "tokens", "cost"] = name
        self.limit = limit


class GivenUpError(ModelError):
    """Whoever asked does not wait any more."""


class ScriptEndedError(ModelError):
    """A scripted model was asked for more than its script holds, or a person who is the model went away."""


def _bounded(seconds: float | None) -> float | None:
    """A wait that can be computed with, whatever the provider wrote; None where it wrote no number."""
    if seconds is None or math.isnan(seconds):
        return None
    return min(max(seconds, 0.0), LONGEST_WAIT)
