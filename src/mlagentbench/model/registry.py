"""From the name of a model to a model that is ready: with retries, and limits and a cache where wanted."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib import metadata
from pathlib import Path
from typing import Any

from mlagentbench.errors import UsageError
from mlagentbench.folders import cache_folder
from mlagentbench.model.caching import Cached
from mlagentbench.model.limiting import Limited, Rates, bucket_for
from mlagentbench.model.options import DEFAULT_TIMEOUT, ModelOptions, check_base_url
from mlagentbench.model.retrying import Patience, Retrying
from mlagentbench.model.spec import Model
from mlagentbench.version import __version__

_OPENAI = "mlagentbench.model.openai_chat:OpenAIModel"

PROVIDERS: dict[str, str] = {
    "openai": _OPENAI,
    "anthropic": "mlagentbench.model.anthropic_messages:AnthropicModel",
    "google": "mlagentbench.model.google_genai:GoogleModel",
    "local": "mlagentbench.model.local:LocalModel",
    "ollama": _OPENAI,
    "vllm": _OPENAI,
    "llamacpp": _OPENAI,
    "together": _OPENAI,
    "openrouter": _OPENAI,
    "huggingface": "mlagentbench.model.huggingface:HuggingFaceModel",
    "inspect": "mlagentbench.model.inspect_ai:InspectModel",
    "mock": "mlagentbench.model.mock:MockModel",
    "human": "mlagentbench.model.human:HumanModel",
}
"""A provider to an import path, loaded when asked for. `module:Class` of the user's own works wherever one does."""

_EXTRAS = {
    "openai": "openai",
    "anthropic": "anthropic",
    "google": "google",
    "torch": "huggingface",
    "transformers": "huggingface",
    "inspect_ai": "inspect",
    "xllamacpp": "local",
    "httpx2": "openai",
}
"""A module that a provider imports to the extra that brings it."""

_DISTRIBUTIONS = {
    _OPENAI: "openai",
    PROVIDERS["anthropic"]: "anthropic",
    PROVIDERS["google"]: "google-genai",
    PROVIDERS["huggingface"]: "transformers",
    PROVIDERS["inspect"]: "inspect-ai",
    PROVIDERS["local"]: "xllamacpp",
}

_NAMELESS = {"human"}


def load_model(
    name: str,
    *,
    base_url: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    extra: Mapping[str, Any] | None = None,
    patience: Patience | None = None,
    rates: Rates | None = None,
    cache: bool = False,
    folder: Path | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Model:
    """The model `provider/name`, ready to complete.

    `extra` are settings of the provider alone. `rates` and `cache` are kept in `folder`, which is the user's cache
    folder. `sleep` is what waits between requests.

    >>> from mlagentbench.model import Message, Sampling, load_model
    >>> model = load_model("openai/gpt-4.1")                                                    # doctest: +SKIP
    >>> model.complete([Message(role="user", content="Say hello.")], Sampling()).text           # doctest: +SKIP
    'Hello!'
    """
    where, options = _resolve(name)
    check_base_url(base_url)
    options = replace(options, base_url=base_url, timeout=timeout, extra=dict(extra or {}))
    model = _build(where, options)
    folder = folder or cache_folder()
    if rates is not None and (rates.requests is not None or rates.tokens is not None):
        model = Limited(model, bucket_for(folder, options.full_name, base_url, rates), sleep=sleep)
    model = Retrying(model, patience, sleep=sleep)
    if cache:
        model = Cached(model, folder / "completions", _identity(where, options))
    return model


def _resolve(name: str) -> tuple[str, ModelOptions]:
    """The import path and the options of a model by its name."""
    provider, _, rest = name.partition("/")
    where = PROVIDERS.get(provider, provider if ":" in provider else None)
    if where is None:
        near = get_close_matches(provider, PROVIDERS, 1)
        hint = (
            f"Did you mean {near[0]}/{rest or 'NAME'}?"
            if near
            else f"The providers are {', '.join(PROVIDERS)}."
        )
        raise UsageError(
            f"There is no provider of models {provider!r}. {hint} `package.module:Class` names your own."
        )
    if not rest and provider in PROVIDERS and provider not in _NAMELESS:
        raise UsageError(f"{name!r} names no model: write {provider}/NAME.")
    return where, ModelOptions(provider=provider, name=rest)


def _build(where: str, options: ModelOptions) -> Model:
    module, _, attribute = where.partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
        model: Model = kind(options)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        extra = _EXTRAS.get(missing)
        if extra is None or options.provider not in PROVIDERS:
            raise UsageError(f"The model {options.full_name!r} could not be loaded: {error}.") from None
        raise UsageError(
            f"{options.full_name} needs a library that is not installed: pip install 'mlagentbench[{extra}]'"
        ) from None
    except AttributeError as error:
        if getattr(error, "obj", None) is not importlib.import_module(module):
            raise
        raise UsageError(f"The model {options.full_name!r} could not be loaded: {error}.") from None
    return model


def _identity(where: str, options: ModelOptions) -> dict[str, Any]:
    """What tells this model's answers from another's."""
    distribution = _DISTRIBUTIONS.get(where)
    return {
        "class": where,
        "model": options.full_name,
        "base_url": options.base_url,
        "extra": dict(options.extra),
        "client": metadata.version(distribution) if distribution else __version__,
    }
