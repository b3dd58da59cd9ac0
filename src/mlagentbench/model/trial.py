"""A model is asked something small before a run, so that what is wrong with it is known within seconds."""

from __future__ import annotations

import time
from typing import Any

from mlagentbench.model.errors import BadCredentialsError, UnavailableError, UnusableReplyError
from mlagentbench.model.faults import Fault, error_of, wants_money
from mlagentbench.model.hosted import HostedModel, RequestFailedError
from mlagentbench.model.http_client import ReplyRefusedError, connection_fault
from mlagentbench.model.spec import Message, Model, Sampling
from mlagentbench.model.waiting import Tell, TimeIsUpError, watched
from mlagentbench.units import format_duration

QUESTION = "This is a trial of the connection. Reply with the word OK."
LONGEST_TRIAL = 20.0
"""Seconds. A server that takes longer may be loading the model, which is nothing wrong."""
_BUDGET = 64
_LASTING = (401, 402, 403, 404)
_STARTED_WITH = {
    "ollama": "`ollama serve`",
    "vllm": "`vllm serve MODEL`",
    "llamacpp": "`llama-server -m FILE` or `mlagentbench model serve`",
}


def try_model(model: Model, tell: Tell) -> str:
    """Ask a model behind a server once, without retries, limits or cache. A sentence of what came of it, empty for
    models that are not tried because they are no servers; a typed error for what will not pass by itself."""
    inner: Any = model
    while (within := getattr(inner, "inner", None)) is not None:
        inner = within
    if not isinstance(inner, HostedModel) or inner.name.startswith("inspect/mockllm"):
        return ""
    begun = time.monotonic()
    try:
        reply = watched(
            lambda: inner._ask(
                [Message(role="user", content=QUESTION)], Sampling(max_tokens=_BUDGET, temperature=None), ()
            ),
            f"Trying {model.name}",
            until=begun + LONGEST_TRIAL,
            tell=tell,
        )
    except TimeIsUpError:
        return (
            f"{model.name} did not answer a short question within {LONGEST_TRIAL:g} s before the run. It may be "
            "loading the model."
        )
    except RequestFailedError as failure:
        return _told(inner, failure.fault)
    except ReplyRefusedError as refused:
        return _told(inner, connection_fault(refused))
    if not reply.text and not reply.tool_calls and reply.stop_reason == "stop" and not reply.ended_at_stop:
        raise UnavailableError(
            f"{model.name} gives empty replies{_at(inner)}. Check that the server has loaded a model for chats, and "
            "that its name is right."
        )
    return (
        f"{model.name} was tried before the run: {reply.usage.input} tokens in, {reply.usage.output} out, "
        f"{format_duration(time.monotonic() - begun)}. They count against no limit."
    )


def _told(model: HostedModel, fault: Fault) -> str:
    error = error_of(fault, model.name, model.key_variable)
    if fault.kind == "unreachable":
        raise UnavailableError(f"{model.name} cannot be reached{_at(model)}. {_start(model)} ({error})")
    if fault.kind == "unreadable":
        raise UnavailableError(
            f"What answers{_at(model)} is no model: {error} Check the base URL; that of chat completions usually ends "
            "in /v1."
        )
    lasting = isinstance(error, BadCredentialsError | UnusableReplyError)
    if lasting or fault.status in _LASTING or wants_money(fault):
        raise error
    return f"{model.name} answered a short question before the run with an error that may pass: {error}"


def _at(model: HostedModel) -> str:
    return f" at {model.address}" if model.address else ""


def _start(model: HostedModel) -> str:
    provider = model.name.partition("/")[0]
    if provider in _STARTED_WITH:
        return f"Is the server running? Start it with {_STARTED_WITH[provider]}."
    if model.elsewhere:
        return "Is the server running? Check the base URL."
    return "Check the network connection of this machine."
