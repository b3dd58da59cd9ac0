"""What every model class is made from, and where models keep what processes of one machine share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from mlagentbench.errors import UsageError
from mlagentbench.model.keys import redact

DEFAULT_TIMEOUT = 600.0


class CallOptions(BaseModel):
    """How a run's models are called: how long, how often and how fast. A record keeps all of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    timeout: float = Field(DEFAULT_TIMEOUT, gt=0)
    """Seconds within which a whole reply must arrive."""
    retries: int = Field(7, ge=0, le=1000)
    """Requests that may follow one that failed in passing."""
    patience: float = Field(900.0, ge=0)
    """Seconds of waiting between the requests for one completion."""
    rpm: float | None = Field(None, gt=0)
    """Requests a minute of one model, by all processes of this machine; None is no limit."""
    tpm: float | None = Field(None, gt=0)
    """Tokens a minute, likewise."""
    cache: bool = False
    """Whether what was asked before is answered from disk."""


@dataclass(frozen=True)
class ModelOptions:
    """One model as the user asked for it. A model class of the user's own takes this as its only argument."""

    provider: str
    name: str
    """What follows `provider/`."""
    base_url: str | None = None
    """Another server than the provider's own."""
    timeout: float = DEFAULT_TIMEOUT
    """Seconds that one request may take."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Settings of this provider alone, put into each request as they are: `reasoning_effort`, `top_p`, …"""

    @property
    def full_name(self) -> str:
        return f"{self.provider}/{self.name}" if self.name else self.provider


def check_base_url(url: str | None, named_by: str = "--base-url") -> str | None:
    """The same, or nothing for an empty one; refused with the right one where it has no scheme."""
    if not url:
        return None
    scheme, separator, rest = url.partition("://")
    if separator and scheme.lower() in ("http", "https") and rest.strip("/"):
        return url
    words = (
        f"{named_by} {redact(url)!r} is not an address of a server: it must start with http:// or https://."
    )
    if not separator and (guess := url.lstrip("/")):
        host = guess.partition("/")[0]
        own = ":" in host or host == "localhost" or host.replace(".", "").isdigit()
        words += f" Write {'http' if own else 'https'}://{redact(guess)}"
    raise UsageError(words)
