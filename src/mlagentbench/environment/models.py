"""Which models a run uses, by name, and opening them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from typing import Any, Self

from pydantic import ValidationError

from mlagentbench.environment.ledger import Price
from mlagentbench.environment.watch import Silence, Watch
from mlagentbench.errors import UsageError
from mlagentbench.model.options import CallOptions
from mlagentbench.model.spec import Model, Usage
from mlagentbench.record.events import ModelRole
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.request import RunRequest
from mlagentbench.validation import problem_of

REPLAY = "replay/"
"""`replay/PATH`: the completions that were recorded in a run, so that it can be repeated without its model."""
_LOCAL = "local/"
_NO_SERVERS = (_LOCAL, REPLAY, "mock/", "human", "huggingface/")
_tried: set[tuple[str, str, str]] = set()
"""Models that answered a trial in this process, with their server and options."""


@dataclass(frozen=True)
class ModelChoice:
    """Names as the user gives them; an empty one for editing or reading means: the same as for deciding."""

    act: str = ""
    edit: str = ""
    fast: str = ""
    base_url: str = ""
    prices: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    """Passed on to the provider as they are."""
    calls: CallOptions = field(default_factory=CallOptions)

    @classmethod
    def of(cls, request: RunRequest) -> Self:
        """Those of a recorded run."""
        return cls(
            act=request.model,
            edit=request.edit_model,
            fast=request.fast_model,
            base_url=request.base_url,
            prices=request.prices,
            options=request.model_options,
            calls=request.model_calls,
        )

    def with_act(self, name: str) -> Self:
        """The same, with another model that decides. Where it is another provider's, the server and what the provider
        was told start afresh: they were not meant for it."""
        if name.partition("/")[0] == self.act.partition("/")[0]:
            return replace(self, act=name)
        return replace(self, act=name, base_url="", options={})

    def entered_in(self, request: RunRequest) -> RunRequest:
        """`request`, of a run that uses these models."""
        return request.model_copy(
            update={
                "model": self.act,
                "edit_model": self.edit,
                "fast_model": self.fast,
                "base_url": self.base_url,
                "prices": dict(self.prices),
                "model_options": dict(self.options),
                "model_calls": self.calls,
            }
        )

    def open(self, watch: Watch) -> tuple[dict[ModelRole, Model], Price]:
        """The models by role, none if none was named, and what they cost."""
        if not self.act:
            return {}, _unknown
        from mlagentbench.model.prices import cost

        opened = {name: self._load(name) for name in {self.act, self.edit or self.act, self.fast or self.act}}
        roles: dict[ModelRole, Model] = {
            "act": opened[self.act],
            "edit": opened[self.edit or self.act],
            "fast": opened[self.fast or self.act],
            "tool": opened[self.act],
        }
        return roles, lambda name, usage: cost(usage, name, self.prices)

    def opened(self, watch: Watch | None = None, *, trial: bool = True) -> ModelChoice:
        """The same, open already, for whoever opens them next. Models that are unavailable are refused before there is
        a run: with `trial`, servers are asked something small, once in a process."""
        if not self.act:
            return self
        for name in (self.act, self.edit, self.fast):  # which loads its library at the first question
            if name.startswith(_LOCAL) and find_spec("xllamacpp") is None:
                raise UsageError(
                    f"{name} needs a library that is not installed: pip install 'mlagentbench[local]'"
                )
        opened = _Opened(**{each.name: getattr(self, each.name) for each in fields(ModelChoice)})
        opened.ready.append(self.open(Silence()))
        if trial:
            opened.trials.extend(self._try(opened.ready[0][0].values(), watch or Silence()))
        return opened

    def try_servers(self, watch: Watch) -> None:
        """Refuse servers that are unavailable, as `opened` does, for runs that open their models themselves."""
        names = filter(None, (self.act, self.edit, self.fast))
        if all(name.startswith(_NO_SERVERS) or ":" in name.partition("/")[0] for name in names):
            return
        for told in self._try(self.open(Silence())[0].values(), watch):
            watch.note(told)

    @property
    def trial_notes(self) -> tuple[str, ...]:
        """What came of the trials, a sentence each, for the record."""
        return ()

    def _try(self, models: Iterable[Model], watch: Watch) -> Iterator[str]:
        for model in {id(each): each for each in models}.values():
            known = (model.name, self.base_url, json.dumps(dict(self.options), default=str))
            if known not in _tried and not model.name.startswith(_NO_SERVERS):
                from mlagentbench.model.trial import try_model

                if told := try_model(model, watch.waiting):
                    yield told
                _tried.add(known)

    def _load(self, name: str) -> Model:
        if name.startswith(REPLAY):
            from mlagentbench.record.answers import RecordedModel

            return RecordedModel(name, RunFolder.open(name.removeprefix(REPLAY)))
        from mlagentbench.model.limiting import Rates
        from mlagentbench.model.registry import load_model
        from mlagentbench.model.retrying import Patience

        return load_model(
            name,
            base_url=self.base_url or None,
            extra=self.options,
            timeout=self.calls.timeout,
            patience=Patience.within(self.calls.retries, self.calls.patience),
            rates=Rates(self.calls.rpm, self.calls.tpm),
            cache=self.calls.cache,
        )


@dataclass(frozen=True)
class _Opened(ModelChoice):
    """Given out once: a model may remember what it was asked."""

    ready: list[tuple[dict[ModelRole, Model], Price]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    trials: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    def open(self, watch: Watch) -> tuple[dict[ModelRole, Model], Price]:
        return self.ready.pop() if self.ready else super().open(watch)

    def opened(self, watch: Watch | None = None, *, trial: bool = True) -> ModelChoice:
        return self

    @property
    def trial_notes(self) -> tuple[str, ...]:
        return tuple(self.trials)


def changed_calls(calls: CallOptions, user: Mapping[str, Any] | None) -> CallOptions:
    """How models are called, with what the user now says instead."""
    try:
        return CallOptions.model_validate(calls.model_dump() | dict(user or {}))
    except ValidationError as error:
        name, wrong = problem_of(error, CallOptions, "option")
        known = ", ".join(CallOptions.model_fields)
        raise UsageError(
            f"Models cannot be called with this {name!r}: {wrong} What can be said: {known}."
        ) from None


def _unknown(name: str, usage: Usage) -> float | None:
    return None
