"""What every model class is made from, and where models keep what processes of one machine share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEFAULT_TIMEOUT = 600.0


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
