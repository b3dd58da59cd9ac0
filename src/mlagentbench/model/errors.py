"""What can go wrong between us and a model, told apart so that each is handled as what it is."""

from __future__ import annotations

from mlagentbench.errors import MLAgentBenchError


class ModelError(MLAgentBenchError):
    """A request to a model failed. `retry_after` is what the provider asked us to wait, in seconds."""

    transient = False
    """Whether the same request may succeed later."""

    def __init__(self, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


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


class ScriptEndedError(ModelError):
    """A scripted model was asked for more than its script holds, or a person who is the model went away."""
