"""Which models a run uses, by name, and opening them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from mlagentbench.environment.desk import Price
from mlagentbench.environment.watch import Watch
from mlagentbench.model.spec import Model, Usage
from mlagentbench.record.events import ModelRole
from mlagentbench.record.folder import RunFolder
from mlagentbench.record.request import RunRequest

REPLAY = "replay/"
"""`replay/PATH`: the completions that were recorded in a run, so that it can be repeated without its model."""


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

    @classmethod
    def of(cls, request: RunRequest) -> Self:
        return cls(
            act=request.model,
            edit=request.edit_model,
            fast=request.fast_model,
            base_url=request.base_url,
            prices=request.prices,
            options=request.model_options,
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
        }
        return roles, lambda name, usage: cost(usage, name, self.prices)

    def _load(self, name: str) -> Model:
        if name.startswith(REPLAY):
            from mlagentbench.record.answers import RecordedModel

            return RecordedModel(name, RunFolder.open(name.removeprefix(REPLAY)))
        from mlagentbench.model.registry import load_model

        return load_model(name, base_url=self.base_url or None, extra=self.options)


def _unknown(name: str, usage: Usage) -> float | None:
    return None
