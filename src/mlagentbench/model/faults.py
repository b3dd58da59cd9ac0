"""A failed request, in the provider's words, becomes the error that it is."""

from __future__ import annotations

import email.utils
import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mlagentbench.model.errors import (
    BadCredentialsError,
    ModelError,
    RateLimitedError,
    RefusedError,
    TooLongError,
    UnavailableError,
    UnusableReplyError,
)
from mlagentbench.model.keys import redact

_TOO_LONG = re.compile(
    "|".join(
        [
            r"context_length_exceeded",  # OpenAI, the code
            r"maximum context length",  # OpenAI, vLLM until 0.15, Together, OpenRouter
            r"model's context length is only",  # vLLM from 0.16
            r"exceeds? the context (?:window|length)",  # OpenAI's newer models, Ollama
            r"exceed_context_size_error|exceeds? the available context size",  # llama.cpp
            r"prompt is too long",  # Anthropic
            r"exceed context limit",  # Anthropic: input length and `max_tokens` exceed context limit
            r"request_too_large",  # Anthropic, 413
            r"input token count.{0,40}exceeds the maximum number of tokens",  # Google
            r"inputs? tokens \+ max_new_tokens.{0,20}must be",  # Hugging Face's inference server
            r"input is too long|prompt too long|too many tokens in (?:the )?(?:prompt|input)",
        ]
    ),
    re.IGNORECASE | re.DOTALL,
)
_BAD_KEY = re.compile(
    r"api[ _-]?key (?:not valid|expired|not found|is invalid)|API_KEY_INVALID", re.IGNORECASE
)
_NO_MONEY = re.compile(
    r"insufficient_quota|credit balance is too low|billing_error|insufficient credits", re.I
)
_TRY_AGAIN_IN = re.compile(r"(?:try again|retry) in (\d+(?:\.\d+)?)\s*(ms|s|m)\b", re.IGNORECASE)
_NOT_TAKEN = re.compile(
    r"unsupported|not supported|does not support|doesn't support|deprecated|not permitted|not allowed|"
    r"unrecognized|unknown|unexpected|not available|cannot be (?:used|set)",
    re.IGNORECASE,
)
_TRANSIENT = {408, 409, 425, 500, 502, 503, 504, 520, 522, 524, 529}
_LONGEST_QUOTE = 500


@dataclass(frozen=True)
class Fault:
    """What came back from a request that failed; `status` is None where nothing did, or nothing that can be read."""

    words: str
    status: int | None = None
    retry_after: float | None = None
    kind: Literal["", "unreachable", "unreadable", "unusable"] = ""
    """Without a status: no server is there; the reply is none of a model; the reply is not to be used."""


def error_of(fault: Fault, model: str, key_variable: str) -> ModelError:
    """The typed error of `fault`, in the provider's own words without any key, and what to do about it."""
    words = quote(fault.words)
    status = fault.status
    if fault.kind == "unusable":
        return UnusableReplyError(f"The reply of {model} was refused: {words}.")
    if status is None:
        return UnavailableError(f"{model} did not answer: {words}.")
    if status in (401, 403) or (status == 400 and _BAD_KEY.search(fault.words)):
        return BadCredentialsError(
            f"{model} refused the key ({status}): {words}. Check {key_variable} in the environment or .env, and "
            "that it may use this model."
        )
    if wants_money(fault):
        return RefusedError(f"{model} wants to be paid ({status}): {words}. See the provider's billing page.")
    if status == 429:
        return RateLimitedError(
            f"{model} is limiting the rate (429): {words}.",
            retry_after=fault.retry_after or asked_to_wait(fault.words),
        )
    if status < 600 and _TOO_LONG.search(fault.words):
        return TooLongError(f"The prompt does not fit {model} ({status}): {words}.")
    if status == 413:
        return TooLongError(f"The request is too large for {model} (413): {words}.")
    if status == 404:
        return RefusedError(
            f"{model} was not found (404): {words}. Check the name of the model and the base URL; a local server "
            "may have to fetch or load it first."
        )
    if status in _TRANSIENT or status >= 500:
        return UnavailableError(f"{model} is failing ({status}): {words}.", retry_after=fault.retry_after)
    return RefusedError(f"{model} refused the request ({status}): {words}.")


def wants_money(fault: Fault) -> bool:
    """Whether the account is empty, rather than asked too fast."""
    return fault.status == 402 or (fault.status in (400, 429) and bool(_NO_MONEY.search(fault.words)))


def refused_setting(words: str, settings: Mapping[str, tuple[str, ...]]) -> str | None:
    """Which of these settings the provider will not take, read from its words; each has the names it goes by."""
    if not _NOT_TAKEN.search(words):
        return None
    first = {
        setting: min(match.start() for match in found)
        for setting, names in settings.items()
        if (found := [m for name in names if (m := re.search(rf"(?<![\w]){re.escape(name)}(?!\w)", words))])
    }
    return min(first, key=first.__getitem__, default=None)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that response headers ask us to wait: a number, milliseconds, or a date; None where they do not."""
    if milliseconds := _number(headers.get("retry-after-ms")):
        return max(0.0, milliseconds / 1000)
    value = headers.get("retry-after")
    if value is None:
        return None
    if (seconds := _number(value)) is not None:
        return max(0.0, seconds)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):  # what is no date, and a year that no clock has
        return None


def asked_to_wait(words: str) -> float | None:
    """The seconds in sentences like `Please try again in 1.2s`, which some providers write instead of a header."""
    match = _TRY_AGAIN_IN.search(words)
    return float(match[1]) * {"ms": 0.001, "s": 1.0, "m": 60.0}[match[2].lower()] if match else None


def quote(words: str) -> str:
    """A provider's words as part of a sentence: on one line, short, and without keys."""
    line = " ".join(redact(words).split()).rstrip(".")
    return line if len(line) <= _LONGEST_QUOTE else line[:_LONGEST_QUOTE] + "…"


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return None if number is None or math.isnan(number) else number
