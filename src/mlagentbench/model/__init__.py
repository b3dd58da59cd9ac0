"""Language models: messages in, text and usage out. One module a provider."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlagentbench._lazy import attach

if TYPE_CHECKING:
    from mlagentbench.model.errors import (
        BadCredentialsError,
        ModelError,
        RateLimitedError,
        RefusedError,
        ScriptEndedError,
        TooLongError,
        UnavailableError,
    )
    from mlagentbench.model.limiting import Rates
    from mlagentbench.model.metering import Meter, Metered, Spent
    from mlagentbench.model.mock import MockModel, Scripted, ScriptedCall, tell_replayed
    from mlagentbench.model.options import ModelOptions
    from mlagentbench.model.prices import Price, cost, parse_prices
    from mlagentbench.model.registry import PROVIDERS, load_model
    from mlagentbench.model.retrying import Patience
    from mlagentbench.model.spec import Completion, Message, Model, Sampling, Tool, ToolCall, Usage

__all__ = [
    "PROVIDERS",
    "BadCredentialsError",
    "Completion",
    "Message",
    "Meter",
    "Metered",
    "MockModel",
    "Model",
    "ModelError",
    "ModelOptions",
    "Patience",
    "Price",
    "RateLimitedError",
    "Rates",
    "RefusedError",
    "Sampling",
    "ScriptEndedError",
    "Scripted",
    "ScriptedCall",
    "Spent",
    "TooLongError",
    "Tool",
    "ToolCall",
    "UnavailableError",
    "Usage",
    "cost",
    "load_model",
    "parse_prices",
    "tell_replayed",
]

_MODULES = {
    "errors": (
        "BadCredentialsError ModelError RateLimitedError RefusedError ScriptEndedError TooLongError UnavailableError"
    ),
    "limiting": "Rates",
    "metering": "Meter Metered Spent",
    "mock": "MockModel Scripted ScriptedCall tell_replayed",
    "options": "ModelOptions",
    "prices": "Price cost parse_prices",
    "registry": "PROVIDERS load_model",
    "retrying": "Patience",
    "spec": "Completion Message Model Sampling Tool ToolCall Usage",
}

__getattr__, __dir__ = attach(
    __name__,
    {name: f"mlagentbench.model.{module}" for module, names in _MODULES.items() for name in names.split()},
)
